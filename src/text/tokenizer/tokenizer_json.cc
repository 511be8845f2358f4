#include "text/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

[[noreturn]] void Corrupt(const std::string& file, const std::string& at, const std::string& expected,
                          const Json& found) {
  std::string actual = found.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (actual.size() > 80) actual = actual.substr(0, 80) + "...";
  throw Error(ErrorKind::kCorrupt, "tokenizer file is malformed",
              {.file = file, .tensor = at, .expected = expected, .actual = actual});
}

[[noreturn]] void Unsupported(const std::string& file, const std::string& component,
                              const std::string& found) {
  throw Error(ErrorKind::kUnsupported, "tokenizer component is not supported",
              {.file = file, .tensor = component, .actual = found});
}

const Json& Null() {
  static const Json null;
  return null;
}

// The value under `key`, null when absent.
const Json& Get(const Json& object, const std::string& key) {
  const auto it = object.find(key);
  return it == object.end() ? Null() : *it;
}

const Json& GetObject(const Json& object, const std::string& key, const std::string& file) {
  const Json& value = Get(object, key);
  if (!value.is_object()) Corrupt(file, key, "an object", value);
  return value;
}

const Json& GetArray(const Json& object, const std::string& key, const std::string& file) {
  const Json& value = Get(object, key);
  if (!value.is_array()) Corrupt(file, key, "an array", value);
  return value;
}

std::string GetString(const Json& object, const std::string& key, const std::string& file) {
  const Json& value = Get(object, key);
  if (!value.is_string()) Corrupt(file, key, "a string", value);
  return value.get<std::string>();
}

std::string GetChar(const Json& object, const std::string& key, const std::string& file) {
  std::string text = GetString(object, key, file);
  if (text.empty() || static_cast<size_t>(DecodeChar(text.data()).length) != text.size()) {
    Corrupt(file, key, "one character", Get(object, key));
  }
  return text;
}

int32_t ToId(const Json& value, const std::string& at, const std::string& file) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(kMaxTokenId)) {
    Corrupt(file, at, "a token id from 0 to " + std::to_string(kMaxTokenId), value);
  }
  return value.get<int32_t>();
}

// {"String": "..."} or {"Regex": "..."}; a bare string is an old spelling of the first.
Pattern ParsePattern(const Json& object, const std::string& component, const std::string& file) {
  const Json& pattern = Get(object, "pattern");
  const std::string at = component + ".pattern";
  Pattern parsed;
  if (pattern.is_string()) {
    parsed.text = pattern.get<std::string>();
  } else if (pattern.is_object() && pattern.size() == 1 && Get(pattern, "String").is_string()) {
    parsed.text = pattern["String"].get<std::string>();
  } else if (pattern.is_object() && pattern.size() == 1 && Get(pattern, "Regex").is_string()) {
    parsed = {pattern["Regex"].get<std::string>(), /*is_regex=*/true};
  } else {
    Corrupt(file, at, "{\"String\": ...} or {\"Regex\": ...}", pattern);
  }
  if (parsed.text.empty()) Corrupt(file, at, "a pattern that is not empty", pattern);
  return parsed;
}

// Calls visit(component, type) for a component, or for each inside a Sequence whose list is called `list`.
template <class Visit>
void ForEachComponent(const Json& component, const std::string& name, const char* list,
                      const std::string& file, const Visit& visit) {
  if (component.is_null()) return;
  if (!component.is_object()) Corrupt(file, name, "an object or null", component);
  const std::string type = GetString(component, "type", file);
  if (type != "Sequence") {
    visit(component, type);
    return;
  }
  for (const Json& inner : GetArray(component, list, file)) {
    if (inner.is_null()) Corrupt(file, name, "an object", inner);
    ForEachComponent(inner, name, list, file, visit);
  }
}

void ParseModel(const Json& model, const std::string& file, TokenizerSpec& spec) {
  // Files of the first versions have no type; only BPE has both a vocabulary and merges.
  const std::string type = JsonString(model, "type", "BPE", file);
  if (type != "BPE") Unsupported(file, "model", type);
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (const std::string affix = JsonString(model, key, "", file); !affix.empty()) {
      Unsupported(file, std::string("model.") + key, affix);
    }
  }
  if (JsonDouble(model, "dropout", 0, file) != 0) Unsupported(file, "model.dropout", model["dropout"].dump());
  spec.fuse_unk = JsonBool(model, "fuse_unk", false, file);
  spec.byte_fallback = JsonBool(model, "byte_fallback", false, file);
  spec.ignore_merges = JsonBool(model, "ignore_merges", false, file);

  const Json& vocab = GetObject(model, "vocab", file);
  spec.vocab.reserve(vocab.size());
  for (const auto& [token, id] : vocab.items()) {
    spec.vocab.push_back({token, ToId(id, "model.vocab: \"" + token + "\"", file)});
  }
  const VocabIndex index = MakeVocabIndex(spec.vocab);
  const Json& merges = GetArray(model, "merges", file);
  spec.merges.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const Json& merge = merges[rank];
    if (merge.is_string()) {
      spec.merges.push_back(ParseMerge(index, merge.get_ref<const std::string&>(), rank, file));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      spec.merges.push_back(ResolveMerge(index, merge[0].get_ref<const std::string&>(),
                                         merge[1].get_ref<const std::string&>(), rank, file));
    } else {
      Corrupt(file, "model.merges[" + std::to_string(rank) + "]", "\"left right\" or [\"left\", \"right\"]",
              merge);
    }
  }
  const std::string unk = JsonString(model, "unk_token", "", file);
  if (!unk.empty()) {
    const auto it = index.find(unk);
    if (it == index.end()) Corrupt(file, "model.unk_token", "a token of the vocabulary", model["unk_token"]);
    spec.unk_id = it->second;
  }
}

void ParseAddedTokens(const Json& root, const std::string& file, TokenizerSpec& spec) {
  if (Get(root, "added_tokens").is_null()) return;
  for (const Json& token : GetArray(root, "added_tokens", file)) {
    if (!token.is_object()) Corrupt(file, "added_tokens", "objects", token);
    AddedToken added;
    added.content = GetString(token, "content", file);
    added.id = ToId(Get(token, "id"), "added_tokens: \"" + added.content + "\"", file);
    added.special = JsonBool(token, "special", false, file);
    added.lstrip = JsonBool(token, "lstrip", false, file);
    added.rstrip = JsonBool(token, "rstrip", false, file);
    added.single_word = JsonBool(token, "single_word", false, file);
    added.normalized = JsonBool(token, "normalized", !added.special, file);
    spec.added_tokens.push_back(std::move(added));
  }
}

void ParseNormalizers(const Json& root, const std::string& file, TokenizerSpec& spec) {
  ForEachComponent(Get(root, "normalizer"), "normalizer", "normalizers", file,
                   [&](const Json& step, const std::string& type) {
                     constexpr std::pair<const char*, NormalizerKind> kForms[] = {
                         {"NFC", NormalizerKind::kNfc},
                         {"NFD", NormalizerKind::kNfd},
                         {"NFKC", NormalizerKind::kNfkc},
                         {"NFKD", NormalizerKind::kNfkd}};
                     for (const auto& [name, kind] : kForms) {
                       if (type == name) {
                         spec.normalizers.push_back({.kind = kind});
                         return;
                       }
                     }
                     NormalizerStep parsed{.kind = NormalizerKind::kPrepend};
                     if (type == "Prepend") {
                       parsed.content = GetString(step, "prepend", file);
                     } else if (type == "Replace") {
                       parsed.kind = NormalizerKind::kReplace;
                       parsed.pattern = ParsePattern(step, "normalizer", file);
                       parsed.content = GetString(step, "content", file);
                     } else if (type == "Strip") {
                       parsed.kind = NormalizerKind::kStrip;
                       parsed.strip_left = JsonBool(step, "strip_left", false, file);
                       parsed.strip_right = JsonBool(step, "strip_right", false, file);
                     } else {
                       Unsupported(file, "normalizer", type);
                     }
                     spec.normalizers.push_back(std::move(parsed));
                   });
}

SplitBehavior ParseBehavior(const Json& step, const std::string& file) {
  constexpr std::pair<const char*, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  const std::string behavior = GetString(step, "behavior", file);
  for (const auto& [name, kind] : kBehaviors) {
    if (behavior == name) return kind;
  }
  Corrupt(file, "pre_tokenizer.behavior",
          "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous", step["behavior"]);
}

// Newer files have prepend_scheme; older ones add_prefix_space, true or false.
PrependScheme ParsePrependScheme(const Json& step, const std::string& component, const std::string& file) {
  const bool prefix = JsonBool(step, "add_prefix_space", true, file);
  const std::string scheme = JsonString(step, "prepend_scheme", prefix ? "always" : "never", file);
  if (!prefix && scheme != "never") {
    Corrupt(file, component + ".prepend_scheme", "\"never\", as add_prefix_space is false",
            step["prepend_scheme"]);
  }
  if (scheme == "always") return PrependScheme::kAlways;
  if (scheme == "first") return PrependScheme::kFirst;
  if (scheme == "never") return PrependScheme::kNever;
  Corrupt(file, component + ".prepend_scheme", "always, first or never", step["prepend_scheme"]);
}

void ParsePreTokenizers(const Json& root, const std::string& file, TokenizerSpec& spec) {
  ForEachComponent(Get(root, "pre_tokenizer"), "pre_tokenizer", "pretokenizers", file,
                   [&](const Json& step, const std::string& type) {
                     PreTokenizerStep parsed{.kind = PreTokenizerKind::kByteLevel};
                     if (type == "ByteLevel") {
                       parsed.add_prefix_space = JsonBool(step, "add_prefix_space", true, file);
                       parsed.use_regex = JsonBool(step, "use_regex", true, file);
                     } else if (type == "Split") {
                       parsed.kind = PreTokenizerKind::kSplit;
                       parsed.pattern = ParsePattern(step, "pre_tokenizer", file);
                       parsed.behavior = ParseBehavior(step, file);
                       parsed.invert = JsonBool(step, "invert", false, file);
                     } else if (type == "Metaspace") {
                       parsed.kind = PreTokenizerKind::kMetaspace;
                       parsed.replacement = GetChar(step, "replacement", file);
                       parsed.prepend_scheme = ParsePrependScheme(step, "pre_tokenizer", file);
                       parsed.split = JsonBool(step, "split", true, file);
                     } else if (type == "Digits") {
                       parsed.kind = PreTokenizerKind::kDigits;
                       parsed.individual_digits = JsonBool(step, "individual_digits", false, file);
                     } else {
                       Unsupported(file, "pre_tokenizer", type);
                     }
                     spec.pre_tokenizers.push_back(std::move(parsed));
                   });
}

void ParseDecoders(const Json& root, const std::string& file, TokenizerSpec& spec) {
  const Json& decoder = Get(root, "decoder");
  spec.has_decoder = !decoder.is_null();
  ForEachComponent(decoder, "decoder", "decoders", file, [&](const Json& step, const std::string& type) {
    DecoderStep parsed{.kind = DecoderKind::kByteLevel};
    if (type == "Replace") {
      parsed.kind = DecoderKind::kReplace;
      const Pattern pattern = ParsePattern(step, "decoder", file);
      if (pattern.is_regex) Unsupported(file, "decoder", "Replace with a regular expression");
      parsed.pattern = pattern.text;
      parsed.content = GetString(step, "content", file);
    } else if (type == "ByteFallback") {
      parsed.kind = DecoderKind::kByteFallback;
    } else if (type == "Fuse") {
      parsed.kind = DecoderKind::kFuse;
    } else if (type == "Strip") {
      parsed.kind = DecoderKind::kStrip;
      parsed.content = GetChar(step, "content", file);
      parsed.start = static_cast<int>(JsonInt(step, "start", 0, 0, 1 << 20, file));
      parsed.stop = static_cast<int>(JsonInt(step, "stop", 0, 0, 1 << 20, file));
    } else if (type == "Metaspace") {
      parsed.kind = DecoderKind::kMetaspace;
      parsed.replacement = GetChar(step, "replacement", file);
      parsed.drop_first = ParsePrependScheme(step, "decoder", file) != PrependScheme::kNever;
    } else if (type != "ByteLevel") {
      Unsupported(file, "decoder", type);
    }
    spec.decoders.push_back(std::move(parsed));
  });
}

// TemplateProcessing for one text: special tokens, then the text ("Sequence" A), then more of them.
void ParseTemplate(const Json& processor, const std::string& file, PostProcessor& out) {
  const Json& special = Get(processor, "special_tokens");
  bool seen_text = false;
  std::vector<int32_t> prefix;
  for (const Json& item : GetArray(processor, "single", file)) {
    if (item.is_object() && item.contains("Sequence")) {
      if (seen_text) Unsupported(file, "post_processor", "a template with the text twice");
      seen_text = true;
      continue;
    }
    const std::string name = GetString(GetObject(item, "SpecialToken", file), "id", file);
    const Json& token = special.is_object() ? Get(special, name) : Null();
    if (!token.is_object())
      Corrupt(file, "post_processor.special_tokens", "an entry \"" + name + "\"", special);
    for (const Json& id : GetArray(token, "ids", file)) {
      (seen_text ? out.suffix : prefix).push_back(ToId(id, "post_processor.special_tokens", file));
    }
  }
  if (!seen_text)
    Corrupt(file, "post_processor.single", "a template with the text in it", processor["single"]);
  out.prefix.insert(out.prefix.begin(), prefix.begin(), prefix.end());
}

// ["<s>", 0] of BertProcessing and RobertaProcessing.
int32_t ParseTokenPair(const Json& processor, const char* key, const std::string& file) {
  const Json& pair = GetArray(processor, key, file);
  if (pair.size() != 2 || !pair[0].is_string()) Corrupt(file, key, "[token, id]", pair);
  return ToId(pair[1], key, file);
}

void ParsePostProcessors(const Json& root, const std::string& file, TokenizerSpec& spec) {
  PostProcessor& out = spec.post_processor;
  ForEachComponent(Get(root, "post_processor"), "post_processor", "processors", file,
                   [&](const Json& processor, const std::string& type) {
                     if (type == "TemplateProcessing") {
                       ParseTemplate(processor, file, out);
                     } else if (type == "RobertaProcessing" || type == "BertProcessing") {
                       out.prefix.insert(out.prefix.begin(), ParseTokenPair(processor, "cls", file));
                       out.suffix.push_back(ParseTokenPair(processor, "sep", file));
                     } else if (type != "ByteLevel") {  // ByteLevel only moves offsets
                       Unsupported(file, "post_processor", type);
                     }
                   });
}

int32_t FindSpecial(const TokenizerSpec& spec, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) {
    for (const AddedToken& added : spec.added_tokens) {
      if (added.special && added.content == name) return added.id;
    }
  }
  return -1;
}

// tokenizer.json itself does not name the BOS and EOS tokens.
void GuessBosAndEos(TokenizerSpec& spec) {
  spec.bos_id = FindSpecial(spec, {"<s>", "<|begin_of_text|>", "<bos>", "<|endoftext|>"});
  spec.eos_id = FindSpecial(spec, {"</s>", "<|end_of_text|>", "<eos>", "<|endoftext|>"});
  if (!spec.post_processor.prefix.empty()) spec.bos_id = spec.post_processor.prefix[0];
}

}  // namespace

TokenizerSpec ParseTokenizerJson(std::string_view text, const std::string& file) {
  const Json root = ParseJson(text, file);
  if (!root.is_object()) Corrupt(file, "", "an object", root);
  TokenizerSpec spec;
  spec.source = file;
  ParseModel(GetObject(root, "model", file), file, spec);
  ParseAddedTokens(root, file, spec);
  ParseNormalizers(root, file, spec);
  ParsePreTokenizers(root, file, spec);
  ParseDecoders(root, file, spec);
  ParsePostProcessors(root, file, spec);
  GuessBosAndEos(spec);
  return spec;
}

void ApplyTokenizerConfig(std::string_view text, const std::string& file, TokenizerSpec& spec) {
  const Json root = ParseJson(text, file);
  if (!root.is_object()) Corrupt(file, "", "an object", root);
  const auto apply = [&](const char* key, int32_t& id) {
    if (!root.contains(key)) return;
    const Json& value = root[key];
    if (value.is_null()) {
      id = -1;
      return;
    }
    const std::string name =
        value.is_object() ? GetString(value, "content", file) : GetString(root, key, file);
    for (const VocabEntry& entry : spec.vocab) {
      if (entry.token == name) id = entry.id;
    }
    for (const AddedToken& added : spec.added_tokens) {
      if (added.content == name) id = added.id;
    }
  };
  apply("bos_token", spec.bos_id);
  apply("eos_token", spec.eos_id);
}

}  // namespace ghost
