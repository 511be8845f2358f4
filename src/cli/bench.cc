#include "commands/bench.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

// The share that tells for this row: of the GEMM rate in prefill; in decoding of the limit it comes nearest
// to, which for few sequences is reading the weights and for many the arithmetic and the states.
std::string TellingShare(const OrderedJson& row) {
  const auto percent = [&](const char* key) { return 100.0 * row[key].get<double>(); };
  if (row["phase"] == "prefill") return fmt::format("{:.0f} % of GEMM rate", percent("share_of_gemm"));
  const double read = percent("share_of_read_bandwidth"), roofline = percent("share_of_roofline");
  return read > roofline ? fmt::format("{:.0f} % of read bandwidth", read)
                         : fmt::format("{:.0f} % of roofline", roofline);
}

void PrintCalibration(const OrderedJson& d) {
  const OrderedJson& options = d["options"];
  fmt::print("model      {}\n", d["model"]["path"].get<std::string>());
  fmt::print("tokens     {} x {}, {} threads, {} in memory before\n\n", options["samples"].get<int64_t>(),
             options["length"].get<int64_t>(), d["threads"].get<int>(),
             Bytes(d["anonymous_bytes_before"].get<double>()));
  fmt::print("{:<12} {:>9} {:>10} {:>14} {:>14}\n", "method", "seconds", "tokens/s", "forward passes",
             "peak memory");
  for (const auto& row : d["calibration"]) {
    const OrderedJson& speed = row["tokens_per_second"];
    fmt::print("{:<12} {:>9.2f} {:>10} {:>14.2f} {:>14}\n", row["method"].get<std::string>(),
               row["seconds_best"].get<double>(),
               speed.is_null() ? "-" : fmt::format("{:.0f}", speed.get<double>()),
               row["times_forward"].get<double>(), Bytes(row["peak_anonymous_bytes"].get<double>()));
  }
  fmt::print("\nbest of {}; memory is anonymous: mapped weights are not counted, random ones are\n",
             d["options"]["repeats"].get<int>());
}

void PrintBench(const OrderedJson& d) {
  if (d.contains("calibration")) return PrintCalibration(d);
  const OrderedJson& limits = d["limits"];
  const bool compared = !d["compared_with"].empty();
  fmt::print("model      {}\n", d["model"]["path"].get<std::string>());
  for (const auto& other : d["compared_with"]) {
    fmt::print("against    {}\n", other["path"].get<std::string>());
  }
  fmt::print(
      "machine    {}, {} threads: FMA {:.0f} GFLOP/s, GEMM {:.0f} GFLOP/s, read {:.1f} GB/s, in-place {:.1f} "
      "GB/s\n\n",
      limits["cpu"].get<std::string>(), d["threads"].get<int>(), limits["fma_gflops"].get<double>(),
      limits["gemm_gflops"].get<double>(), limits["read_gbytes_per_second"].get<double>(),
      limits["update_gbytes_per_second"].get<double>());
  fmt::print("{:<8} {:>5} {:>7}  {:>10} {:>9}  {:>9} {:>7}  {}\n", "phase", "batch", "tokens", "tokens/s",
             "+-", "GFLOP/s", "GB/s", compared ? "share of limit; against" : "share of limit");
  double first_speed = 0.0;
  for (const auto& row : d["rows"]) {
    const double speed = row["tokens_per_second"].get<double>();
    const bool first = row["model"].get<int>() == 0;
    if (first) first_speed = speed;
    const double spread = row["seconds_stddev"].get<double>() / row["seconds_mean"].get<double>();
    fmt::print("{:<8} {:>5} {:>7}  {:>10.1f} {:>8.1f}%  {:>9.1f} {:>7.1f}  {}{}\n",
               first ? row["phase"].get<std::string>() : "", row["batch"].get<int64_t>(),
               row["tokens"].get<int64_t>(), speed, 100.0 * spread, row["gflops"].get<double>(),
               row["gbytes_per_second"].get<double>(), TellingShare(row),
               first ? "" : fmt::format("; {:.2f}x", speed / first_speed));
  }
  for (const auto& skip : d["skipped"]) {
    fmt::print("{:<8} {:>5}  skipped: {}\n", skip["phase"].get<std::string>(), skip["batch"].get<int64_t>(),
               skip["reason"].get<std::string>());
  }
  fmt::print("\ntokens/s of all sequences together, best of {} repeats; +- is the spread over repeats\n",
             d["options"]["repeats"].get<int>());
}

}  // namespace

void AddBench(CLI::App& app) {
  AddVerb<BenchOptions>(app, "bench", "Prefill, decode and pruning speed beside this machine's own limits.",
                        "ghost bench --shape mamba2-130m --batch 1,32", Bench, PrintBench);
}

}  // namespace ghost
