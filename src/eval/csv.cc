#include "eval/csv.h"

#include <algorithm>

#include "eval/json_lines.h"

namespace ghost {
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<CsvRow> Read() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) {
      rows.push_back({{}, line_});
      do {
        rows.back().fields.push_back(Peek() == '"' ? Quoted() : Plain());
      } while (Take(','));
      EndOfRow();
    }
    return rows;
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\n'; }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string Plain() {
    const size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string field(text_.substr(at_, end - at_));
    at_ = end;
    return field;
  }

  std::string Quoted() {
    const int64_t first_line = line_;
    std::string field;
    ++at_;
    while (true) {
      const size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) {
        throw DocumentError(file_, first_line, "quoted field has no end", "a closing quote", "end of file");
      }
      const std::string_view part = text_.substr(at_, quote - at_);
      line_ += std::count(part.begin(), part.end(), '\n');
      field += part;
      at_ = quote + 1;
      if (!Take('"')) return field;  // a doubled quote means one
      field += '"';
    }
  }

  void EndOfRow() {
    Take('\r');
    if (at_ < text_.size() && !Take('\n')) {
      throw DocumentError(file_, line_, "field does not end where it should",
                          "a comma or the end of the line", std::string(1, text_[at_]));
    }
    ++line_;
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

std::vector<CsvRow> ParseCsv(std::string_view text, const std::string& file) {
  return CsvReader(text, file).Read();
}

}  // namespace ghost
