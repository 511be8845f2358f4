// Regular expressions of tokenizer files, run by PCRE2 with its JIT compiler.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ghost {

struct ByteRange {
  size_t begin;
  size_t end;
};

// A compiled pattern. Immutable; threads may share it. Unicode classes throughout; \s is White_Space, ^ and $
// match at lines, as in the engine the files were written for (Oniguruma).
class Regex {
 public:
  // A pattern that does not compile is an Error(kCorrupt) naming `file` and the place in the pattern.
  Regex(const std::string& pattern, const std::string& file);

  // All matches from left to right, not overlapping, empty ones included. `text` must be valid UTF-8. A match
  // with runaway backtracking is an Error(kUnsupported).
  std::vector<ByteRange> FindAll(std::string_view text) const;

 private:
  std::string pattern_;
  std::string file_;
  std::shared_ptr<const void> code_;  // pcre2_code; hidden so that users need no PCRE2 header
};

}  // namespace ghost
