#include "text/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include "text/tokenizer/gpt2_split.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

using Words = std::vector<std::string_view>;

// A part that the pattern matches, or the gap between two matches.
struct Stretch {
  size_t begin;
  size_t end;
  bool is_match;
};

std::vector<ByteRange> FindString(std::string_view text, std::string_view pattern) {
  std::vector<ByteRange> found;
  if (pattern.empty()) return found;
  for (size_t at = text.find(pattern); at != std::string_view::npos;
       at = text.find(pattern, at + pattern.size())) {
    found.push_back({at, at + pattern.size()});
  }
  return found;
}

std::vector<ByteRange> FindDigits(std::string_view text) {
  std::vector<ByteRange> found;
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = DecodeChar(text.data() + i);
    if ((CharFlags(c.code) & kCharClassMask) == kNumberChar) found.push_back({i, i + c.length});
    i += c.length;
  }
  return found;
}

std::vector<Stretch> AddGaps(const std::vector<ByteRange>& matches, size_t size, bool invert) {
  std::vector<Stretch> all;
  size_t done = 0;
  for (const ByteRange& match : matches) {
    if (done != match.begin) all.push_back({done, match.begin, invert});
    all.push_back({match.begin, match.end, !invert});
    done = match.end;
  }
  if (done != size) all.push_back({done, size, invert});
  return all;
}

// Joins each match to the part before it, unless that is a match too.
std::vector<Stretch> MergeWithPrevious(const std::vector<Stretch>& all) {
  std::vector<Stretch> out;
  bool after_match = false;
  for (const Stretch& s : all) {
    if (s.is_match && !after_match && !out.empty()) {
      out.back().end = s.end;
    } else {
      out.push_back(s);
    }
    after_match = s.is_match;
  }
  return out;
}

std::vector<Stretch> MergeWithNext(const std::vector<Stretch>& all) {
  std::vector<Stretch> out;
  bool before_match = false;
  for (auto s = all.rbegin(); s != all.rend(); ++s) {
    if (s->is_match && !before_match && !out.empty()) {
      out.back().begin = s->begin;
    } else {
      out.push_back(*s);
    }
    before_match = s->is_match;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Stretch> MergeAlike(const std::vector<Stretch>& all) {
  std::vector<Stretch> out;
  for (const Stretch& s : all) {
    if (!out.empty() && out.back().is_match == s.is_match) {
      out.back().end = s.end;
    } else {
      out.push_back(s);
    }
  }
  return out;
}

void AppendStretches(std::string_view text, std::vector<Stretch> all, SplitBehavior behavior, Words& words) {
  if (behavior == SplitBehavior::kMergedWithPrevious) all = MergeWithPrevious(all);
  if (behavior == SplitBehavior::kMergedWithNext) all = MergeWithNext(all);
  if (behavior == SplitBehavior::kContiguous) all = MergeAlike(all);
  for (const Stretch& s : all) {
    if (s.begin == s.end || (behavior == SplitBehavior::kRemoved && s.is_match)) continue;
    words.push_back(text.substr(s.begin, s.end - s.begin));
  }
}

void SplitMetaspace(std::string_view text, bool at_start, const PreTokenizerStep& step,
                    std::deque<std::string>& storage, Words& words) {
  std::string& out = storage.emplace_back();
  const bool wanted = step.prepend_scheme == PrependScheme::kAlways ||
                      (step.prepend_scheme == PrependScheme::kFirst && at_start);
  if (wanted && !text.starts_with(' ') && !text.starts_with(step.replacement)) out.append(step.replacement);
  for (char c : text) {
    if (c == ' ') {
      out.append(step.replacement);
    } else {
      out.push_back(c);
    }
  }
  if (!step.split) {
    words.push_back(out);
    return;
  }
  AppendStretches(out, AddGaps(FindString(out, step.replacement), out.size(), /*invert=*/false),
                  SplitBehavior::kMergedWithNext, words);
}

void SplitByteLevel(std::string_view text, const PreTokenizerStep& step, std::deque<std::string>& storage,
                    Words& words) {
  if (step.add_prefix_space && !text.starts_with(' ')) {
    text = storage.emplace_back(" ").append(text);
  }
  if (!step.use_regex) {
    words.push_back(text);
    return;
  }
  Gpt2Splitter splitter(text);
  for (std::string_view word; splitter.Next(word);) words.push_back(word);
}

}  // namespace

PreTokenizer::PreTokenizer(std::vector<PreTokenizerStep> steps, const std::string& file) {
  byte_level_ = !steps.empty() && steps.back().kind == PreTokenizerKind::kByteLevel;
  is_plain_gpt2_ = steps.size() == 1 && byte_level_ && steps[0].use_regex && !steps[0].add_prefix_space;
  for (PreTokenizerStep& step : steps) {
    std::optional<Regex> regex;
    if (step.kind == PreTokenizerKind::kSplit && step.pattern.is_regex)
      regex.emplace(step.pattern.text, file);
    steps_.push_back({std::move(step), std::move(regex)});
  }
}

std::vector<std::string_view> PreTokenizer::Split(std::string_view text, bool at_start,
                                                  std::deque<std::string>& storage) const {
  Words words;
  if (!text.empty()) words.push_back(text);
  for (const Step& step : steps_) {
    Words next;
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string_view word = words[i];
      switch (step.spec.kind) {
        case PreTokenizerKind::kByteLevel:
          SplitByteLevel(word, step.spec, storage, next);
          break;
        case PreTokenizerKind::kSplit: {
          const std::vector<ByteRange> matches =
              step.regex ? step.regex->FindAll(word) : FindString(word, step.spec.pattern.text);
          AppendStretches(word, AddGaps(matches, word.size(), step.spec.invert), step.spec.behavior, next);
          break;
        }
        case PreTokenizerKind::kMetaspace:
          SplitMetaspace(word, at_start && i == 0, step.spec, storage, next);
          break;
        case PreTokenizerKind::kDigits:
          AppendStretches(word, AddGaps(FindDigits(word), word.size(), /*invert=*/false),
                          step.spec.individual_digits ? SplitBehavior::kIsolated : SplitBehavior::kContiguous,
                          next);
          break;
      }
    }
    words = std::move(next);
  }
  return words;
}

}  // namespace ghost
