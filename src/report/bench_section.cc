#include <fmt/format.h>

#include <algorithm>

#include "base/file_name.h"
#include "base/units.h"
#include "report/bar_chart.h"
#include "report/numbers.h"
#include "report/sections.h"

namespace ghost {
namespace {

std::vector<std::string> ModelNames(const Json& d) {
  std::vector<std::string> names = {FileName(d.at("model").at("path").get<std::string>())};
  for (const Json& other : d.value("compared_with", Json::array_t{})) {
    names.push_back(FileName(other.at("path").get<std::string>()));
  }
  return names;
}

HtmlTable SpeedTable(const Json& rows, const std::vector<std::string>& models) {
  HtmlTable table = {.columns = {"phase", "model", "sequences", "tokens/s", "spread", "gain", "GFLOP/s",
                                 "GB/s", "of GEMM rate", "of read bandwidth", "of roofline"},
                     .text_columns = 2};
  double first_speed = 0;
  for (const Json& row : ListOf(rows)) {
    const auto number = [&](const char* key) { return row.at(key).get<double>(); };
    const size_t model = row.at("model").get<size_t>();
    const double speed = number("tokens_per_second");
    if (model == 0) first_speed = speed;
    table.rows.push_back({row.at("phase").get<std::string>(), models.at(model),
                          fmt::format("{}", row.at("batch").get<int64_t>()), ShortNumber(speed),
                          fmt::format("{:.1f} %", 100 * number("seconds_stddev") / number("seconds_mean")),
                          fmt::format("{:.2f}", speed / first_speed), ShortNumber(number("gflops")),
                          ShortNumber(number("gbytes_per_second")),
                          fmt::format("{:.0f} %", 100 * number("share_of_gemm")),
                          fmt::format("{:.0f} %", 100 * number("share_of_read_bandwidth")),
                          fmt::format("{:.0f} %", 100 * number("share_of_roofline"))});
  }
  return table;
}

BarChart DecodeChart(const Json& rows, const std::vector<std::string>& models) {
  BarChart chart = {.title = "Decoding", .x_label = "sequences at once", .y_label = "tokens/s"};
  for (const std::string& model : models) chart.series.push_back({.label = model});
  for (const Json& row : ListOf(rows)) {
    if (row.at("phase") != "decode") continue;
    const size_t model = row.at("model").get<size_t>();
    if (model == 0) chart.groups.push_back(fmt::format("{}", row.at("batch").get<int64_t>()));
    chart.series.at(model).values.push_back(row.at("tokens_per_second").get<double>());
  }
  return chart;
}

void AddCalibrationCost(const Json& rows, HtmlPage& page) {
  HtmlTable table = {.columns = {"method", "seconds", "forward passes", "peak memory"}};
  BarChart chart = {.title = "Cost of pruning", .y_label = "forward passes", .series = {{.label = "time"}}};
  for (const Json& row : ListOf(rows)) {
    const std::string method = row.at("method").get<std::string>();
    const double passes = row.at("times_forward").get<double>();
    table.rows.push_back({method, ShortNumber(row.at("seconds_best").get<double>()), ShortNumber(passes),
                          Bytes(row.at("peak_anonymous_bytes").get<double>())});
    chart.groups.push_back(method);
    chart.series[0].values.push_back(passes);
  }
  page.AddTable(table);
  page.AddPicture(RenderSvg(chart));
}

}  // namespace

void AddBenchSection(const ResultFile& file, HtmlPage& page) {
  const Json& d = file.document;
  const std::vector<std::string> models = ModelNames(d);
  page.AddHeading("Speed: " + file.path);
  if (d.contains("calibration")) return AddCalibrationCost(d["calibration"], page);
  const Json& limits = d.at("limits");
  page.AddText(fmt::format(
      "{}, {} threads. Measured in the same run: FMA {} GFLOP/s, GEMM {} GFLOP/s, read {} GB/s, "
      "in-place update {} GB/s. Best of {} repeats; models took turns.",
      limits.at("cpu").get<std::string>(), d.at("threads").get<int>(),
      ShortNumber(limits.at("fma_gflops").get<double>()), ShortNumber(limits.at("gemm_gflops").get<double>()),
      ShortNumber(limits.at("read_gbytes_per_second").get<double>()),
      ShortNumber(limits.at("update_gbytes_per_second").get<double>()),
      d.at("options").at("repeats").get<int>()));
  page.AddTable(SpeedTable(d.at("rows"), models));
  const BarChart chart = DecodeChart(d["rows"], models);
  if (!chart.groups.empty()) page.AddPicture(RenderSvg(chart));
}

}  // namespace ghost
