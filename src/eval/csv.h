// Comma-separated values with quoted fields (RFC 4180), as MMLU is distributed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ghost {

struct CsvRow {
  std::vector<std::string> fields;
  int64_t line = 0;  // where it starts, from 1
};

// Quoted fields may hold commas, newlines and doubled quotes; lines end with LF or CRLF; a last newline adds
// no row. A quote that is never closed, or text behind a closing quote, is an Error(kCorrupt) naming `file`
// and line.
std::vector<CsvRow> ParseCsv(std::string_view text, const std::string& file);

}  // namespace ghost
