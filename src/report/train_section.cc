#include <fmt/format.h>

#include "base/units.h"
#include "report/line_chart.h"
#include "report/numbers.h"
#include "report/sections.h"
#include "report/train_document.h"

namespace ghost {

std::string DrawLosses(std::vector<std::pair<double, double>> batches,
                       std::vector<std::pair<double, double>> held_out) {
  ChartSeries of_batches = {.label = "batches", .points = std::move(batches)};
  ChartSeries of_held_out = {.label = "held-out text", .points = std::move(held_out), .dots = true};
  LineChart chart = {"Loss while training", "step", "nats per token", {std::move(of_batches)}};
  if (!of_held_out.points.empty()) chart.series.push_back(std::move(of_held_out));
  return RenderSvg(chart);
}

void AddTrainSection(const ResultFile& file, HtmlPage& page) {
  const TrainDocument d = ReadTrainDocument(file.document);
  page.AddHeading("Training: " + file.path);
  page.AddText(
      fmt::format("{} parameters, {} tokens, corpus {} of {} tokens, seed {}; last loss {} nats per token.",
                  Count(d.parameters), Count(d.tokens), d.corpus, Count(d.corpus_tokens), d.seed,
                  ShortNumber(d.final_loss)));
  if (!d.validations.empty()) {
    const TrainDocument::Validation& last = d.validations.back();
    page.AddText(fmt::format("On held-out text at step {}: perplexity {}, {} bits per byte.", last.step,
                             ShortNumber(last.perplexity), ShortNumber(last.bits_per_byte)));
  }
  std::vector<std::pair<double, double>> batches, held_out;
  for (const TrainDocument::Loss& point : d.losses) batches.emplace_back(point.step, point.loss);
  for (const TrainDocument::Validation& v : d.validations) {
    held_out.emplace_back(static_cast<double>(v.step), v.nll);
  }
  page.AddPicture(DrawLosses(std::move(batches), std::move(held_out)));
}

}  // namespace ghost
