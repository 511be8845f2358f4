#include "serve/metrics.h"

#include <fmt/format.h>

#include "base/memory_usage.h"

namespace ghost {
namespace {

struct ModelMetric {
  const char* name;
  const char* type;
  const char* help;
  int64_t BatcherStats::*value;
};
constexpr ModelMetric kModelMetrics[] = {
    {"prompt_tokens_total", "counter", "Prompt tokens computed.", &BatcherStats::prompt_tokens},
    {"cached_tokens_total", "counter", "Prompt tokens taken from kept states.", &BatcherStats::cached_tokens},
    {"generated_tokens_total", "counter", "Tokens generated.", &BatcherStats::generated_tokens},
    {"passes_total", "counter", "Passes over the model.", &BatcherStats::passes},
    {"sequences_ended_total", "counter", "Sequences that ended.", &BatcherStats::ended},
    {"prefix_hits_total", "counter", "Sequences that continued a kept state.", &BatcherStats::prefix_hits},
    {"prefix_misses_total", "counter", "Sequences that started from nothing.", &BatcherStats::prefix_misses},
    {"sequences_active", "gauge", "Sequences in the batch.", &BatcherStats::active},
    {"sequences_queued", "gauge", "Sequences that wait for a place.", &BatcherStats::queued},
    {"state_bytes", "gauge", "State memory reserved by active sequences.", &BatcherStats::state_bytes},
    {"prefix_bytes", "gauge", "Memory of kept prefix states.", &BatcherStats::prefix_bytes},
    {"prefix_entries", "gauge", "Kept prefix states.", &BatcherStats::prefix_entries},
};

struct RequestMetric {
  const char* name;
  const char* help;
  std::atomic<int64_t> HttpCounts::*value;
};
constexpr RequestMetric kRequestMetrics[] = {
    {"requests_total", "HTTP requests.", &HttpCounts::requests},
    {"requests_refused_total", "Requests answered with a status of 400 to 499, but for 429.",
     &HttpCounts::refused},
    {"requests_rate_limited_total", "Requests answered with 429.", &HttpCounts::rate_limited},
    {"requests_cancelled_total", "Requests whose client left.", &HttpCounts::cancelled},
    {"requests_too_slow_total", "Streams whose client did not read.", &HttpCounts::too_slow},
    {"requests_timed_out_total", "Requests that took too long.", &HttpCounts::timed_out},
};

// In a label, between quotes.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string Head(const char* name, const char* type, const char* help) {
  return fmt::format("# HELP ghost_{} {}\n# TYPE ghost_{} {}\n", name, help, name, type);
}

}  // namespace

std::string PrometheusText(const std::vector<ServedModel>& models, const HttpCounts& counts) {
  std::string text;
  for (const RequestMetric& metric : kRequestMetrics) {
    text += Head(metric.name, "counter", metric.help);
    text += fmt::format("ghost_{} {}\n", metric.name, (counts.*metric.value).load());
  }
  std::vector<BatcherStats> stats;
  for (const ServedModel& model : models) stats.push_back(model.engine->stats());
  for (const ModelMetric& metric : kModelMetrics) {
    text += Head(metric.name, metric.type, metric.help);
    for (size_t i = 0; i < models.size(); ++i)
      text += fmt::format("ghost_{}{{model=\"{}\"}} {}\n", metric.name, Escaped(models[i].name),
                          stats[i].*metric.value);
  }
  text += Head("anonymous_memory_bytes", "gauge", "Resident memory that is not a mapped file.");
  return text + fmt::format("ghost_anonymous_memory_bytes {}\n", AnonymousRssBytes());
}

}  // namespace ghost
