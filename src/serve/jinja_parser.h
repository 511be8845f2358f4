// From the text of a chat template to statements: {{ }}, for, if, set. Anything else is refused here, so that
// rendering meets only what it knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/jinja_expression.h"

namespace ghost {

struct JinjaStatement {
  enum Kind { kText, kOutput, kSet, kFor, kIf } kind = kText;
  std::string text;         // kText; kSet, kFor: the name
  std::string attribute;    // kSet of a namespace; kFor: the second name
  JinjaExpression value;    // kOutput, kSet, kFor: what is looped over; kIf: the condition
  bool has_filter = false;  // kFor ... if
  JinjaExpression filter;
  std::vector<JinjaStatement> body;       // kFor, kIf
  std::vector<JinjaStatement> otherwise;  // else, of both
};

// Error(kUnsupported) names what the subset lacks.
std::vector<JinjaStatement> ParseJinja(std::string_view source);

}  // namespace ghost
