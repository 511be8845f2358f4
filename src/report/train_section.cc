#include <fmt/format.h>

#include "base/units.h"
#include "report/line_chart.h"
#include "report/numbers.h"
#include "report/sections.h"

namespace ghost {

std::string DrawTraining(const Json& document) {
  ChartSeries batches = {.label = "batches"}, held_out = {.label = "held-out text", .dots = true};
  for (const Json& point : ListOf(document.at("loss_curve"))) {
    batches.points.emplace_back(point.at("step").get<double>(), point.at("loss").get<double>());
  }
  for (const Json& point : ListOf(document.at("validations"))) {
    held_out.points.emplace_back(point.at("step").get<double>(), point.at("nll").get<double>());
  }
  LineChart chart = {"Loss while training", "step", "nats per token", {std::move(batches)}};
  if (!held_out.points.empty()) chart.series.push_back(std::move(held_out));
  return RenderSvg(chart);
}

void AddTrainSection(const ResultFile& file, HtmlPage& page) {
  const Json& d = file.document;
  const Json& corpus = d.at("settings").at("corpus");
  page.AddHeading("Training: " + file.path);
  page.AddText(
      fmt::format("{} parameters, {} tokens, corpus {} of {} tokens, seed {}; last loss {} nats per token.",
                  Count(d.at("parameters").get<double>()), Count(d.at("tokens").get<double>()),
                  corpus.at("file").get<std::string>(), Count(corpus.at("tokens").get<double>()),
                  d.at("seed").get<uint64_t>(), ShortNumber(d.at("final_loss").get<double>())));
  if (const auto& validations = ListOf(d.at("validations")); !validations.empty()) {
    const Json& last = validations.back();
    page.AddText(fmt::format("On held-out text at step {}: perplexity {}, {} bits per byte.",
                             last.at("step").get<int64_t>(), ShortNumber(last.at("perplexity").get<double>()),
                             ShortNumber(last.at("bits_per_byte").get<double>())));
  }
  page.AddPicture(DrawTraining(d));
}

}  // namespace ghost
