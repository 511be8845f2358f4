#include "base/decompress.h"

#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "base/check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"

namespace ghost {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kGzipMagic = "\x1F\x8B\x08"sv;  // the third byte: deflate, the only method in use
constexpr std::string_view kXzMagic =
    "\xFD"
    "7zXZ\0"sv;
constexpr uint64_t kXzDictionaryLimit = uint64_t{512} << 20;  // xz -9 needs 65 MiB
constexpr uint64_t kFirstRoom = uint64_t{1} << 16;
constexpr size_t kMaxPiece = size_t{1} << 30;  // zlib counts in 32 bits

[[noreturn]] void Refuse(const std::string& file, const std::string& what, uint64_t offset) {
  throw Error(ErrorKind::kCorrupt, "compressed data are damaged",
              {.file = file, .tensor = "near byte " + std::to_string(offset), .actual = what});
}

// Grows by doubling, up to the limit plus one byte; needing that byte is how a
// decompression bomb is detected.
class Output {
 public:
  Output(const std::string& file, uint64_t max_bytes) : file_(file), max_bytes_(max_bytes) {}

  // The next free bytes; `size` receives how many fit, at least one.
  uint8_t* Room(size_t& size) {
    ThrowIfInterrupted();
    if (used_ == bytes_.size()) Grow();
    size = std::min(bytes_.size() - used_, kMaxPiece);
    return reinterpret_cast<uint8_t*>(bytes_.data()) + used_;
  }
  void Add(size_t size) {
    used_ += size;
    if (used_ > max_bytes_) {
      throw Error(ErrorKind::kCorrupt, "file unpacks to more than the limit",
                  {.file = file_, .expected = "at most " + std::to_string(max_bytes_) + " bytes"});
    }
  }
  std::string Take() {
    bytes_.resize(used_);
    return std::move(bytes_);
  }

 private:
  void Grow() {
    const uint64_t most = max_bytes_ == std::numeric_limits<uint64_t>::max() ? max_bytes_ : max_bytes_ + 1;
    bytes_.resize(std::min(std::max<uint64_t>(kFirstRoom, 2 * bytes_.size()), most));
  }

  const std::string& file_;
  uint64_t max_bytes_;
  std::string bytes_;
  size_t used_ = 0;
};

struct Inflater {
  Inflater() {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream{};
};

void Gunzip(std::string_view bytes, const std::string& file, Output& output) {
  Inflater inflater;
  z_stream& z = inflater.stream;
  size_t at = 0;
  for (int status = Z_OK; at < bytes.size() || status != Z_STREAM_END;) {
    if (status == Z_STREAM_END) {  // another member, or garbage
      if (!bytes.substr(at).starts_with(kGzipMagic)) Refuse(file, "data after the last member", at);
      inflateReset(&z);
    }
    size_t room = 0;
    const size_t piece = std::min(bytes.size() - at, kMaxPiece);
    z.next_out = output.Room(room);
    z.avail_out = static_cast<uInt>(room);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + at));  // zlib only reads it
    z.avail_in = static_cast<uInt>(piece);
    status = inflate(&z, Z_NO_FLUSH);
    const size_t read = piece - z.avail_in, written = room - z.avail_out;
    at += read;
    output.Add(written);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_BUF_ERROR) Refuse(file, "the stream is truncated", at);
    if (status != Z_OK && status != Z_STREAM_END) Refuse(file, z.msg != nullptr ? z.msg : "not gzip", at);
  }
}

struct LzmaDecoder {
  LzmaDecoder() {
    if (lzma_stream_decoder(&stream, kXzDictionaryLimit, LZMA_CONCATENATED) != LZMA_OK)
      throw std::bad_alloc();
  }
  ~LzmaDecoder() { lzma_end(&stream); }
  LzmaDecoder(const LzmaDecoder&) = delete;
  LzmaDecoder& operator=(const LzmaDecoder&) = delete;
  lzma_stream stream = LZMA_STREAM_INIT;
};

[[noreturn]] void RefuseXz(lzma_ret status, const std::string& file, uint64_t at) {
  switch (status) {
    case LZMA_MEM_ERROR:
      throw std::bad_alloc();
    case LZMA_MEMLIMIT_ERROR:
    case LZMA_OPTIONS_ERROR:
      throw Error(ErrorKind::kUnsupported,
                  "xz file needs a dictionary that is too large, or an unknown filter",
                  {.file = file, .hint = "unpack it, or pack it with xz -6"});
    case LZMA_BUF_ERROR:
      Refuse(file, "the stream is truncated", at);
    case LZMA_FORMAT_ERROR:
      Refuse(file, "data after the last stream", at);
    default:
      Refuse(file, "the checksum does not match", at);
  }
}

void Unxz(std::string_view bytes, const std::string& file, Output& output) {
  LzmaDecoder decoder;
  lzma_stream& lzma = decoder.stream;
  lzma.next_in = reinterpret_cast<const uint8_t*>(bytes.data());
  lzma.avail_in = bytes.size();
  for (lzma_ret status = LZMA_OK; status != LZMA_STREAM_END;) {
    size_t room = 0;
    lzma.next_out = output.Room(room);
    lzma.avail_out = room;
    status = lzma_code(&lzma, LZMA_FINISH);
    output.Add(room - lzma.avail_out);
    if (status != LZMA_OK && status != LZMA_STREAM_END) RefuseXz(status, file, lzma.total_in);
  }
  GHOST_CHECK(lzma.avail_in == 0);
}

}  // namespace

std::string Decompress(std::string bytes, const std::string& file, uint64_t max_bytes) {
  const bool gzip = bytes.starts_with(kGzipMagic), xz = bytes.starts_with(kXzMagic);
  if (!gzip && !xz) return bytes;
  Output output(file, max_bytes);
  if (gzip) {
    Gunzip(bytes, file, output);
  } else {
    Unxz(bytes, file, output);
  }
  return output.Take();
}

std::string ReadDecompressed(const std::string& path, uint64_t max_bytes) {
  return Decompress(ReadFile(path, max_bytes), path, max_bytes);
}

}  // namespace ghost
