#include "text/corpus/text_file.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/decompress.h"
#include "base/error.h"
#include "text/tokenizer/unicode.h"

namespace ghost {

void CheckTextIsUtf8(std::string_view text, const std::string& file) {
  const auto offset = FindInvalidUtf8(text);
  if (!offset) return;
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(*offset), '\n');
  std::array<char, 8> hex{};
  std::snprintf(hex.data(), hex.size(), "0x%02X",
                static_cast<unsigned>(static_cast<unsigned char>(text[*offset])));
  throw Error(ErrorKind::kCorrupt, "text is not UTF-8",
              {.file = file,
               .tensor = "line " + std::to_string(line) + ", byte offset " + std::to_string(*offset),
               .actual = std::string("byte ") + hex.data(),
               .hint = "convert it, e.g. with iconv -t UTF-8"});
}

std::string LoadTextFile(const std::string& path, uint64_t max_bytes) {
  std::string text = ReadDecompressed(path, max_bytes);
  CheckTextIsUtf8(text, path);
  return text;
}

}  // namespace ghost
