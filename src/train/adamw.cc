#include "train/adamw.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"

namespace ghost {

AdamW::AdamW(const ParameterLayout& layout, const AdamWSettings& settings)
    : settings_(settings), size_(layout.size), first_(layout.size), second_(layout.size) {
  constexpr int64_t kPiece = 1 << 14;  // floats
  for (const ParameterRow& row : layout.rows) {
    if (row.frozen) continue;
    const int64_t end = row.offset + row.count;
    for (int64_t begin = row.offset; begin < end; begin += kPiece) {
      pieces_.push_back({begin, std::min(end, begin + kPiece), row.decays});
    }
  }
}

void AdamW::Step(int64_t step, double lr, double gradient_scale, const float* gradients, float* weights) {
  const AdamFactors factors = MakeAdamFactors(settings_, step, lr, gradient_scale);
  const auto update = [&](int64_t number) {
    const Piece& piece = pieces_[static_cast<size_t>(number)];
    AdamFactors f = factors;
    f.keep = piece.decays ? static_cast<float>(1.0 - lr * settings_.weight_decay) : 1.0f;
    AdamUpdate(f, piece.end - piece.begin, gradients + piece.begin, first_.data() + piece.begin,
               second_.data() + piece.begin, weights + piece.begin);
  };
  ParallelFor(static_cast<int64_t>(pieces_.size()), update, /*work=*/size_ * 10);
}

}  // namespace ghost
