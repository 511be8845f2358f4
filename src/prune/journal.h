// What a pruning run has done so far, on disk after every layer, so that an interrupted run can be resumed
// and ends in the same bytes.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/team.h"
#include "prune/layer_edit.h"
#include "prune/method.h"
#include "tensor/view.h"

namespace ghost {

// A directory beside the output with an index, journal.json, and files that it refers to: one per layer whose
// edit has tensors, the method's preparation, and now and then a snapshot of the residual stream
// (snapshot_policy.h). Edits are small; with the latest snapshot they are enough to continue.
//
// Each save writes new files first, then replaces the index, then removes files that no index needs any more:
// a crash at any moment leaves a whole journal. The files of an older run are replaced by the first Save, not
// before. Of a team only the leader saves; every process may load.
class Journal {
 public:
  struct Options {
    int64_t max_snapshot_bytes = int64_t{16} * 1000 * 1000 * 1000;  // larger snapshots are not written
    std::function<double()> clock;                                  // seconds; empty: a steady clock
  };
  // `fingerprint` says everything the result depends on; a journal of another run is not resumed.
  Journal(std::string directory, OrderedJson fingerprint, Options options);
  Journal(std::string directory, OrderedJson fingerprint) : Journal(directory, fingerprint, Options()) {}

  struct Progress {
    Preparation preparation;
    std::vector<LayerOutcome> layers;  // finished ones
    int snapshot_layers = 0;           // how many of them are below the snapshot; 0: there is none
    std::vector<float> residual;       // the snapshot
  };
  // What was saved, or an empty Progress when there is nothing; later saves continue it. Of a snapshot, which
  // has `residual_floats`, only those `wanted` are read. Error(kUsage) for the journal of another run,
  // Error(kCorrupt) for a damaged one or one that does not fit the model.
  Progress Load(const ModelConfig& config, int64_t residual_floats, PieceRange wanted);
  Progress Load(const ModelConfig& config, int64_t residual_floats) {
    return Load(config, residual_floats, {0, residual_floats});
  }

  // The whole residual stream above the last layer, which `write` puts into a file if a snapshot is due.
  struct Snapshot {
    int64_t bytes = 0;  // 0: there is none
    std::function<void(AtomicFile& file)> write;

    Snapshot() = default;
    Snapshot(ConstView rows);  // NOLINT: the stream of one process is one
  };
  // `layers` is what the last call (or Load) saw and one or more new ones. The last layer needs no snapshot.
  void Save(const Preparation& preparation, const std::vector<LayerOutcome>& layers,
            const Snapshot& snapshot);
  bool has_progress() const { return saved_layers_ > 0; }  // of this run, loaded or saved
  void Remove();                                           // when the work is done

 private:
  std::string File(const std::string& name) const { return directory_ + "/" + name; }
  std::string NameOf(const std::string& kind, size_t number) const;
  void WriteFiles(const Preparation& preparation, const std::vector<LayerOutcome>& layers,
                  const Snapshot& snapshot);
  void WriteIndex(const Preparation& preparation, const std::vector<LayerOutcome>& layers);
  void RemoveUnneeded(const std::set<std::string>& needed) const;
  std::set<std::string> NeededFiles(const Preparation& preparation,
                                    const std::vector<LayerOutcome>& layers) const;

  std::string directory_;
  OrderedJson fingerprint_;
  Options options_;
  int generation_ = -1;      // in file names, so that two runs never share one; -1: not known yet
  size_t saved_layers_ = 0;  // in the index
  size_t snapshot_layers_ = 0;
  double last_snapshot_;  // by the clock; at first when the run began
  double seconds_of_last_ = -1;
};

}  // namespace ghost
