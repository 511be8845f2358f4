#include <fmt/format.h>

#include <string>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "commands/inspect.h"

namespace ghost {
namespace {

std::string StatesText(const OrderedJson& sizes) {
  std::string text;
  for (const auto& size : sizes) text += (text.empty() ? "" : "+") + std::to_string(size.get<int>());
  return text;
}

// Layers of equal sizes in one line: "0-23".
void PrintLayers(const OrderedJson& layers) {
  fmt::print("\nlayers     heads x dim   groups  state N      state bytes\n");
  for (size_t first = 0; first < layers.size();) {
    const auto same = [&](size_t other) {
      for (const char* key : {"heads", "head_dim", "groups", "state_sizes"}) {
        if (layers[first][key] != layers[other][key]) return false;
      }
      return true;
    };
    size_t last = first;
    while (last + 1 < layers.size() && same(last + 1)) ++last;
    const OrderedJson& layer = layers[first];
    const std::string range = first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    const std::string heads = fmt::format("{} x {}", layer["heads"].get<int>(), layer["head_dim"].get<int>());
    fmt::print("{:<10} {:<13} {:<7} {:<12} {} each\n", range, heads, layer["groups"].get<int>(),
               StatesText(layer["state_sizes"]), Bytes(layer["state_bytes"].get<double>()));
    first = last + 1;
  }
}

// Of Zamba2, or empty.
std::string HybridText(const OrderedJson& document) {
  std::string layers;
  for (const auto& layer : document["layers"]) {
    if (layer["kind"] == "hybrid")
      layers += fmt::format("{}{}", layers.empty() ? "" : ", ", layer["layer"].get<int>());
  }
  if (layers.empty()) return layers;
  return fmt::format("layers {}; keys and values {} per token", layers,
                     Bytes(document["key_value_bytes_per_token"].get<double>()));
}

void PrintRuntimes(const OrderedJson& runtimes) {
  fmt::print("\nruntime                   takes this N\n");
  for (const auto& r : runtimes) {
    fmt::print("{:<25} {:<5} {}\n", r["runtime"].get<std::string>(), r["accepts"].get<std::string>(),
               r["reason"].get<std::string>());
  }
}

void PrintGain(const OrderedJson& rows) {
  fmt::print(
      "\ndecode gain at most, by bytes moved, when this much of the state is removed\nbatch     25 %    50 % "
      "   75 %\n");
  for (const auto& row : rows) {
    fmt::print("{:<7} {:>5.2f}x  {:>5.2f}x  {:>5.2f}x\n", row["batch"].get<int>(),
               row["gain_25"].get<double>(), row["gain_50"].get<double>(), row["gain_75"].get<double>());
  }
}

void PrintInspect(const OrderedJson& d) {
  const OrderedJson& model = d["model"];
  std::string dtypes;
  for (const auto& [name, bytes] : d["dtype_bytes"].items()) dtypes += (dtypes.empty() ? "" : ", ") + name;
  const auto line = [](const char* label, const std::string& value) {
    fmt::print("{:<14}{}\n", label, value);
  };
  line("model", model["path"].get<std::string>());
  line("family",
       fmt::format("{}, {} layout", model["family"].get<std::string>(), model["layout"].get<std::string>()));
  line("parameters", Count(d["parameters"].get<double>()));
  line("weights", fmt::format("{} ({})", Bytes(d["weight_bytes"].get<double>()), dtypes));
  line("width",
       fmt::format("{}, {} layers, vocabulary {}{}", d["d_model"].get<int>(), d["num_layers"].get<int>(),
                   d["vocab_size"].get<int>(), d["tied_head"].get<bool>() ? ", tied head" : ""));
  line("state",
       fmt::format("{} per sequence (+ {} convolution)", Bytes(d["state_bytes_per_sequence"].get<double>()),
                   Bytes(d["conv_state_bytes_per_sequence"].get<double>())));
  if (const std::string hybrid = HybridText(d); !hybrid.empty()) line("attention", hybrid);
  line("gated norm", d["norm_groups"].get<std::string>());
  line("content", model["content_hash"].get<std::string>());
  PrintLayers(d["layers"]);
  PrintRuntimes(d["runtimes"]);
  PrintGain(d["predicted_decode_gain"]);
  if (!d.contains("tensors")) return;
  fmt::print("\n");
  for (const auto& t : d["tensors"]) {
    fmt::print("{:<6} {:<20} {}\n", t["dtype"].get<std::string>(), t["shape"].dump(),
               t["name"].get<std::string>());
  }
}

}  // namespace

void AddInspect(CLI::App& app) {
  AddVerb<InspectOptions>(app, "inspect", "What is in a checkpoint; reads no weights.",
                          "ghost inspect ./mamba2-130m", Inspect, PrintInspect);
}

}  // namespace ghost
