#include "prune/prune_layers.h"

#include <algorithm>
#include <utility>

#include "base/team.h"

namespace ghost {
namespace {

constexpr int64_t kMessageFloats = int64_t{4} << 20;  // of a snapshot at a time, on its way to the leader

void SendRows(Team& team, std::span<const float> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  team.Send(0, std::as_bytes(std::span(&count, 1)));
  for (int64_t begin = 0; begin < count; begin += kMessageFloats)
    team.Send(0, std::as_bytes(rows.subspan(static_cast<size_t>(begin),
                                            static_cast<size_t>(std::min(kMessageFloats, count - begin)))));
}

void WriteRowsOf(Team& team, int rank, AtomicFile& file) {
  int64_t left = 0;
  team.Receive(rank, std::as_writable_bytes(std::span(&left, 1)));
  std::vector<float> some;
  for (; left > 0; left -= static_cast<int64_t>(some.size())) {
    some.resize(static_cast<size_t>(std::min(kMessageFloats, left)));
    team.Receive(rank, std::as_writable_bytes(std::span(some)));
    file.Write(some.data(), some.size() * sizeof(float));
  }
}

// All together. The leader saves; if it wants the residual stream, the others send theirs, a few megabytes at
// a time, so that nobody holds the whole.
void SaveLayers(const SequentialPruner& pruner, Journal* journal, const std::vector<LayerOutcome>& layers) {
  constexpr const char* kSend = "send";
  Team& team = CurrentTeam();
  const ConstView mine = pruner.residual();
  const std::span<const float> floats(mine.data, static_cast<size_t>(mine.rows * mine.cols));
  if (!team.leads()) {
    if (LeadersText("") == kSend) SendRows(team, floats);
    return;
  }
  bool asked = false;
  Journal::Snapshot snapshot;
  // The stream above the last layer is of no use.
  if (!pruner.done()) snapshot.bytes = pruner.all_rows() * mine.cols * static_cast<int64_t>(sizeof(float));
  snapshot.write = [&](AtomicFile& file) {
    asked = true;
    LeadersText(kSend);
    file.Write(floats.data(), floats.size_bytes());
    for (int rank = 1; rank < team.size(); ++rank) WriteRowsOf(team, rank, file);
  };
  if (journal) journal->Save(pruner.preparation(), layers, snapshot);
  if (!asked) LeadersText("");
}

// What a decision is, for comparison.
std::string NumbersOf(const LayerOutcome& outcome) {
  std::string text;
  const auto add = [&](const std::vector<double>& values) {
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  };
  add(outcome.scores);
  for (const std::vector<double>& errors : outcome.errors) add(errors);
  for (const std::vector<int>& kept : outcome.edit.mask.kept)
    text.append(reinterpret_cast<const char*>(kept.data()), kept.size() * sizeof(int));
  return text;
}

}  // namespace

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
    // Each process decides for itself, by the same numbers; machines that round differently must not go on.
    if (CurrentTeam().size() > 1) RequireSame("a layer's scores", NumbersOf(layers.back()));
    SaveLayers(pruner, journal, layers);
    if (hooks.pruned) hooks.pruned(pruner.next_mixer(), pruner.num_mixers());
  }
  pruner.Finish(layers);
  return layers;
}

}  // namespace ghost
