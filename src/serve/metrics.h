// The server's counters as Prometheus reads them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "serve/served_model.h"

namespace ghost {

// Of requests, besides the engines' own statistics.
struct HttpCounts {
  std::atomic<int64_t> requests = 0, refused = 0, rate_limited = 0, cancelled = 0, too_slow = 0,
                       timed_out = 0;
};

std::string PrometheusText(const std::vector<ServedModel>& models, const HttpCounts& counts);

}  // namespace ghost
