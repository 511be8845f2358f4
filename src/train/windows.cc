#include "train/windows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"

namespace ghost {
namespace {

// Seeds of neighbouring numbers must have nothing in common: the finaliser of MurmurHash3.
uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}

// In [0, count), each equally likely up to 2^-53.
int64_t Below(Rng& rng, int64_t count) {
  return static_cast<int64_t>(rng.Uniform() * static_cast<double>(count));
}

}  // namespace

CorpusWindows::CorpusWindows(std::vector<int32_t> tokens, int64_t length, uint64_t seed)
    : tokens_(std::move(tokens)), length_(length), seed_(seed) {
  GHOST_CHECK(length >= 1);
  const auto count = static_cast<int64_t>(tokens_.size());
  if (count < 2 * length + 1) {
    throw Error(
        ErrorKind::kUsage, "the corpus is too short for one window at every offset",
        {.expected = std::to_string(2 * length + 1) + " tokens or more", .actual = std::to_string(count)});
  }
  order_.resize(static_cast<size_t>((count - length) / length));  // for the largest offset, L - 1
}

void CorpusWindows::Shuffle(int64_t epoch) {
  Rng rng(Mix(seed_, static_cast<uint64_t>(epoch)));
  epoch_ = epoch;
  offset_ = Below(rng, length_);
  std::iota(order_.begin(), order_.end(), 0);
  for (size_t i = order_.size(); i > 1; --i) {
    std::swap(order_[i - 1], order_[static_cast<size_t>(Below(rng, static_cast<int64_t>(i)))]);
  }
}

void CorpusWindows::Fill(int64_t index, std::span<int32_t> tokens) {
  GHOST_CHECK(static_cast<int64_t>(tokens.size()) == length_ + 1 && index >= 0);
  const int64_t epoch = index / windows_per_epoch(), within = index % windows_per_epoch();
  if (epoch != epoch_) Shuffle(epoch);
  const int64_t begin = offset_ + int64_t{order_[static_cast<size_t>(within)]} * length_;
  std::copy_n(tokens_.begin() + begin, length_ + 1, tokens.begin());
}

GeneratedWindows::GeneratedWindows(Generator generator, int32_t separator, uint64_t seed)
    : generator_(std::move(generator)), separator_(separator), seed_(seed) {}

void GeneratedWindows::Fill(int64_t index, std::span<int32_t> tokens) {
  const uint64_t window_seed = Mix(seed_, static_cast<uint64_t>(index));
  size_t at = 0;
  for (uint64_t number = 0; at < tokens.size(); ++number) {
    std::vector<int32_t> document = generator_(Mix(window_seed, number));
    GHOST_CHECK(!document.empty());
    if (separator_ >= 0) document.push_back(separator_);
    const size_t count = std::min(document.size(), tokens.size() - at);
    std::copy_n(document.begin(), count, tokens.begin() + static_cast<ptrdiff_t>(at));
    at += count;
  }
}

MixedWindows::MixedWindows(WindowSource& main, WindowSource& other, double fraction, int64_t others_first)
    : main_(main), other_(other), fraction_(fraction), others_first_(others_first) {
  GHOST_CHECK(fraction >= 0.0 && fraction <= 1.0 && others_first >= 0);
}

void MixedWindows::Fill(int64_t index, std::span<int32_t> tokens) {
  if (index < others_first_) return other_.Fill(index, tokens);
  index -= others_first_;
  // Since then `other` has had floor(index * fraction) windows so far; this one is its own if that number now
  // grows.
  const auto before = static_cast<int64_t>(std::floor(static_cast<double>(index) * fraction_));
  const auto after = static_cast<int64_t>(std::floor(static_cast<double>(index + 1) * fraction_));
  if (after > before) {
    other_.Fill(others_first_ + before, tokens);
  } else {
    main_.Fill(index - before, tokens);
  }
}

}  // namespace ghost
