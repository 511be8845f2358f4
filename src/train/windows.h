// What a trainer reads: windows of tokens by number. The same number always gives the same tokens, so that a
// run can be resumed by its step alone.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ghost {

class WindowSource {
 public:
  virtual ~WindowSource() = default;
  // Fills `tokens` with window number `index` = 0, 1, 2, ... All calls ask for the same length: the L tokens
  // a model sees and the one after them. One thread uses a source at a time.
  virtual void Fill(int64_t index, std::span<int32_t> tokens) = 0;
};

// The windows of one long token stream, in a new random order every epoch, without replacement. Windows are L
// apart and start at an offset that changes with the epoch, so that their borders move.
class CorpusWindows final : public WindowSource {
 public:
  // Fewer tokens than 2 L + 1 is Error(kUsage).
  CorpusWindows(std::vector<int32_t> tokens, int64_t length, uint64_t seed);
  void Fill(int64_t index, std::span<int32_t> tokens) override;

  int64_t windows_per_epoch() const { return static_cast<int64_t>(order_.size()); }

 private:
  void Shuffle(int64_t epoch);

  std::vector<int32_t> tokens_;
  int64_t length_;
  uint64_t seed_;
  int64_t epoch_ = -1, offset_ = 0;
  std::vector<int32_t> order_;  // of the windows of the epoch at hand
};

// Windows packed from documents that a generator makes, each from its own seed; the last one is cut.
class GeneratedWindows final : public WindowSource {
 public:
  // Gives the tokens of a document, at least one. `separator`, if not negative, goes behind every document.
  using Generator = std::function<std::vector<int32_t>(uint64_t seed)>;
  GeneratedWindows(Generator generator, int32_t separator, uint64_t seed);
  void Fill(int64_t index, std::span<int32_t> tokens) override;

 private:
  Generator generator_;
  int32_t separator_;
  uint64_t seed_;
};

// After `others_first` windows from `other` alone, a share `fraction` of them, evenly spread, and the rest
// from `main`; each gives its own in order.
class MixedWindows final : public WindowSource {
 public:
  // Both must outlive it; fraction in 0..1.
  MixedWindows(WindowSource& main, WindowSource& other, double fraction, int64_t others_first = 0);
  void Fill(int64_t index, std::span<int32_t> tokens) override;

 private:
  WindowSource &main_, &other_;
  double fraction_;
  int64_t others_first_;
};

}  // namespace ghost
