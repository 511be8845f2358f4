#include "paper/method_diagram.h"

#include <fmt/format.h>

#include <string_view>

#include "report/svg.h"

namespace ghost {
namespace {

constexpr double kBoxHeight = 44;

// A box with a name and a second, smaller line.
std::string Box(double x, double y, double width, std::string_view name, std::string_view below,
                std::string_view colour) {
  const double middle = x + width / 2;
  return fmt::format(
             "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"#ffffff\" stroke=\"{}\" "
             "stroke-width=\"1.6\"/>\n",
             x, y, width, kBoxHeight, colour) +
         SvgText(middle, y + 19, "middle", name) +
         SvgText(middle, y + 35, "middle", below, " font-size=\"10\" fill=\"#666666\"");
}

std::string Arrow(double x1, double y1, double x2, double y2, std::string_view colour) {
  return fmt::format(
      "<path d=\"M{} {}L{} {}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" marker-end=\"url(#{})\"/>\n",
      x1, y1, x2, y2, colour, colour == SeriesColour(1) ? "tip1" : "tip0");
}

std::string Tip(std::string_view id, std::string_view colour) {
  return fmt::format(
      "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
      "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"{}\"/></marker>\n",
      id, colour);
}

}  // namespace

std::string DrawMethod(const BlockSizes& s) {
  const std::string_view model = SeriesColour(0), ghost = SeriesColour(1);
  const int64_t R = s.heads * s.head_dim;
  std::string out = "<defs>\n" + Tip("tip0", model) + Tip("tip1", ghost) + "</defs>\n";
  // The block, from left to right; the gate z passes below.
  out += Box(16, 60, 96, "input u", fmt::format("M = {}", s.d_model), model);
  out += Box(136, 60, 112, "norm, W_in",
             fmt::format("z, x, B, C, dt: {}", 2 * R + 2 * s.groups * s.state + s.heads), model);
  out += Box(272, 60, 104, "conv, SiLU", "x', B', C'", model);
  out += Box(400, 60, 120, "state update", fmt::format("{} x {} x {}", s.heads, s.head_dim, s.state), model);
  out += Box(544, 60, 80, "y = H C'", fmt::format("R = {}", R), model);
  out += Box(444, 140, 180, "gated norm, W_out, residual", "u of the next layer", model);
  out += Arrow(112, 82, 136, 82, model) + Arrow(248, 82, 272, 82, model) + Arrow(376, 82, 400, 82, model) +
         Arrow(520, 82, 544, 82, model) + Arrow(584, 104, 584, 140, model) +
         Arrow(192, 104, 444, 160, model) + SvgText(350, 133, "middle", "z", " font-style=\"italic\"");
  // What GHOST adds: it looks at the state and at C', and takes rows away.
  out +=
      Box(400, 230, 224, "energy of what reaches the output", "sum over tokens, heads, p of (H C')^2", ghost);
  out +=
      Box(200, 230, 168, "score per channel, eq. 4", fmt::format("{} of a layer", s.groups * s.state), ghost);
  out += Box(16, 230, 152, "keep the highest", "masked layer feeds the next", ghost);
  out += Arrow(422, 104, 422, 230, ghost) + Arrow(400, 252, 368, 252, ghost) +
         Arrow(200, 252, 168, 252, ghost) + Arrow(92, 230, 170, 104, ghost) +
         Arrow(150, 230, 300, 104, ghost);
  out += SvgText(16, 300, "start",
                 "blue: the forward pass; orange: measured in the same pass, then the rows of B and C",
                 " font-size=\"11\"") +
         SvgText(16, 316, "start",
                 "of the dropped channels leave W_in and the convolution, and N becomes smaller",
                 " font-size=\"11\"");
  return SvgPicture("What GHOST measures and removes", out, 330);
}

}  // namespace ghost
