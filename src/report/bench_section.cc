#include <fmt/format.h>

#include <algorithm>

#include "base/file_name.h"
#include "base/units.h"
#include "report/bar_chart.h"
#include "report/bench_document.h"
#include "report/numbers.h"
#include "report/sections.h"

namespace ghost {
namespace {

std::vector<std::string> ModelNames(const BenchDocument& d) {
  std::vector<std::string> names;
  for (const std::string& path : d.models) names.push_back(FileName(path));
  return names;
}

std::string WholePercent(double share) { return fmt::format("{:.0f} %", 100 * share); }

HtmlTable SpeedTable(const std::vector<SpeedRow>& rows, const std::vector<std::string>& models) {
  HtmlTable table = {.columns = {"phase", "model", "sequences", "tokens/s", "spread", "gain", "GFLOP/s",
                                 "GB/s", "of GEMM rate", "of read bandwidth", "of roofline"},
                     .text_columns = 2};
  double first_speed = 0;
  for (const SpeedRow& row : rows) {
    if (row.model == 0) first_speed = row.tokens_per_second;
    table.rows.push_back({row.phase, models[row.model], fmt::format("{}", row.batch),
                          ShortNumber(row.tokens_per_second),
                          fmt::format("{:.1f} %", 100 * row.seconds_stddev / row.seconds_mean),
                          fmt::format("{:.2f}", row.tokens_per_second / first_speed), ShortNumber(row.gflops),
                          ShortNumber(row.gbytes_per_second), WholePercent(row.share_of_gemm),
                          WholePercent(row.share_of_read_bandwidth), WholePercent(row.share_of_roofline)});
  }
  return table;
}

BarChart DecodeChart(const std::vector<SpeedRow>& rows, const std::vector<std::string>& models) {
  BarChart chart = {.title = "Decoding", .x_label = "sequences at once", .y_label = "tokens/s"};
  for (const std::string& model : models) chart.series.push_back({.label = model});
  for (const SpeedRow& row : rows) {
    if (row.phase != "decode") continue;
    if (row.model == 0) chart.groups.push_back(fmt::format("{}", row.batch));
    chart.series[row.model].values.push_back(row.tokens_per_second);
  }
  return chart;
}

void AddCalibrationCost(const std::vector<PruningCost>& rows, HtmlPage& page) {
  HtmlTable table = {.columns = {"method", "seconds", "forward passes", "peak memory"}};
  BarChart chart = {.title = "Cost of pruning", .y_label = "forward passes", .series = {{.label = "time"}}};
  for (const PruningCost& row : rows) {
    table.rows.push_back({row.method, ShortNumber(row.seconds_best), ShortNumber(row.times_forward),
                          Bytes(static_cast<double>(row.peak_anonymous_bytes))});
    chart.groups.push_back(row.method);
    chart.series[0].values.push_back(row.times_forward);
  }
  page.AddTable(table);
  page.AddPicture(RenderSvg(chart));
}

}  // namespace

void AddBenchSection(const ResultFile& file, HtmlPage& page) {
  const BenchDocument d = ReadBenchDocument(file.document);
  const std::vector<std::string> models = ModelNames(d);
  page.AddHeading("Speed: " + file.path);
  if (!d.speed) return AddCalibrationCost(d.calibration, page);
  page.AddText(
      fmt::format("{}, {} threads. Measured in the same run: FMA {} GFLOP/s, GEMM {} GFLOP/s, read {} GB/s, "
                  "in-place update {} GB/s. Best of {} repeats; models took turns.",
                  d.speed->cpu, d.threads, ShortNumber(d.speed->fma_gflops),
                  ShortNumber(d.speed->gemm_gflops), ShortNumber(d.speed->read_gbytes_per_second),
                  ShortNumber(d.speed->update_gbytes_per_second), d.repeats));
  page.AddTable(SpeedTable(d.speed->rows, models));
  const BarChart chart = DecodeChart(d.speed->rows, models);
  if (!chart.groups.empty()) page.AddPicture(RenderSvg(chart));
}

}  // namespace ghost
