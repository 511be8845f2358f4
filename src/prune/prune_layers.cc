#include "prune/prune_layers.h"

#include <utility>

namespace ghost {

std::vector<LayerOutcome> PruneLayers(SequentialPruner& pruner, Journal* journal, Journal::Progress saved,
                                      const PruneHooks& hooks) {
  std::vector<LayerOutcome> layers = std::move(saved.layers);
  const auto finished = static_cast<int>(layers.size());
  if (finished == pruner.num_mixers()) {
    pruner.Finish(layers);
    return layers;
  }
  if (!saved.preparation.empty()) pruner.Restore(std::move(saved.preparation));
  if (saved.snapshot_layers > 0) pruner.Restore(saved.snapshot_layers, saved.residual);
  std::vector<float>().swap(saved.residual);  // as large as the stream itself
  while (pruner.next_mixer() < finished) {
    pruner.Replay(layers[static_cast<size_t>(pruner.next_mixer())].edit);
    if (hooks.repeated) hooks.repeated(pruner.next_mixer(), pruner.num_mixers());
  }
  pruner.Prepare(hooks.prepared);
  while (!pruner.done()) {
    layers.push_back(pruner.Step(hooks.decided));
    // The stream above the last layer is of no use.
    if (journal) journal->Save(pruner.preparation(), layers, pruner.done() ? ConstView() : pruner.residual());
    if (hooks.pruned) hooks.pruned(pruner.next_mixer(), pruner.num_mixers());
  }
  pruner.Finish(layers);
  return layers;
}

}  // namespace ghost
