// Changes one field of a JSON text and keeps every other byte: order, spelling and the word Infinity.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ghost {

// `text` is an object that ParseJson accepts; `path` names a field, through nested objects, e.g.
// {"ssm_cfg", "d_state"}. All names but the last must exist. Replaces the field's value by `value`, a JSON
// text, or adds the field at the start of its object. `file` is for messages only. Error(kCorrupt) if a
// name of the path is not an object.
std::string SetJsonField(std::string_view text, std::span<const std::string_view> path,
                         std::string_view value, const std::string& file);

// Removes the field with its name and one comma; a text without it stays as it is. Undoes SetJsonField where
// that added the field.
std::string RemoveJsonField(std::string_view text, std::span<const std::string_view> path,
                            const std::string& file);

// True if the field exists.
bool HasJsonField(std::string_view text, std::span<const std::string_view> path, const std::string& file);

}  // namespace ghost
