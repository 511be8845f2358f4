#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/interrupt.h"

namespace ghost {
namespace {

bool quiet_output = false;

constexpr double kTerminalInterval = 0.1;  // seconds between redraws
constexpr double kPlainInterval = 5.0;     // seconds between lines in a log
constexpr int kBarWidth = 24;

std::string Clock(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

void SetQuiet(bool quiet) { quiet_output = quiet; }

Progress::Progress(std::string label, std::string unit, int64_t begun)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      begun_(begun),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (line_open_) std::fputc('\n', stderr);
}

void Progress::Update(int64_t done, int64_t total, const std::string& note) {
  ThrowIfInterrupted();
  if (quiet_output || total <= 0) return;
  const double seconds = since_start_.Seconds();
  const bool last = done >= total;
  if (!last && seconds - last_shown_ < (terminal_ ? kTerminalInterval : kPlainInterval)) return;
  last_shown_ = seconds;
  const double rate = seconds > 0 ? static_cast<double>(done - begun_) / seconds : 0.0;
  const double left = rate > 0 ? static_cast<double>(total - done) / rate : 0.0;
  const std::string numbers =
      fmt::format("{}/{} {}  {:.3g}/s  {} {}{}{}", done, total, unit_, rate, last ? "took" : "left",
                  Clock(last ? seconds : left), note.empty() ? "" : "  ", note);
  if (!terminal_) {
    fmt::print(stderr, "{}: {}\n", label_, numbers);
    return;
  }
  const int filled = static_cast<int>(kBarWidth * std::min(done, total) / total);
  fmt::print(stderr, "\r{} [{}{}] {}\x1b[K", label_, std::string(static_cast<size_t>(filled), '#'),
             std::string(static_cast<size_t>(kBarWidth - filled), '.'), numbers);
  std::fflush(stderr);
  line_open_ = !last;
  if (last) std::fputc('\n', stderr);
}

}  // namespace ghost
