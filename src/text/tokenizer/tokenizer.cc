#include "text/tokenizer/tokenizer.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/bpe.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/gpt2_split.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/tokenizer_json.h"
#include "text/tokenizer/tokenizer_spec.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;

TokenizerSpec Validated(TokenizerSpec spec) {
  ValidateSpec(spec);
  return spec;
}

}  // namespace

struct Tokenizer::Impl {
  // The working data of an Encode call.
  struct Call {
    BpeSession bpe;
    std::deque<std::string> storage;  // owns every text the words are views of
    std::vector<int32_t> ids;
  };

  explicit Impl(TokenizerSpec checked);

  void EncodePiece(std::string_view text, bool at_start, Call& call) const;
  void EncodeWords(std::string_view text, bool at_start, Call& call) const;
  // The spelling of `id`, which must have one.
  const std::string& TokenOf(int32_t id) const;

  TokenizerSpec spec;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  BpeModel bpe;
  AddedTokenMatcher raw_matcher;           // added tokens looked for in the text as given
  AddedTokenMatcher normalized_matcher;    // ... in the normalised text
  std::vector<const std::string*> tokens;  // by id, null: no such token
  std::vector<bool> special;               // by id
  std::unordered_map<std::string_view, int32_t> token_ids;
};

Tokenizer::Impl::Impl(TokenizerSpec checked)
    : spec(Validated(std::move(checked))),
      normalizer(spec.normalizers, spec.source),
      pre_tokenizer(spec.pre_tokenizers, spec.source),
      bpe(spec, pre_tokenizer.byte_level()) {
  int32_t size = 0;
  for (const VocabEntry& entry : spec.vocab) size = std::max(size, entry.id + 1);
  for (const AddedToken& added : spec.added_tokens) size = std::max(size, added.id + 1);
  tokens.resize(size);
  special.resize(size);
  token_ids.reserve(spec.vocab.size() + spec.added_tokens.size());
  for (const VocabEntry& entry : spec.vocab) {
    tokens[entry.id] = &entry.token;
    token_ids.emplace(entry.token, entry.id);
  }
  for (const AddedToken& added : spec.added_tokens) {
    tokens[added.id] = &added.content;
    special[added.id] = special[added.id] || added.special;
    token_ids.emplace(added.content, added.id);
    std::string storage;
    if (added.normalized) {
      normalized_matcher.Add(added, std::string(normalizer.Apply(added.content, storage)));
    } else {
      raw_matcher.Add(added, added.content);
    }
  }
}

const std::string& Tokenizer::Impl::TokenOf(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= tokens.size() || tokens[id] == nullptr) {
    throw Error(ErrorKind::kUsage, "token id is not in the vocabulary",
                {.file = spec.source,
                 .expected = "0 to " + std::to_string(static_cast<int64_t>(tokens.size()) - 1),
                 .actual = std::to_string(id)});
  }
  return *tokens[id];
}

// Encodes raw text between special tokens.
void Tokenizer::Impl::EncodePiece(std::string_view text, bool at_start, Call& call) const {
  text = normalizer.Apply(text, call.storage.emplace_back());
  for (const AddedPiece& piece : normalized_matcher.Split(text)) {
    if (piece.id >= 0) {
      call.ids.push_back(piece.id);
    } else {
      EncodeWords(text.substr(piece.begin, piece.end - piece.begin), at_start && piece.begin == 0, call);
    }
  }
}

// Encodes normalised text between added tokens.
void Tokenizer::Impl::EncodeWords(std::string_view text, bool at_start, Call& call) const {
  if (pre_tokenizer.is_plain_gpt2()) {
    Gpt2Splitter splitter(text);
    for (std::string_view word; splitter.Next(word);) call.bpe.EncodeWord(word, call.ids);
    return;
  }
  for (std::string_view word : pre_tokenizer.Split(text, at_start, call.storage)) {
    // Split at borders that no merge crosses: the same ids, but short words that hit the cache.
    while (bpe.metaspace_is_border()) {
      size_t border = 0;
      do {
        border = word.find(kMetaspace, border + 1);
      } while (border != std::string_view::npos && word.substr(0, border).ends_with(kMetaspace));
      if (border == std::string_view::npos) break;
      call.bpe.EncodeWord(word.substr(0, border), call.ids);
      word.remove_prefix(border);
    }
    call.bpe.EncodeWord(word, call.ids);
  }
}

Tokenizer::Tokenizer(TokenizerSpec spec) : impl_(std::make_unique<const Impl>(std::move(spec))) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<int32_t> Tokenizer::Encode(std::string_view text, bool add_special) const {
  if (text.size() > kMaxTextBytes) {
    throw Error(ErrorKind::kUsage, "text is too long to encode at once",
                {.expected = "at most " + std::to_string(kMaxTextBytes) + " bytes",
                 .actual = std::to_string(text.size())});
  }
  if (const auto offset = FindInvalidUtf8(text)) {
    throw Error(ErrorKind::kCorrupt, "text is not UTF-8",
                {.actual = "bad byte at offset " + std::to_string(*offset)});
  }
  Impl::Call call{BpeSession(impl_->bpe, text.size()), {}, {}};
  call.ids.reserve(text.size() / 4 + 8);
  const PostProcessor& around = impl_->spec.post_processor;
  if (add_special) call.ids = around.prefix;
  for (const AddedPiece& piece : impl_->raw_matcher.Split(text)) {
    if (piece.id >= 0) {
      call.ids.push_back(piece.id);
    } else {
      impl_->EncodePiece(text.substr(piece.begin, piece.end - piece.begin), piece.begin == 0, call);
    }
  }
  if (add_special) call.ids.insert(call.ids.end(), around.suffix.begin(), around.suffix.end());
  return std::move(call.ids);
}

std::string Tokenizer::Decode(std::span<const int32_t> ids, bool skip_special) const {
  DecodeChain chain(impl_->spec);
  std::string text;
  for (int32_t id : ids) {
    const std::string& token = impl_->TokenOf(id);
    if (!skip_special || !impl_->special[id]) chain.Push(token, text);
  }
  chain.Finish(text);
  return text;
}

int32_t Tokenizer::vocab_size() const { return static_cast<int32_t>(impl_->tokens.size()); }
int32_t Tokenizer::bos_id() const { return impl_->spec.bos_id; }
int32_t Tokenizer::eos_id() const { return impl_->spec.eos_id; }

std::optional<int32_t> Tokenizer::TokenToId(std::string_view token) const {
  const auto it = impl_->token_ids.find(token);
  if (it == impl_->token_ids.end()) return std::nullopt;
  return it->second;
}

std::string_view Tokenizer::IdToToken(int32_t id) const { return impl_->TokenOf(id); }

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < impl_->special.size() && impl_->special[id];
}

Tokenizer LoadTokenizer(const std::string& path) {
  const std::filesystem::path given(path);
  const std::filesystem::path file = DirectoryExists(path) ? given / "tokenizer.json" : given;
  TokenizerSpec spec = ParseTokenizerJson(ReadFile(file.string(), kMaxTokenizerFileBytes), file.string());
  const std::string config = (file.parent_path() / "tokenizer_config.json").string();
  if (FileExists(config)) {
    ApplyTokenizerConfig(ReadFile(config, kMaxTokenizerFileBytes), config, spec);
  }
  return Tokenizer(std::move(spec));
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(&tokenizer),
      skip_special_(skip_special),
      chain_(std::make_unique<DecodeChain>(tokenizer.impl_->spec)) {}
StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;

std::string StreamDecoder::Push(int32_t id) {
  const std::string& token = tokenizer_->impl_->TokenOf(id);
  std::string text;
  if (!skip_special_ || !tokenizer_->impl_->special[id]) chain_->Push(token, text);
  return text;
}

std::string StreamDecoder::Finish() {
  std::string text;
  chain_->Finish(text);
  chain_ = std::make_unique<DecodeChain>(tokenizer_->impl_->spec);
  return text;
}

}  // namespace ghost
