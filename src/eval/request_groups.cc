#include "eval/request_groups.h"

#include <algorithm>

namespace ghost {

std::vector<size_t> GroupEnds(std::span<const TokenRequest> requests, int64_t group_tokens) {
  std::vector<size_t> ends;
  int64_t tokens = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    const std::span<const int32_t> input = requests[i].input();
    const auto size = static_cast<int64_t>(input.size());
    int64_t shared = 0;
    if (i > 0) {
      const std::span<const int32_t> before = requests[i - 1].input();
      shared = std::ranges::mismatch(before, input).in2 - input.begin();
    }
    // A window of a rolling likelihood has no context, though all may begin with one token.
    const int64_t context = requests[i].first_row() + 1;
    const bool same_context = context > 1 && shared >= context;
    if (tokens >= group_tokens && !same_context) {
      ends.push_back(i);
      tokens = 0;
    }
    tokens += tokens == 0 ? size : size - shared;
  }
  if (!requests.empty()) ends.push_back(requests.size());
  return ends;
}

}  // namespace ghost
