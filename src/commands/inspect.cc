#include "commands/inspect.h"

#include "checkpoint/runtime_support.h"
#include "commands/model_source.h"
#include "model/cost.h"

namespace ghost {
namespace {

std::vector<LayerSummary> SummarizeLayers(const ModelConfig& config) {
  std::vector<LayerSummary> layers;
  for (const MixerDims& d : config.mixers) {
    LayerSummary summary = {.layer = d.layer,
                            .kind = KindOf(config, d.layer),
                            .heads = d.num_heads,
                            .head_dim = d.head_dim,
                            .groups = d.num_groups(),
                            .conv_width = d.conv_width,
                            .state_bytes = d.state_floats() * 4};
    for (int g = 0; g < d.num_groups(); ++g) summary.state_sizes.push_back(d.group_size(g));
    layers.push_back(std::move(summary));
  }
  return layers;
}

std::map<std::string, int64_t> BytesByType(const TensorSet& set) {
  std::map<std::string, int64_t> bytes;
  for (const auto& [name, stored] : set.tensors) {
    bytes[std::string(NameOf(stored.tensor.dtype()))] += static_cast<int64_t>(stored.tensor.num_bytes());
  }
  return bytes;
}

// A decoding step reads every weight once and reads and writes every state. The prediction is the ratio of
// these bytes, dense over pruned: an upper bound, reached while memory and not arithmetic is the limit.
std::vector<DecodeGain> PredictDecodeGain(const Model& model) {
  const double weights = CostOfPass(model, 1, 1, 1).weight_bytes;
  const double state = 2.0 * static_cast<double>(SsmStateBytes(model.config()));
  std::vector<DecodeGain> rows;
  for (const int batch : {1, 4, 16, 64, 256}) {
    const auto gain = [&](double removed) {
      return (weights + batch * state) / (weights + batch * state * (1.0 - removed));
    };
    rows.push_back({batch, gain(0.25), gain(0.50), gain(0.75)});
  }
  return rows;
}

std::vector<TensorSummary> ListTensors(const TensorSet& set) {
  std::vector<TensorSummary> list;
  for (const auto& [name, stored] : set.tensors) {
    const auto dims = stored.tensor.shape().dims();
    list.push_back({name,
                    std::string(NameOf(stored.tensor.dtype())),
                    {dims.begin(), dims.end()},
                    stored.tensor.num_bytes(),
                    stored.file});
  }
  return list;
}

OrderedJson ToJson(const LayerSummary& layer) {
  return {{"layer", layer.layer},           {"kind", layer.kind},
          {"heads", layer.heads},           {"head_dim", layer.head_dim},
          {"groups", layer.groups},         {"state_sizes", layer.state_sizes},
          {"conv_width", layer.conv_width}, {"state_bytes", layer.state_bytes}};
}

OrderedJson ToJson(const RuntimeSummary& verdict) {
  return {{"runtime", verdict.runtime}, {"accepts", verdict.accepts}, {"reason", verdict.reason}};
}

OrderedJson ToJson(const DecodeGain& row) {
  return {{"batch", row.batch}, {"gain_25", row.gain_25}, {"gain_50", row.gain_50}, {"gain_75", row.gain_75}};
}

OrderedJson ToJson(const TensorSummary& tensor) {
  return {{"name", tensor.name},
          {"dtype", tensor.dtype},
          {"shape", tensor.shape},
          {"bytes", tensor.bytes},
          {"file", tensor.file}};
}

template <class Item>
OrderedJson ListJson(const std::vector<Item>& items) {
  OrderedJson list = OrderedJson::array();
  for (const Item& item : items) list.push_back(ToJson(item));
  return list;
}

}  // namespace

InspectResult Inspect(const InspectOptions& options) {
  const Timer timer;
  const LoadedModel loaded = LoadModel(options.model);
  const ModelConfig& config = loaded.model.config();
  InspectResult r{.options = options};
  r.run = {.schema = "ghost.inspect/1", .model = IdentifyModel(loaded.checkpoint)};
  r.d_model = config.d_model;
  r.num_layers = config.num_layers();
  r.vocab_size = config.vocab_size;
  r.tied_head = config.tied_head;
  const MixerDims& mixer = config.mixers.front();
  r.norm_groups = !mixer.has_gate_norm()                          ? "none"
                  : mixer.norm_grouping == NormGrouping::kGrouped ? "grouped"
                                                                  : "full";
  r.parameters = CountParameters(config);
  r.weight_bytes = WeightBytes(loaded.model);
  r.dtype_bytes = BytesByType(loaded.checkpoint.tensors);
  r.state_bytes_per_sequence = SsmStateBytes(config);
  r.conv_state_bytes_per_sequence = ConvStateBytes(config);
  r.key_value_bytes_per_token = KeyValueBytes(config);
  for (int layer = 0; layer < config.num_layers(); ++layer) ++r.layer_kinds[KindOf(config, layer)];
  r.layers = SummarizeLayers(config);
  for (const RuntimeVerdict& v : RuntimesFor(config)) {
    r.runtimes.push_back({v.runtime, std::string(NameOf(v.support)), v.reason});
  }
  r.predicted_decode_gain = PredictDecodeGain(loaded.model);
  if (options.tensors) r.tensors = ListTensors(loaded.checkpoint.tensors);
  FinishRun(timer, r.run);
  return r;
}

OrderedJson ToJson(const InspectResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["d_model"] = r.d_model;
  d["num_layers"] = r.num_layers;
  d["vocab_size"] = r.vocab_size;
  d["tied_head"] = r.tied_head;
  d["norm_groups"] = r.norm_groups;
  d["parameters"] = r.parameters;
  d["weight_bytes"] = r.weight_bytes;
  d["dtype_bytes"] = OrderedJson::object();
  for (const auto& [name, bytes] : r.dtype_bytes) d["dtype_bytes"][name] = bytes;
  d["state_bytes_per_sequence"] = r.state_bytes_per_sequence;
  d["conv_state_bytes_per_sequence"] = r.conv_state_bytes_per_sequence;
  d["key_value_bytes_per_token"] = r.key_value_bytes_per_token;
  d["layer_kinds"] = OrderedJson::object();
  for (const auto& [kind, count] : r.layer_kinds) d["layer_kinds"][kind] = count;
  d["layers"] = ListJson(r.layers);
  d["runtimes"] = ListJson(r.runtimes);
  d["predicted_decode_gain"] = ListJson(r.predicted_decode_gain);
  if (r.options.tensors) d["tensors"] = ListJson(r.tensors);
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
