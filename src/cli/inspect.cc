#include "commands/inspect.h"

#include <fmt/format.h>

#include <string>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

std::string BytesText(int64_t bytes) { return Bytes(static_cast<double>(bytes)); }

std::string StatesText(const std::vector<int>& sizes) {
  std::string text;
  for (const int size : sizes) text += (text.empty() ? "" : "+") + std::to_string(size);
  return text;
}

bool SameSizes(const LayerSummary& a, const LayerSummary& b) {
  return a.heads == b.heads && a.head_dim == b.head_dim && a.groups == b.groups &&
         a.state_sizes == b.state_sizes;
}

// Layers of equal sizes in one line: "0-23".
void PrintLayers(const std::vector<LayerSummary>& layers) {
  fmt::print("\nlayers     heads x dim   groups  state N      state bytes\n");
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last + 1 < layers.size() && SameSizes(layers[first], layers[last + 1])) ++last;
    const LayerSummary& layer = layers[first];
    const std::string range = first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    const std::string heads = fmt::format("{} x {}", layer.heads, layer.head_dim);
    fmt::print("{:<10} {:<13} {:<7} {:<12} {} each\n", range, heads, layer.groups,
               StatesText(layer.state_sizes), BytesText(layer.state_bytes));
    first = last + 1;
  }
}

// Of layers with attention, or empty.
std::string HybridText(const InspectResult& r) {
  std::string layers;
  for (const LayerSummary& layer : r.layers) {
    if (layer.kind == "hybrid") layers += fmt::format("{}{}", layers.empty() ? "" : ", ", layer.layer);
  }
  if (layers.empty()) return layers;
  return fmt::format("layers {}; keys and values {} per token", layers,
                     BytesText(r.key_value_bytes_per_token));
}

void PrintRuntimes(const std::vector<RuntimeSummary>& runtimes) {
  fmt::print("\nruntime                   takes this N\n");
  for (const RuntimeSummary& r : runtimes) {
    fmt::print("{:<25} {:<5} {}\n", r.runtime, r.accepts, r.reason);
  }
}

void PrintGain(const std::vector<DecodeGain>& rows) {
  fmt::print(
      "\ndecode gain at most, by bytes moved, when this much of the state is removed\nbatch     25 %    50 % "
      "   75 %\n");
  for (const DecodeGain& row : rows) {
    fmt::print("{:<7} {:>5.2f}x  {:>5.2f}x  {:>5.2f}x\n", row.batch, row.gain_25, row.gain_50, row.gain_75);
  }
}

void PrintTensors(const std::vector<TensorSummary>& tensors) {
  fmt::print("\n");
  for (const TensorSummary& t : tensors) {
    fmt::print("{:<6} {:<20} {}\n", t.dtype, fmt::format("[{}]", fmt::join(t.shape, ",")), t.name);
  }
}

void PrintInspect(const InspectResult& r) {
  const ModelIdentity& model = *r.run.model;
  std::string dtypes;
  for (const auto& [name, bytes] : r.dtype_bytes) dtypes += (dtypes.empty() ? "" : ", ") + name;
  const auto line = [](const char* label, const std::string& value) {
    fmt::print("{:<14}{}\n", label, value);
  };
  line("model", model.path);
  line("family", fmt::format("{}, {} layout", model.family, model.layout));
  line("parameters", Count(static_cast<double>(r.parameters)));
  line("weights", fmt::format("{} ({})", BytesText(r.weight_bytes), dtypes));
  line("width", fmt::format("{}, {} layers, vocabulary {}{}", r.d_model, r.num_layers, r.vocab_size,
                            r.tied_head ? ", tied head" : ""));
  line("state", fmt::format("{} per sequence (+ {} convolution)", BytesText(r.state_bytes_per_sequence),
                            BytesText(r.conv_state_bytes_per_sequence)));
  if (const std::string hybrid = HybridText(r); !hybrid.empty()) line("attention", hybrid);
  line("gated norm", r.norm_groups);
  line("content", model.content_hash);
  PrintLayers(r.layers);
  PrintRuntimes(r.runtimes);
  PrintGain(r.predicted_decode_gain);
  if (r.options.tensors) PrintTensors(r.tensors);
}

}  // namespace

void AddInspect(CLI::App& app) {
  AddVerb<InspectOptions>(app, "inspect", "What is in a checkpoint; reads no weights.",
                          "ghost inspect ./mamba2-130m", Inspect, PrintInspect);
}

}  // namespace ghost
