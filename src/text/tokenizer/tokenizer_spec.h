// A tokenizer as plain data: read from tokenizer.json (tokenizer_json.h) or from the arrays of a GGUF file.
// Tokenizer builds its tables from it. Names follow the Hugging Face file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ghost {

inline constexpr int32_t kMaxTokenId = (1 << 24) - 1;

struct VocabEntry {
  std::string token;
  int32_t id;
};

// Two adjacent tokens become `merged`. The rank is the position in the list, lowest first.
struct Merge {
  int32_t left;
  int32_t right;
  int32_t merged;
};

// Matched in the text before any other step, leftmost-longest.
struct AddedToken {
  std::string content;
  int32_t id = -1;
  bool special = false;      // Decode with skip_special leaves it out
  bool lstrip = false;       // swallows white space on its left
  bool rstrip = false;       // ... on its right
  bool single_word = false;  // only between non-word characters
  bool normalized = false;   // matched on the normalised text instead of the raw one
};

struct Pattern {
  std::string text;
  bool is_regex = false;
};

enum class NormalizerKind { kNfc, kNfd, kNfkc, kNfkd, kPrepend, kReplace, kStrip };

struct NormalizerStep {
  NormalizerKind kind;
  Pattern pattern;           // kReplace
  std::string content;       // kPrepend: what is put in front of non-empty text; kReplace: the replacement
  bool strip_left = false;   // kStrip
  bool strip_right = false;  // kStrip
};

enum class PreTokenizerKind { kByteLevel, kSplit, kMetaspace, kDigits };
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
enum class PrependScheme { kFirst, kAlways, kNever };

struct PreTokenizerStep {
  PreTokenizerKind kind;
  bool add_prefix_space = false;                         // kByteLevel
  bool use_regex = true;                                 // kByteLevel: split by the GPT-2 pattern
  Pattern pattern;                                       // kSplit
  SplitBehavior behavior = SplitBehavior::kIsolated;     // kSplit
  bool invert = false;                                   // kSplit: the pattern describes the gaps
  std::string replacement;                               // kMetaspace: one character, U+2581 as a rule
  PrependScheme prepend_scheme = PrependScheme::kNever;  // kMetaspace
  bool split = false;                                    // kMetaspace: cut before each replacement
  bool individual_digits = false;                        // kDigits
};

enum class DecoderKind { kByteLevel, kReplace, kByteFallback, kFuse, kStrip, kMetaspace };

struct DecoderStep {
  DecoderKind kind;
  std::string pattern;      // kReplace: a plain string
  std::string content;      // kReplace: the replacement; kStrip: the one character to strip
  int start = 0;            // kStrip: at most this many at the start
  int stop = 0;             // kStrip: ... at the end
  std::string replacement;  // kMetaspace
  bool drop_first = false;  // kMetaspace: the first token loses its replacement characters
};

// What Encode(add_special) puts around the text.
struct PostProcessor {
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;
};

struct TokenizerSpec {
  std::string source;  // the file, for messages only

  std::vector<VocabEntry> vocab;  // ids need not be dense nor sorted
  std::vector<Merge> merges;
  std::vector<AddedToken> added_tokens;
  int32_t unk_id = -1;         // for characters without a token; -1: drop them, as the reference library does
  bool fuse_unk = false;       // neighbouring unknowns become one
  bool byte_fallback = false;  // unknown characters become <0xNN> tokens
  bool ignore_merges = false;  // a word that is a token is not split

  std::vector<NormalizerStep> normalizers;
  std::vector<PreTokenizerStep> pre_tokenizers;  // kByteLevel only as the last step
  bool has_decoder = false;                      // without one Decode joins tokens with spaces
  std::vector<DecoderStep> decoders;
  PostProcessor post_processor;

  int32_t bos_id = -1;
  int32_t eos_id = -1;
};

// Token -> id. Views into the vector it was made of.
using VocabIndex = std::unordered_map<std::string_view, int32_t>;
VocabIndex MakeVocabIndex(const std::vector<VocabEntry>& vocab);

// The merge of two tokens, whose concatenation must be a token too; otherwise Error(kCorrupt) with `file` and
// the number of the merge.
Merge ResolveMerge(const VocabIndex& index, const std::string& left, const std::string& right, size_t rank,
                   const std::string& file);
// The same for the spelling "left right" with exactly one space.
Merge ParseMerge(const VocabIndex& index, const std::string& line, size_t rank, const std::string& file);

// Checks what Tokenizer relies on: ids are unique and within [0, 2^24); strings are valid UTF-8; the ids of
// merges, unk, BOS, EOS and post-processor exist; added tokens agree with the vocabulary; components are in a
// supported order. Throws Error(kCorrupt or kUnsupported) with spec.source as the file.
void ValidateSpec(const TokenizerSpec& spec);

// The tokenizer keys of a GGUF file, see tokenizer.ggml.*.
struct GgufVocabulary {
  std::string model;                 // "gpt2" is the only one supported
  std::string pre;                   // "mpt", "olmo", "gpt-2"; empty means GPT-NeoX
  std::vector<std::string> tokens;   // in id order
  std::vector<int32_t> token_types;  // 1 normal, 3 control, 4 user-defined, ...; empty: all normal
  std::vector<std::string> merges;   // "left right" in rank order
  int32_t bos_id = -1;
  int32_t eos_id = -1;
  bool add_bos = false;
};

// `file` is for messages only. The result is validated.
TokenizerSpec MakeGgufTokenizerSpec(const GgufVocabulary& vocabulary, const std::string& file);

}  // namespace ghost
