#define PCRE2_CODE_UNIT_WIDTH 8

#include "text/tokenizer/regex.h"

#include <pcre2.h>

#include <array>

#include "base/error.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

// PCRE2's \s lacks U+0085 even in Unicode mode, so the class is spelt out.
std::string SpellOutSpace(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out.push_back(pattern[i]);
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's') {
      out.append("\\p{White_Space}");
    } else if (escaped == 'S') {
      out.append("\\P{White_Space}");
    } else {
      out.append({'\\', escaped});
    }
  }
  return out;
}

std::string MessageOf(int code) {
  std::array<unsigned char, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

}  // namespace

Regex::Regex(const std::string& pattern, const std::string& file) : pattern_(pattern), file_(file) {
  const std::string spelt = SpellOutSpace(pattern);
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 100);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelt.data()), spelt.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                                   &offset, context.get());
  if (code == nullptr) {
    throw Error(ErrorKind::kCorrupt, "regular expression does not compile",
                {.file = file_,
                 .tensor = pattern_,
                 .actual = MessageOf(error) + " near byte " + std::to_string(offset)});
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // optional: the interpreter gives the same results, slower
  code_ = std::shared_ptr<const void>(code, [](const void* p) {
    pcre2_code_free(const_cast<pcre2_code*>(static_cast<const pcre2_code*>(p)));
  });
}

std::vector<ByteRange> Regex::FindAll(std::string_view text) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  std::vector<ByteRange> found;
  size_t start = 0;
  while (start <= text.size()) {
    const auto run = [&](uint32_t options) {
      return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), start, options,
                         match.get(), nullptr);
    };
    int result = run(PCRE2_NO_UTF_CHECK);
    // The JIT's 32 KiB of stack are too small for very long matches; the interpreter uses the heap.
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      throw Error(ErrorKind::kUnsupported, "regular expression exceeded its limits on this text",
                  {.file = file_, .tensor = pattern_, .actual = MessageOf(result)});
    }
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match.get());
    // \K inside a look-around can put the start after the end.
    if (range[0] > range[1] || range[0] < start) break;
    found.push_back({range[0], range[1]});
    start = range[1];
    if (range[0] == range[1]) start += start < text.size() ? DecodeChar(text.data() + start).length : 1;
  }
  return found;
}

}  // namespace ghost
