#include "commands/state_dtype.h"

#include "base/error.h"

namespace ghost {

StateType ParseStateType(const std::string& name) {
  if (const std::optional<StateType> type = StateTypeFromName(name)) return *type;
  std::string known;
  for (const StateType type : kStateTypes) known += (known.empty() ? "" : ", ") + std::string(NameOf(type));
  throw Error(ErrorKind::kUsage, "bad value of --state-dtype", {.expected = known, .actual = name});
}

}  // namespace ghost
