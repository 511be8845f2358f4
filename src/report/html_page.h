// A self-contained page: one file, no script, no link.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ghost {

struct HtmlTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns
  size_t text_columns = 1;  // the first so many are texts; the rest are numbers, right-aligned
};

// Texts are escaped. The same calls give the same bytes.
class HtmlPage {
 public:
  explicit HtmlPage(std::string title = {}) : title_(std::move(title)) {}

  void AddHeading(std::string_view text);
  void AddText(std::string_view text);
  void AddTable(const HtmlTable& table);
  void AddPicture(std::string_view svg);  // taken as it is
  void Append(const HtmlPage& other);     // its content, without its title

  std::string Render() const;

 private:
  std::string title_;
  std::string body_;
};

}  // namespace ghost
