// Changing one field of a JSON text and leaving every other byte as it is: order, spelling, the word
// Infinity.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ghost {

// `text` is an object that ParseJson accepts; `path` names a field, through objects, e.g. {"ssm_cfg",
// "d_state"}. All but the last name must be there. Replaces the field's value by `value`, a JSON text, or
// adds the field in front of its object's others. `file` is for messages only: Error(kCorrupt) if a name of
// the path is no object.
std::string SetJsonField(std::string_view text, std::span<const std::string_view> path,
                         std::string_view value, const std::string& file);

// Whether there is such a field.
bool HasJsonField(std::string_view text, std::span<const std::string_view> path, const std::string& file);

}  // namespace ghost
