#include "text/tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

// One of the four Unicode forms, through utf8proc. `text` is valid UTF-8.
void AppendForm(std::string_view text, NormalizerKind kind, std::string& out) {
  int options = UTF8PROC_STABLE;
  options |=
      kind == NormalizerKind::kNfc || kind == NormalizerKind::kNfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (kind == NormalizerKind::kNfkc || kind == NormalizerKind::kNfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                             static_cast<utf8proc_option_t>(options));
  GHOST_CHECK(size >= 0);
  out.append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
  std::free(mapped);
}

bool IsAscii(std::string_view text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

// The first byte at or after `i` whose character is not inert under NFC; `*inert_start` is the start of the
// inert character just before it (or `i`).
size_t FindNotInert(std::string_view text, size_t i, size_t* inert_start) {
  *inert_start = i;
  while (i < text.size()) {
    if (i + 8 <= text.size()) {
      uint64_t word;
      std::memcpy(&word, text.data() + i, 8);
      if ((word & 0x8080808080808080u) == 0) {
        *inert_start = i + 7;
        i += 8;
        continue;
      }
    }
    // All characters below U+0300, lead bytes up to CB, are inert; skip the table for them.
    const auto lead = static_cast<unsigned char>(text[i]);
    const DecodedChar c = DecodeChar(text.data() + i);
    if (lead >= 0xCC && !(CharFlags(c.code) & kNfcInertFlag)) return i;
    *inert_start = i;
    i += c.length;
  }
  return i;
}

// NFC, but only the parts that may change go through utf8proc: each part runs from the inert character before
// it, with which marks may compose, to the next inert one. Returns `text` itself if there are none.
std::string_view ApplyNfc(std::string_view text, std::string& storage) {
  size_t copied = 0;
  size_t inert_start = 0;
  bool changed = false;
  std::string out;
  for (size_t i = FindNotInert(text, 0, &inert_start); i < text.size();
       i = FindNotInert(text, i, &inert_start)) {
    size_t begin = std::max(inert_start, copied);
    if (CharFlags(DecodeChar(text.data() + begin).code) & kNfcAloneFlag) begin = i;
    while (i < text.size()) {
      const DecodedChar c = DecodeChar(text.data() + i);
      if (CharFlags(c.code) & kNfcInertFlag) break;
      i += c.length;
    }
    out.append(text, copied, begin - copied);
    AppendForm(text.substr(begin, i - begin), NormalizerKind::kNfc, out);
    copied = i;
    changed = true;
  }
  if (!changed) return text;
  out.append(text, copied);
  storage = std::move(out);
  return storage;
}

std::string_view Strip(std::string_view text, bool left, bool right) {
  const auto is_space = [](DecodedChar c) { return (CharFlags(c.code) & kCharClassMask) == kSpaceChar; };
  while (left && !text.empty()) {
    const DecodedChar c = DecodeChar(text.data());
    if (!is_space(c)) break;
    text.remove_prefix(c.length);
  }
  while (right && !text.empty()) {
    const DecodedChar c = DecodeCharBefore(text.data() + text.size());
    if (!is_space(c)) break;
    text.remove_suffix(c.length);
  }
  return text;
}

std::string ReplaceAll(std::string_view text, const std::string& pattern, const std::string& content) {
  std::string out;
  size_t copied = 0;
  for (size_t at = text.find(pattern); at != std::string_view::npos; at = text.find(pattern, copied)) {
    out.append(text, copied, at - copied).append(content);
    copied = at + pattern.size();
  }
  return out.append(text, copied);
}

std::string ReplaceAll(std::string_view text, const Regex& regex, const std::string& content) {
  std::string out;
  size_t copied = 0;
  for (const ByteRange& match : regex.FindAll(text)) {
    out.append(text, copied, match.begin - copied).append(content);
    copied = match.end;
  }
  return out.append(text, copied);
}

}  // namespace

Normalizer::Normalizer(std::vector<NormalizerStep> steps, const std::string& file) {
  for (NormalizerStep& step : steps) {
    std::optional<Regex> regex;
    if (step.kind == NormalizerKind::kReplace && step.pattern.is_regex)
      regex.emplace(step.pattern.text, file);
    steps_.push_back({std::move(step), std::move(regex)});
  }
}

std::string_view Normalizer::Apply(std::string_view text, std::string& storage) const {
  for (const Step& step : steps_) {
    std::string next;  // built separately: `text` may be a view into `storage`
    switch (step.spec.kind) {
      case NormalizerKind::kNfc: {
        const std::string_view composed = ApplyNfc(text, next);
        if (composed.data() == text.data()) continue;
        break;
      }
      case NormalizerKind::kNfd:
      case NormalizerKind::kNfkc:
      case NormalizerKind::kNfkd:
        if (IsAscii(text)) continue;
        AppendForm(text, step.spec.kind, next);
        break;
      case NormalizerKind::kPrepend:
        if (text.empty()) continue;
        next.append(step.spec.content).append(text);
        break;
      case NormalizerKind::kReplace:
        next = step.regex ? ReplaceAll(text, *step.regex, step.spec.content)
                          : ReplaceAll(text, step.spec.pattern.text, step.spec.content);
        break;
      case NormalizerKind::kStrip:
        text = Strip(text, step.spec.strip_left, step.spec.strip_right);
        continue;
    }
    storage = std::move(next);
    text = storage;
  }
  return text;
}

}  // namespace ghost
