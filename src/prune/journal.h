// What a pruning run has done so far, on disk after every layer, so that an interrupted run goes on where it
// stopped and ends in the same bytes.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "prune/sequential.h"

namespace ghost {

// A directory beside the output: journal.json (what is being done, masks and scores of finished layers), the
// residual stream as raw float32, and for methods that edit weights one file per layer with them. Each save
// writes new files first and removes old ones last; a crash at any moment leaves a journal that is whole.
class Journal {
 public:
  // `fingerprint` says everything the result depends on; a journal of another run is not resumed.
  Journal(std::string directory, OrderedJson fingerprint);

  struct Progress {
    std::vector<LayerOutcome> layers;  // finished ones, saliency left out
    std::vector<float> residual;       // before the next layer
  };
  // What was saved, or an empty Progress when there is nothing. Error(kUsage) for the journal of another run,
  // Error(kCorrupt) for a damaged one or one that does not fit the model.
  Progress Load(const ModelConfig& config, int64_t residual_floats) const;
  void Save(const std::vector<LayerOutcome>& layers, ConstView residual);
  void Remove();  // when the work is done, or to start anew

 private:
  std::string File(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
  OrderedJson fingerprint_;
};

}  // namespace ghost
