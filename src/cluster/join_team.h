// The team that a launcher such as mpirun or srun has started this process in. Used by main alone; everyone
// else asks base/team.h.
#pragma once

#include <memory>

#include "base/team.h"

namespace ghost {

class StartedTeam : public Team {
 public:
  // When the work is done; waits for the others.
  virtual void Leave() = 0;
  // Ends all processes of the team, whatever they are doing; the launcher's exit code is this one.
  [[noreturn]] virtual void EndAll(int exit_code) = 0;
};

// Null when no launcher has started several processes; then nothing of MPI is loaded. Error(kUnsupported)
// when one has and the program was built without MPI: it would do the same work several times.
std::unique_ptr<StartedTeam> JoinTeam();

}  // namespace ghost
