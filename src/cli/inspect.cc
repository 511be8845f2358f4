#include "commands/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

std::string BytesText(int64_t bytes) { return Bytes(static_cast<double>(bytes)); }

// "128" if all groups have it, else "20+31".
std::string StatesText(const std::vector<int>& sizes) {
  if (std::ranges::adjacent_find(sizes, std::not_equal_to<>()) == sizes.end())
    return sizes.empty() ? "" : std::to_string(sizes.front());
  std::string text;
  for (const int size : sizes) text += (text.empty() ? "" : "+") + std::to_string(size);
  return text;
}

bool SameSizes(const LayerSummary& a, const LayerSummary& b) {
  return a.heads == b.heads && a.head_dim == b.head_dim && a.groups == b.groups &&
         a.state_sizes == b.state_sizes;
}

// "0-23", or "0-39 (36)" where layers without a mixer are between them.
std::string RangeText(int first, int last, size_t count) {
  if (first == last) return std::to_string(first);
  const bool gaps = static_cast<size_t>(last - first) + 1 != count;
  return fmt::format("{}-{}{}", first, last, gaps ? fmt::format(" ({})", count) : "");
}

// Mixers of equal sizes in one line.
void PrintLayers(const std::vector<LayerSummary>& layers) {
  size_t width = 12;  // unequal groups can make it long
  for (const LayerSummary& layer : layers) width = std::max(width, StatesText(layer.state_sizes).size());
  fmt::print("\nlayers     heads x dim   groups  {:<{}} state bytes\n", "state N", width);
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last + 1 < layers.size() && SameSizes(layers[first], layers[last + 1])) ++last;
    const LayerSummary& layer = layers[first];
    const std::string range = RangeText(layer.layer, layers[last].layer, last - first + 1);
    const std::string heads = fmt::format("{} x {}", layer.heads, layer.head_dim);
    fmt::print("{:<10} {:<13} {:<7} {:<{}} {} each\n", range, heads, layer.groups,
               StatesText(layer.state_sizes), width, BytesText(layer.state_bytes));
    first = last + 1;
  }
}

// "36 mamba2+mlp, 4 attention+mlp".
std::string KindsText(const std::map<std::string, int>& kinds) {
  std::string text;
  for (const auto& [kind, count] : kinds)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  return text;
}

void PrintRuntimes(const std::vector<RuntimeSummary>& runtimes) {
  fmt::print("\nruntime                   takes this N\n");
  for (const RuntimeSummary& r : runtimes) {
    fmt::print("{:<25} {:<5} {}\n", r.runtime, r.accepts, r.reason);
  }
}

void PrintGain(const std::vector<DecodeGain>& rows) {
  fmt::print(
      "\ndecode gain at most, by bytes of weights and state moved, when this much of the state is "
      "removed\nbatch     25 %    50 % "
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
  if (r.layer_kinds.size() > 1 || r.key_value_bytes_per_token > 0) line("layers", KindsText(r.layer_kinds));
  if (const int64_t bytes = r.key_value_bytes_per_token; bytes > 0)
    line("attention",
         fmt::format("keys and values {} per token, {} for 4096", BytesText(bytes), BytesText(4096 * bytes)));
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
