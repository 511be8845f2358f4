#include "commands/inspect.h"

#include <fmt/format.h>

#include <map>

#include "commands/document.h"
#include "commands/model_source.h"
#include "model/cost.h"
#include "model/runtime_support.h"

namespace ghost {
namespace {

OrderedJson DescribeLayers(const ModelConfig& config) {
  OrderedJson layers = OrderedJson::array();
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    const BlockDims& d = config.blocks[static_cast<size_t>(layer)];
    OrderedJson states = OrderedJson::array();
    for (int g = 0; g < d.num_groups(); ++g) states.push_back(d.group_size(g));
    layers.push_back({{"layer", layer},
                      {"kind", config.hybrid_index(layer) >= 0 ? "hybrid" : "mamba2"},
                      {"heads", d.num_heads},
                      {"head_dim", d.head_dim},
                      {"groups", d.num_groups()},
                      {"state_sizes", states},
                      {"conv_width", d.conv_width},
                      {"state_bytes", d.state_floats() * 4}});
  }
  return layers;
}

OrderedJson DescribeDtypes(const TensorSet& set) {
  std::map<std::string, int64_t> bytes;
  for (const auto& [name, stored] : set.tensors) {
    bytes[std::string(NameOf(stored.tensor.dtype()))] += static_cast<int64_t>(stored.tensor.num_bytes());
  }
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, count] : bytes) json[name] = count;
  return json;
}

// While decoding, a step reads every weight once and every state twice (read, write). The prediction is the
// ratio of these bytes, dense over pruned: an upper bound, reached while memory and not arithmetic is the
// limit.
OrderedJson PredictDecodeGain(const Model& model) {
  const double weights = CostOfPass(model, 1, 1, 1).weight_bytes;
  const double state = 2.0 * static_cast<double>(SsmStateBytes(model.config()));
  OrderedJson rows = OrderedJson::array();
  for (const int batch : {1, 4, 16, 64, 256}) {
    OrderedJson row = {{"batch", batch}};
    for (const int percent : {25, 50, 75}) {
      const double kept = 1.0 - percent / 100.0;
      row[fmt::format("gain_{}", percent)] = (weights + batch * state) / (weights + batch * state * kept);
    }
    rows.push_back(row);
  }
  return rows;
}

OrderedJson ListTensors(const TensorSet& set) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [name, stored] : set.tensors) {
    const auto dims = stored.tensor.shape().dims();
    list.push_back({{"name", name},
                    {"dtype", NameOf(stored.tensor.dtype())},
                    {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                    {"bytes", stored.tensor.num_bytes()},
                    {"file", stored.file}});
  }
  return list;
}

}  // namespace

OrderedJson Inspect(const InspectOptions& options) {
  const Timer timer;
  const LoadedModel loaded = LoadModel(options.model);
  const ModelConfig& config = loaded.model.config();
  OrderedJson document =
      MakeDocument("ghost.inspect/1", DescribeModel(loaded.checkpoint), EchoOptions(options));
  document["d_model"] = config.d_model;
  document["num_layers"] = config.num_layers();
  document["vocab_size"] = config.vocab_size;
  document["tied_head"] = config.tied_head;
  document["norm_groups"] = config.norm_grouping == NormGrouping::kGrouped ? "grouped" : "full";
  document["parameters"] = CountParameters(config);
  document["weight_bytes"] = WeightBytes(loaded.model);
  document["dtype_bytes"] = DescribeDtypes(loaded.checkpoint.tensors);
  document["state_bytes_per_sequence"] = SsmStateBytes(config);
  document["conv_state_bytes_per_sequence"] = ConvStateBytes(config);
  document["key_value_bytes_per_token"] = KeyValueBytes(config);
  document["layers"] = DescribeLayers(config);
  OrderedJson runtimes = OrderedJson::array();
  for (const RuntimeVerdict& v : RuntimesFor(config)) {
    runtimes.push_back({{"runtime", v.runtime}, {"accepts", NameOf(v.support)}, {"reason", v.reason}});
  }
  document["runtimes"] = runtimes;
  document["predicted_decode_gain"] = PredictDecodeGain(loaded.model);
  if (options.tensors) document["tensors"] = ListTensors(loaded.checkpoint.tensors);
  FinishDocument(document, timer);
  return document;
}

}  // namespace ghost
