// Log-probabilities of tokens, as requests ask for them.
#pragma once

#include <cstdint>
#include <span>

#include "serve/job.h"

namespace ghost {

// Of the distribution over all logits: token `chosen`, and the `top` most likely ids below `limit` (as many
// as there are). Padding at the end of a vocabulary takes part in the distribution but has no text to list.
TokenScores ScoreToken(std::span<const float> logits, int32_t chosen, int top, int32_t limit);

}  // namespace ghost
