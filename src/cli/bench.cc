#include "commands/bench.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

// The share of a limit that matters for this row: in prefill that of the GEMM rate; in decoding the larger of
// two, since few sequences are limited by reading the weights and many by the arithmetic and the states.
std::string ShareText(const MeasuredCase& measured) {
  const LimitShares& shares = measured.shares;
  if (measured.row.what.phase == Phase::kPrefill)
    return fmt::format("{:.0f} % of GEMM rate", 100.0 * shares.of_gemm);
  return shares.of_read > shares.of_roofline
             ? fmt::format("{:.0f} % of read bandwidth", 100.0 * shares.of_read)
             : fmt::format("{:.0f} % of roofline", 100.0 * shares.of_roofline);
}

void PrintCalibration(const BenchResult& r) {
  fmt::print("model      {}\n", r.run.model->path);
  fmt::print("tokens     {} x {}, {} threads, {} in memory before\n\n", r.options.samples, r.options.length,
             r.run.threads, Bytes(static_cast<double>(r.anonymous_bytes_before)));
  fmt::print("{:<12} {:>9} {:>10} {:>14} {:>14}\n", "method", "seconds", "tokens/s", "forward passes",
             "peak memory");
  for (const CalibrationCost& row : r.calibration) {
    fmt::print("{:<12} {:>9.2f} {:>10} {:>14.2f} {:>14}\n", row.method, row.seconds_best,
               row.tokens_per_second ? fmt::format("{:.0f}", *row.tokens_per_second) : "-", row.times_forward,
               Bytes(static_cast<double>(row.peak_anonymous_bytes)));
  }
  fmt::print("\nbest of {}; memory is anonymous: mapped weights are not counted, random ones are\n",
             r.options.repeats);
}

// Of a row against the first one: how much faster, and how much of what the machine's limits would allow.
std::string GainText(const MeasuredCase& measured, double first_speed) {
  std::string text = fmt::format("; {:.2f}x", measured.row.tokens_per_second() / first_speed);
  if (measured.share_of_gain) text += fmt::format(", {:.0f} % of the gain", 100.0 * *measured.share_of_gain);
  return text;
}

void PrintRows(const std::vector<MeasuredCase>& rows) {
  double first_speed = 0.0;
  for (const MeasuredCase& measured : rows) {
    const BenchRow& row = measured.row;
    const double speed = row.tokens_per_second();
    const bool first = measured.model == 0;
    if (first) first_speed = speed;
    const double spread = row.timings.Deviation() / row.timings.Mean();
    const auto state = static_cast<double>(measured.state_bytes);
    fmt::print("{:>2} {:<8} {:>5} {:>7}  {:>10.1f} {:>6.1f}%  {:>9.1f} {:>7.1f}  {:>9} {:>7.0f}  {}{}\n",
               measured.model, first ? NameOf(row.what.phase) : "", row.what.batch, row.what.tokens, speed,
               100.0 * spread, row.gflops(), row.gbytes(), Bytes(state), 1e9 / state, ShareText(measured),
               first ? "" : GainText(measured, first_speed));
  }
}

void PrintBench(const BenchResult& r) {
  if (!r.speed) return PrintCalibration(r);
  const MachineLimits& limits = r.speed->limits;
  fmt::print("model 0    {}\n", r.run.model->path);
  for (size_t i = 0; i < r.compared_with.size(); ++i)
    fmt::print("against {:<2} {}\n", i + 1, r.compared_with[i].path);
  fmt::print(
      "machine    {}, {} threads: FMA {:.0f} GFLOP/s, GEMM {:.0f} GFLOP/s, read {:.1f} GB/s, in-place {:.1f} "
      "GB/s\n\n",
      r.speed->cpu, r.run.threads, limits.fma_flops / 1e9, limits.gemm_flops / 1e9,
      limits.read_bytes_per_s / 1e9, limits.update_bytes_per_s / 1e9);
  fmt::print("{:>2} {:<8} {:>5} {:>7}  {:>10} {:>7}  {:>9} {:>7}  {:>9} {:>7}  {}\n", "", "phase", "batch",
             "tokens", "tokens/s", "+-", "GFLOP/s", "GB/s", "state/seq", "seq/GB",
             r.compared_with.empty() ? "share of limit" : "share of limit; against model 0");
  PrintRows(r.speed->rows);
  for (const SkippedCase& skip : r.speed->skipped) {
    fmt::print("{:>2} {:<8} {:>5}  skipped: {}\n", "", NameOf(skip.phase), skip.batch, skip.reason);
  }
  fmt::print(
      "\ntokens/s of all sequences together, best of {} repeats; +- is the spread over repeats; state/seq: "
      "SSM "
      "and convolution state of a sequence\n",
      r.options.repeats);
}

}  // namespace

void AddBench(CLI::App& app) {
  AddVerb<BenchOptions>(app, "bench", "Prefill, decode and pruning speed beside this machine's own limits.",
                        "ghost bench --shape mamba2-130m --batch 1,32", Bench, PrintBench);
}

}  // namespace ghost
