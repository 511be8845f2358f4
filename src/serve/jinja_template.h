// A chat template that is ready to be rendered.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "serve/jinja_parser.h"

namespace ghost {

// Immutable: threads may share it.
class JinjaTemplate {
 public:
  // Error(kUnsupported) names what the subset lacks.
  explicit JinjaTemplate(std::string_view source) : statements_(ParseJinja(source)) {}
  // Error(kUsage) if the template refuses the values, or if its work or its text exceed a limit.
  std::string Render(std::map<std::string, Json> values) const;

 private:
  std::vector<JinjaStatement> statements_;
};

}  // namespace ghost
