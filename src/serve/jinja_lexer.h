// Cuts a template into text and tags, and tags into tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ghost {

enum class JinjaTokenKind { kName, kString, kNumber, kOperator, kEnd };

struct JinjaToken {
  JinjaTokenKind kind = JinjaTokenKind::kEnd;
  std::string text;
};

// A piece of literal text, {{ an expression }} or {% a statement %}. Comments are gone, and white space is
// stripped where tags say so. As in transformers, a statement swallows the newline behind it (trim_blocks)
// and the spaces before it on its line (lstrip_blocks).
struct JinjaPiece {
  enum Kind { kText, kOutput, kStatement } kind = kText;
  std::string text;
  std::vector<JinjaToken> tokens;  // of a tag, without the end
};

// Error(kUnsupported) for tags that do not end and characters that no token starts with.
std::vector<JinjaPiece> CutJinja(std::string_view source);

}  // namespace ghost
