#include "text/tokenizer/decoder.h"

#include <optional>
#include <utility>

#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

constexpr std::string_view kReplacementChar = "\xEF\xBF\xBD";  // U+FFFD

std::string ReplaceAll(std::string_view text, std::string_view pattern, std::string_view content) {
  std::string out;
  size_t copied = 0;
  for (size_t at = text.find(pattern); at != std::string_view::npos; at = text.find(pattern, copied)) {
    out.append(text, copied, at - copied).append(content);
    copied = at + pattern.size();
  }
  return out.append(text, copied);
}

// Without a decoder the reference library joins tokens with spaces.
class JoinStage : public DecodeStage {
 public:
  void Push(std::string token, const Emit& emit) override {
    emit(first_ ? std::move(token) : " " + token);
    first_ = false;
  }
  void Finish(const Emit&) override {}

 private:
  bool first_ = true;
};

// Stand-ins -> bytes -> UTF-8. A token with any other character (an added token) is literal text.
class ByteLevelStage : public DecodeStage {
 public:
  void Push(std::string token, const Emit& emit) override {
    std::optional<std::string> bytes = StandInsToBytes(token);
    pending_ += bytes ? *bytes : token;
    std::string text;
    pending_.erase(0, AppendLossyUtf8(pending_, /*final=*/false, text));
    if (!text.empty()) emit(std::move(text));
  }
  void Finish(const Emit& emit) override {
    std::string text;
    AppendLossyUtf8(pending_, /*final=*/true, text);
    if (!text.empty()) emit(std::move(text));
  }

 private:
  std::string pending_;  // the start of a character
};

class ReplaceStage : public DecodeStage {
 public:
  ReplaceStage(std::string pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void Push(std::string token, const Emit& emit) override { emit(ReplaceAll(token, pattern_, content_)); }
  void Finish(const Emit&) override {}

 private:
  std::string pattern_;
  std::string content_;
};

// A run of <0xNN> tokens is text if all of it is valid UTF-8, else one U+FFFD per token for the whole run. So
// the run is held back until it ends.
class ByteFallbackStage : public DecodeStage {
 public:
  void Push(std::string token, const Emit& emit) override {
    if (const std::optional<char> byte = ParseByteToken(token)) {
      run_.push_back(*byte);
      return;
    }
    Finish(emit);
    emit(std::move(token));
  }
  void Finish(const Emit& emit) override {
    if (run_.empty()) return;
    if (!FindInvalidUtf8(run_)) {
      emit(run_);
    } else {
      for (size_t i = 0; i < run_.size(); ++i) emit(std::string(kReplacementChar));
    }
    run_.clear();
  }

 private:
  static std::optional<char> ParseByteToken(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    int value = 0;
    for (char c : token.substr(3, 2)) {
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                               : -1;
      if (digit < 0) return std::nullopt;
      value = value * 16 + digit;
    }
    return static_cast<char>(value);
  }

  std::string run_;
};

// Removes up to `start` copies of `content` from the front and `stop` from the end: of every token, or of the
// whole text if the tokens were fused before.
class StripStage : public DecodeStage {
 public:
  StripStage(const DecoderStep& step, bool fused)
      : content_(step.content),
        start_(step.start),
        stop_(step.stop),
        fused_(fused),
        start_left_(step.start) {}

  void Push(std::string token, const Emit& emit) override {
    if (!fused_) {
      start_left_ = start_;
      held_.clear();
    }
    size_t cut = 0;
    for (; start_left_ > 0 && std::string_view(token).substr(cut).starts_with(content_); --start_left_) {
      cut += content_.size();
    }
    token.erase(0, cut);
    if (!token.empty()) start_left_ = 0;
    // Holds back what may be the end of the text.
    held_ += token;
    size_t keep = held_.size();
    for (int i = 0; i < stop_ && std::string_view(held_).substr(0, keep).ends_with(content_); ++i) {
      keep -= content_.size();
    }
    std::string certain = held_.substr(0, keep);
    held_.erase(0, keep);
    if (!certain.empty() || !fused_) emit(std::move(certain));
  }
  void Finish(const Emit&) override {}

 private:
  std::string content_;
  int start_;
  int stop_;
  bool fused_;
  int start_left_;
  std::string held_;  // only `content`, at most `stop` times
};

class MetaspaceStage : public DecodeStage {
 public:
  MetaspaceStage(std::string replacement, bool drop_first)
      : replacement_(std::move(replacement)), drop_next_(drop_first) {}
  void Push(std::string token, const Emit& emit) override {
    emit(ReplaceAll(token, replacement_, drop_next_ ? "" : " "));
    drop_next_ = false;
  }
  void Finish(const Emit&) override {}

 private:
  std::string replacement_;
  bool drop_next_;
};

}  // namespace

DecodeChain::DecodeChain(const TokenizerSpec& spec) {
  if (!spec.has_decoder) stages_.push_back(std::make_unique<JoinStage>());
  bool fused = false;
  for (const DecoderStep& step : spec.decoders) {
    switch (step.kind) {
      case DecoderKind::kByteLevel:
        stages_.push_back(std::make_unique<ByteLevelStage>());
        fused = true;
        break;
      case DecoderKind::kReplace:
        stages_.push_back(std::make_unique<ReplaceStage>(step.pattern, step.content));
        break;
      case DecoderKind::kByteFallback:
        stages_.push_back(std::make_unique<ByteFallbackStage>());
        break;
      case DecoderKind::kFuse:
        fused = true;  // output is joined anyway; it only changes what Strip sees
        break;
      case DecoderKind::kStrip:
        stages_.push_back(std::make_unique<StripStage>(step, fused));
        break;
      case DecoderKind::kMetaspace:
        stages_.push_back(std::make_unique<MetaspaceStage>(step.replacement, step.drop_first));
        break;
    }
  }
}

void DecodeChain::Feed(size_t stage, std::string token, std::string& out) {
  if (stage == stages_.size()) {
    out += token;
    return;
  }
  stages_[stage]->Push(std::move(token), [&](std::string next) { Feed(stage + 1, std::move(next), out); });
}

void DecodeChain::Push(std::string_view token, std::string& out) { Feed(0, std::string(token), out); }

void DecodeChain::Finish(std::string& out) {
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    stages_[stage]->Finish([&](std::string next) { Feed(stage + 1, std::move(next), out); });
  }
}

}  // namespace ghost
