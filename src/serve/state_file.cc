#include "serve/state_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "io/byte_cursor.h"
#include "io/mapped_file.h"
#include "model/token_ids.h"

namespace ghost {
namespace {

constexpr std::string_view kMagic = "GHOSTST1";
constexpr std::string_view kSuffix = ".ghoststate";
constexpr uint64_t kMaxFingerprint = 256;

[[noreturn]] void RefuseState(const std::string& path, const std::string& what, std::string expected = {},
                              std::string actual = {}) {
  throw Error(ErrorKind::kCorrupt, "saved state cannot be used",
              {.file = path, .tensor = what, .expected = std::move(expected), .actual = std::move(actual)});
}

// Everything before the checksum goes through here, to the file and into the hash.
class HashedWriter {
 public:
  explicit HashedWriter(AtomicFile& file) : file_(file), hash_(XXH3_createState()) {
    XXH3_64bits_reset(hash_);
  }
  ~HashedWriter() { XXH3_freeState(hash_); }
  HashedWriter(const HashedWriter&) = delete;
  HashedWriter& operator=(const HashedWriter&) = delete;

  void Bytes(const void* data, size_t size) {
    file_.Write(data, size);
    XXH3_64bits_update(hash_, data, size);
  }
  void U64(uint64_t value) { Bytes(&value, sizeof value); }
  uint64_t Digest() const { return XXH3_64bits_digest(hash_); }

 private:
  AtomicFile& file_;
  XXH3_state_t* hash_;
};

// Magic and fingerprint, with which every file starts; false if the file is not one of ours at all.
bool ReadHead(ByteCursor& cursor, std::string& fingerprint) {
  if (cursor.left() < kMagic.size() || cursor.Take(kMagic.size(), "magic") != kMagic) return false;
  const uint64_t size = cursor.U64("length of the fingerprint");
  if (size > kMaxFingerprint)
    RefuseState(cursor.file(), "length of the fingerprint", "at most 256", fmt::format("{}", size));
  fingerprint = cursor.Take(size, "fingerprint");
  return true;
}

std::vector<float> TakeFloats(ByteCursor& cursor, uint64_t count, const char* what) {
  const std::string_view bytes = cursor.Take(count * sizeof(float), what);
  std::vector<float> values(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());  // no logits: null pointers
  if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); }))
    RefuseState(cursor.file(), what, "finite numbers");
  return values;
}

void ExpectEqual(const std::string& path, const char* what, uint64_t expected, uint64_t found) {
  if (expected != found) RefuseState(path, what, fmt::format("{}", expected), fmt::format("{}", found));
}

// The body, whose sizes and checksum were found right.
PrefixEntry ReadBody(ByteCursor& cursor, const ModelConfig& config, uint64_t num_tokens,
                     uint64_t num_logits) {
  PrefixEntry entry;
  entry.tokens.resize(num_tokens);
  const std::string_view ids = cursor.Take(num_tokens * sizeof(int32_t), "tokens");
  std::memcpy(entry.tokens.data(), ids.data(), ids.size());
  for (const int32_t id : entry.tokens) {
    if (!IsTokenId(id, config.vocab_size)) ThrowBadTokenId(id, config.vocab_size, {.file = cursor.file()});
  }
  entry.logits = TakeFloats(cursor, num_logits, "logits");
  entry.state = std::make_unique<SequenceState>(config);
  const std::span<float> mixers = entry.state->mixers();
  std::ranges::copy(TakeFloats(cursor, mixers.size(), "states of the mixers"), mixers.begin());
  const std::vector<int> widths = CacheWidths(config);
  for (size_t i = 0; i < widths.size(); ++i) {
    const uint64_t floats = num_tokens * static_cast<uint64_t>(widths[i]);
    const std::vector<float> keys = TakeFloats(cursor, floats, "keys");
    const std::vector<float> values = TakeFloats(cursor, floats, "values");
    const auto rows = static_cast<int64_t>(num_tokens);
    entry.state->cache(static_cast<int>(i))
        .Append(ConstView(keys.data(), rows, widths[i]), ConstView(values.data(), rows, widths[i]));
  }
  return entry;
}

std::string NameOf(const std::string& fingerprint, const PrefixEntry& entry) {
  const uint64_t hash = XXH3_64bits_withSeed(entry.tokens.data(), entry.tokens.size() * sizeof(int32_t),
                                             XXH3_64bits(fingerprint.data(), fingerprint.size()));
  return fmt::format("{:016x}{}", hash, kSuffix);
}

std::vector<std::string> StateFilesIn(const std::string& directory) {
  std::vector<std::string> paths;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    if (file.is_regular_file() && file.path().extension() == kSuffix) paths.push_back(file.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

// Whether a file names this fingerprint; false for one that cannot be read.
bool BelongsTo(const std::string& path, const std::string& fingerprint) {
  try {
    const MappedFile file(path);
    ByteCursor cursor(file.bytes(), path);
    std::string found;
    return ReadHead(cursor, found) && found == fingerprint;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void WriteStateFile(const std::string& path, const std::string& fingerprint, const PrefixEntry& entry) {
  AtomicFile file(path);
  HashedWriter out(file);
  const SequenceState& state = *entry.state;
  out.Bytes(kMagic.data(), kMagic.size());
  out.U64(fingerprint.size());
  out.Bytes(fingerprint.data(), fingerprint.size());
  out.U64(entry.tokens.size());
  out.U64(entry.logits.size());
  out.U64(state.mixers().size());
  out.U64(static_cast<uint64_t>(state.num_caches()));
  out.Bytes(entry.tokens.data(), entry.tokens.size() * sizeof(int32_t));
  out.Bytes(entry.logits.data(), entry.logits.size() * sizeof(float));
  out.Bytes(state.mixers().data(), state.mixers().size_bytes());
  for (int i = 0; i < state.num_caches(); ++i) {
    const KeyValueCache& cache = state.cache(i);
    const auto bytes = static_cast<size_t>(cache.tokens() * cache.width()) * sizeof(float);
    out.Bytes(cache.keys(), bytes);
    out.Bytes(cache.values(), bytes);
  }
  const uint64_t digest = out.Digest();
  file.Write(&digest, sizeof digest);
  file.Commit();
}

std::optional<PrefixEntry> ReadStateFile(const std::string& path, const std::string& fingerprint,
                                         const ModelConfig& config) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  ByteCursor cursor(bytes, path);
  std::string found;
  if (!ReadHead(cursor, found)) RefuseState(path, "magic", std::string(kMagic));
  if (found != fingerprint) return std::nullopt;
  const uint64_t num_tokens = cursor.U64("number of tokens"), num_logits = cursor.U64("number of logits");
  ExpectEqual(path, "floats of the mixers", SequenceState(config).mixers().size(),
              cursor.U64("floats of the mixers"));
  const std::vector<int> widths = CacheWidths(config);
  ExpectEqual(path, "number of caches", widths.size(), cursor.U64("number of caches"));
  if (num_logits != 0)
    ExpectEqual(path, "number of logits", static_cast<uint64_t>(config.vocab_size), num_logits);
  uint64_t token_floats = 1;  // its id, keys and values
  for (const int width : widths) token_floats += 2 * static_cast<uint64_t>(width);
  // So that no product below can overflow.
  if (num_tokens == 0 || num_tokens > cursor.left() / sizeof(float) / token_floats)
    RefuseState(path, "number of tokens", "1 or more that fit into the file", fmt::format("{}", num_tokens));
  const uint64_t floats = num_tokens * token_floats + num_logits + SequenceState(config).mixers().size();
  ExpectEqual(path, "bytes after the header", floats * sizeof(float) + sizeof(uint64_t), cursor.left());
  uint64_t digest;
  std::memcpy(&digest, bytes.data() + bytes.size() - sizeof digest, sizeof digest);
  if (XXH3_64bits(bytes.data(), bytes.size() - sizeof digest) != digest) RefuseState(path, "checksum");
  return ReadBody(cursor, config, num_tokens, num_logits);
}

size_t SaveStates(const std::string& directory, const std::string& fingerprint, const PrefixCache& cache) {
  std::set<std::string> kept;
  // The least recently used first: times of modification then tell the order of use.
  for (auto entry = cache.entries().rbegin(); entry != cache.entries().rend(); ++entry) {
    const std::string path = (std::filesystem::path(directory) / NameOf(fingerprint, *entry)).string();
    WriteStateFile(path, fingerprint, *entry);
    kept.insert(path);
  }
  for (const std::string& path : StateFilesIn(directory)) {
    if (!kept.contains(path) && BelongsTo(path, fingerprint)) std::filesystem::remove(path);
  }
  return kept.size();
}

size_t LoadStates(const std::string& directory, const std::string& fingerprint, const ModelConfig& config,
                  PrefixCache& cache, std::vector<std::string>& warnings) {
  std::vector<std::string> paths = StateFilesIn(directory);
  std::ranges::stable_sort(paths, {}, [](const std::string& path) {
    std::error_code gone;
    return std::filesystem::last_write_time(path, gone);
  });
  size_t loaded = 0;
  for (const std::string& path : paths) {
    try {
      if (std::optional<PrefixEntry> entry = ReadStateFile(path, fingerprint, config)) {
        cache.Insert(std::move(*entry));
        ++loaded;
      }
    } catch (const Error& e) {
      warnings.push_back(e.what());
    }
  }
  return loaded;
}

}  // namespace ghost
