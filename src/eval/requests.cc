#include "eval/requests.h"

#include <algorithm>

#include "base/error.h"
#include "text/tokenizer/python_text.h"

namespace ghost {
namespace {

std::vector<int32_t> Encode(const Tokenizer& tokenizer, const RequestRules& rules, std::string_view text) {
  std::vector<int32_t> ids = tokenizer.Encode(text);
  const int32_t bos = tokenizer.bos_id();
  if (rules.add_bos && (ids.empty() || ids.front() != bos)) ids.insert(ids.begin(), bos);
  return ids;
}

// The end of a text, for messages.
std::string Tail(std::string_view text) {
  constexpr size_t kShown = 60;
  if (text.size() <= kShown) return std::string(text);
  size_t begin = text.size() - kShown;
  while ((static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;  // not inside a character
  return "..." + std::string(text.substr(begin));
}

}  // namespace

std::string_view NameOf(BosRule rule) {
  return rule == BosRule::kNone ? "none" : rule == BosRule::kAuto ? "auto" : "always";
}

BosRule BosRuleFromName(std::string_view name) {
  for (const BosRule rule : {BosRule::kNone, BosRule::kAuto, BosRule::kAlways}) {
    if (NameOf(rule) == name) return rule;
  }
  throw Error(ErrorKind::kUsage, "no such rule for BOS",
              {.expected = "none, auto or always", .actual = std::string(name), .setting = "bos"});
}

RequestRules MakeRequestRules(const Tokenizer& tokenizer, int64_t max_length, BosRule bos,
                              int32_t prefix_token) {
  if (max_length < 1) {
    throw Error(ErrorKind::kUsage, "inputs need room for a token",
                {.expected = "at least 1", .actual = std::to_string(max_length), .setting = "max_length"});
  }
  RequestRules rules;
  rules.max_length = max_length;
  const std::vector<int32_t> special = tokenizer.Encode("", /*add_special=*/true);
  const bool starts_with_bos = !special.empty() && special.front() == tokenizer.bos_id();
  rules.add_bos = bos == BosRule::kAlways || (bos == BosRule::kAuto && starts_with_bos);
  if (rules.add_bos && tokenizer.bos_id() < 0) {
    throw Error(ErrorKind::kUsage, "this tokenizer has no BOS token",
                {.hint = "use the rule `none`, or a tokenizer whose tokenizer_config.json names one",
                 .setting = "bos"});
  }
  rules.prefix_token = prefix_token >= 0         ? prefix_token
                       : tokenizer.bos_id() >= 0 ? tokenizer.bos_id()
                                                 : tokenizer.eos_id();
  if (rules.prefix_token < 0 || rules.prefix_token >= tokenizer.vocab_size()) {
    throw Error(ErrorKind::kUsage, "there is no token for an empty context",
                {.expected = "BOS, end-of-text or the id of another token",
                 .actual = prefix_token < 0 ? "a tokenizer without either" : std::to_string(prefix_token),
                 .setting = "prefix_token"});
  }
  return rules;
}

TokenRequest EncodePair(const Tokenizer& tokenizer, const RequestRules& rules, std::string_view context,
                        std::string_view continuation) {
  TokenRequest request;
  if (context.empty()) {
    request.tokens = tokenizer.Encode(continuation);
    if (request.tokens.empty() || request.tokens.front() != rules.prefix_token)
      request.tokens.insert(request.tokens.begin(), rules.prefix_token);
    request.num_targets = static_cast<int64_t>(request.tokens.size()) - 1;
  } else {
    const std::string_view stripped = PythonRStrip(context);
    // Trailing white space belongs to the continuation: tokens like " word" hold it.
    request.tokens = Encode(tokenizer, rules, std::string(context) + std::string(continuation));
    std::vector<int32_t> before = Encode(tokenizer, rules, stripped);
    // A context of white space alone has no token left; the model still has to start from something.
    if (before.empty()) {
      before.push_back(rules.prefix_token);
      request.tokens.insert(request.tokens.begin(), rules.prefix_token);
    }
    request.num_targets = static_cast<int64_t>(request.tokens.size()) - static_cast<int64_t>(before.size());
    // The context as encoded by itself, also where the joint encoding merges across the border.
    if (request.num_targets > 0) std::copy(before.begin(), before.end(), request.tokens.begin());
  }
  if (request.num_targets < 1 || request.num_targets > rules.max_length) {
    throw Error(ErrorKind::kUsage, "continuation cannot be scored",
                {.tensor = "continuation \"" + Tail(continuation) + "\" of context \"" + Tail(context) + "\"",
                 .expected = "1 to " + std::to_string(rules.max_length) + " tokens",
                 .actual = std::to_string(std::max<int64_t>(0, request.num_targets)),
                 .setting = "max_length"});
  }
  const int64_t surplus = static_cast<int64_t>(request.tokens.size()) - (rules.max_length + 1);
  if (surplus > 0) request.tokens.erase(request.tokens.begin(), request.tokens.begin() + surplus);
  return request;
}

std::vector<TokenRequest> RollingWindows(std::vector<int32_t> tokens, const RequestRules& rules) {
  const auto n = static_cast<int64_t>(tokens.size());
  std::vector<TokenRequest> windows;
  // With the prefix in front, targets [done, end) of the text are all[done + 1, end + 1).
  std::vector<int32_t>& all = tokens;
  all.insert(all.begin(), rules.prefix_token);
  for (int64_t done = 0; done < n;) {
    const int64_t scored = std::min(n - done, rules.max_length);
    const int64_t end = done + scored;
    const int64_t begin = std::max<int64_t>(0, end - rules.max_length);
    // The first window alone begins with the prefix; later ones never reach back to it, as `end` is larger
    // than max_length by then.
    windows.push_back({{all.begin() + begin, all.begin() + end + 1}, scored});
    done = end;
  }
  return windows;
}

std::vector<int32_t> EncodePrompt(const Tokenizer& tokenizer, const RequestRules& rules,
                                  std::string_view prompt, int64_t max_tokens) {
  const int64_t room = rules.max_length - max_tokens;
  if (room < 1) {
    throw Error(ErrorKind::kUsage, "no room for a prompt",
                {.expected = "more than " + std::to_string(max_tokens) + " tokens, those to generate",
                 .actual = std::to_string(rules.max_length),
                 .setting = "max_length"});
  }
  std::vector<int32_t> ids = Encode(tokenizer, rules, prompt);
  if (ids.empty()) ids.push_back(rules.prefix_token);
  const int64_t surplus = static_cast<int64_t>(ids.size()) - room;
  if (surplus > 0) ids.erase(ids.begin(), ids.begin() + surplus);
  return ids;
}

}  // namespace ghost
