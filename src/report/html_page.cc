#include "report/html_page.h"

#include <fmt/format.h>

#include "report/markup.h"

namespace ghost {
namespace {

constexpr std::string_view kStyle =
    "body{font:15px/1.5 sans-serif;color:#222;background:#fff;max-width:66rem;margin:2rem auto;padding:0 "
    "1rem}\n"
    "h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem;border-bottom:1px solid #ddd}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:14px}\n"
    "th,td{padding:.25rem .7rem;border-bottom:1px solid #e5e5e5;text-align:left;vertical-align:top}\n"
    "th{border-bottom:2px solid #999}.n{text-align:right;font-variant-numeric:tabular-nums}\n"
    "svg{max-width:100%;height:auto;margin:.5rem 0}\n";

}  // namespace

void HtmlPage::AddHeading(std::string_view text) {
  body_ += fmt::format("<h2>{}</h2>\n", EscapeMarkup(text));
}

void HtmlPage::AddText(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", EscapeMarkup(text)); }

void HtmlPage::AddTable(const HtmlTable& table) {
  const auto row = [&](std::string_view tag, const std::vector<std::string>& cells) {
    body_ += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      body_ += fmt::format("<{0}{1}>{2}</{0}>", tag, i < table.text_columns ? "" : " class=\"n\"",
                           EscapeMarkup(cells[i]));
    }
    body_ += "</tr>\n";
  };
  body_ += "<div class=\"wide\"><table>\n";
  row("th", table.columns);
  for (const auto& cells : table.rows) row("td", cells);
  body_ += "</table></div>\n";
}

void HtmlPage::AddPicture(std::string_view svg) { body_ += svg; }

void HtmlPage::Append(const HtmlPage& other) { body_ += other.body_; }

std::string HtmlPage::Render() const {
  const std::string title = EscapeMarkup(title_);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n<style>\n{1}</style>\n"
      "</head>\n<body>\n<h1>{0}</h1>\n{2}</body>\n</html>\n",
      title, kStyle, body_);
}

}  // namespace ghost
