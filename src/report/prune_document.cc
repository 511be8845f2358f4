#include "report/prune_document.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "report/result_files.h"

namespace ghost {
namespace {

PrunedLayer ReadLayer(const Json& layer) {
  PrunedLayer out;
  out.layer = layer.at("layer").get<int>();
  const Json& scores = layer.at("scores");
  // Where B and C are mapped, scores are in falling order and the first ones stay.
  const bool mapped = !layer.contains("kept");
  const Json& kept = mapped ? layer.at("state_sizes") : layer.at("kept");
  for (size_t g = 0; g < scores.size(); ++g) {
    const auto group = scores.at(g).get<std::vector<double>>();
    std::vector<bool> stays(group.size(), false);
    std::vector<size_t> channels;
    if (mapped) {
      channels.resize(std::min(kept.at(g).get<size_t>(), group.size() + 1));
      std::iota(channels.begin(), channels.end(), size_t{0});
    } else {
      channels = kept.at(g).get<std::vector<size_t>>();
    }
    for (const size_t i : channels) {
      if (i >= stays.size()) throw Error(ErrorKind::kCorrupt, "keeps a channel that has no score");
      stays[i] = true;
    }
    out.scores.insert(out.scores.end(), group.begin(), group.end());
    out.kept.insert(out.kept.end(), stays.begin(), stays.end());
  }
  // Documents whose methods only drop channels need not say how many are left.
  if (const auto sizes = layer.find("state_sizes"); sizes != layer.end()) {
    for (const Json& size : ListOf(*sizes)) out.state_size += size.get<int64_t>();
  } else {
    out.state_size = std::ranges::count(out.kept, true);
  }
  return out;
}

}  // namespace

PruneDocument ReadPruneDocument(const Json& document) {
  CheckSchema(document, "ghost.prune");
  PruneDocument out;
  out.model_path = document.at("model").at("path").get<std::string>();
  out.pruning = ReadPruningRecord(document.at("pruning"));
  out.state_bytes_before = document.at("state_bytes_before").get<double>();
  out.state_bytes_after = document.at("state_bytes_after").get<double>();
  out.advice = document.value("advice", std::vector<std::string>{});
  for (const Json& layer : ListOf(document.at("layers"))) out.layers.push_back(ReadLayer(layer));
  return out;
}

}  // namespace ghost
