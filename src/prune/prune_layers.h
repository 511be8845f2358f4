// A whole run of the driver, from the first layer or from where a journal ends.
#pragma once

#include <functional>
#include <vector>

#include "prune/journal.h"
#include "prune/sequential.h"

namespace ghost {

// All may be empty; each may throw to stop.
struct PruneHooks {
  StepProgress prepared;                              // samples of the method's preparation
  StepProgress decided;                               // steps of a layer's decision, if it takes long
  std::function<void(int done, int total)> repeated;  // a layer of the journal was run again
  std::function<void(int done, int total)> pruned;    // a layer was pruned and saved
};

// Prunes every layer and saves each to `journal` unless it is null. With `saved` progress of the same run the
// result is the same to the bit, and nothing is scored twice. Processes of a team call it together, with a
// journal only the leader's own is used; the number of them may differ from that of the run that was saved.
std::vector<LayerOutcome> PruneLayers(SequentialPruner& pruner, Journal* journal, Journal::Progress saved,
                                      const PruneHooks& hooks);

}  // namespace ghost
