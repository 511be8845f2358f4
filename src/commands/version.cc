#include "commands/version.h"

namespace ghost {

std::string GhostVersion() { return GHOST_VERSION; }

std::string GhostCommit() { return GHOST_COMMIT; }

}  // namespace ghost
