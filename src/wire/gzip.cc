#include "src/wire/gzip.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;

constexpr int kGzipWindowBits = 15 + 16;  // zlib: + 16 = with a gzip header
constexpr size_t kTrailerBytes = 4;       // of the plain size, little endian
constexpr uint64_t kRatioMax = 1032;      // deflate cannot do better
constexpr size_t kPieceBytesMax = size_t{1} << 30;

// zlib does not write through next_in, but its type lacks the const.
Bytef* InputPointer(std::string_view bytes) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
}

class InflateStream {
 public:
  InflateStream() { CHECK(::inflateInit2(&stream_, kGzipWindowBits) == Z_OK); }
  ~InflateStream() { ::inflateEnd(&stream_); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  z_stream* operator->() { return &stream_; }
  z_stream* get() { return &stream_; }

 private:
  z_stream stream_{};
};

// What a file of one member holds, which is nearly every file; nothing for all others, damaged ones
// included. Cost: half of zlib's, which matters where a server takes thousands of them.
std::optional<std::string> GunzipOne(std::string_view bytes, uint64_t size_bytes_max) {
  const uint64_t hint = GunzippedSizeHint(bytes);
  if (hint == 0 || hint > size_bytes_max) return std::nullopt;
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)>
      decompressor(libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (decompressor == nullptr) return std::nullopt;
  std::string out(static_cast<size_t>(hint), '\0');
  size_t in_used = 0;
  size_t out_used = 0;
  const auto status = libdeflate_gzip_decompress_ex(decompressor.get(), bytes.data(), bytes.size(),
                                                    out.data(), out.size(), &in_used, &out_used);
  if (status != LIBDEFLATE_SUCCESS || in_used != bytes.size() || out_used != out.size())
    return std::nullopt;
  return out;
}

}  // namespace

struct GzipWriter::State {
  z_stream stream{};
  std::array<char, 64 << 10> buffer;
};

GzipWriter::GzipWriter(int level) : state_(std::make_unique<State>()) {
  CHECK(::deflateInit2(&state_->stream, level, Z_DEFLATED, kGzipWindowBits, 8,
                       Z_DEFAULT_STRATEGY) == Z_OK);
}

GzipWriter::~GzipWriter() { ::deflateEnd(&state_->stream); }

void GzipWriter::Deflate(std::string_view bytes, bool last) {
  z_stream& stream = state_->stream;
  stream.next_in = InputPointer(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  int status = Z_OK;
  do {
    stream.next_out = reinterpret_cast<Bytef*>(state_->buffer.data());
    stream.avail_out = static_cast<uInt>(state_->buffer.size());
    status = ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    CHECK(status != Z_STREAM_ERROR);
    out_.append(state_->buffer.data(), state_->buffer.size() - stream.avail_out);
  } while (stream.avail_out == 0 || (last && status != Z_STREAM_END));
}

void GzipWriter::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPieceBytesMax);
    Deflate(piece, false);
    bytes.remove_prefix(piece.size());
  }
}

std::string GzipWriter::Finish() {
  Deflate({}, true);
  return std::move(out_);
}

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

uint64_t GunzippedSizeHint(std::string_view bytes) {
  if (bytes.size() < kTrailerBytes) return 0;
  uint64_t size = 0;
  for (size_t i = 1; i <= kTrailerBytes; ++i)
    size = size << 8 | static_cast<unsigned char>(bytes[bytes.size() - i]);
  return size / kRatioMax > bytes.size() ? 0 : size;
}

base::Result<std::string> Gunzip(std::string_view bytes, uint64_t size_bytes_max) {
  if (auto plain = GunzipOne(bytes, size_bytes_max)) return std::move(*plain);
  InflateStream stream;
  const size_t size_bytes = bytes.size();
  std::string out;
  size_t used = 0;  // of out
  const uint64_t hint = GunzippedSizeHint(bytes);
  while (true) {
    if (used == out.size()) {
      // One byte more than allowed is asked for, to tell "exactly full" from "too large".
      const uint64_t doubled = std::max<uint64_t>(uint64_t{used} * 2, 64 << 10);
      const uint64_t wanted = used == 0 ? std::max(doubled, hint + 1) : doubled;
      out.resize(static_cast<size_t>(std::min(wanted, size_bytes_max + 1)));
      if (used == out.size()) {
        return Error(ErrorCode::kExhausted,
                     "uncompressed it is larger than the limit of " + HumanBytes(size_bytes_max));
      }
    }
    const std::string_view piece = bytes.substr(0, kPieceBytesMax);
    const size_t room = std::min(out.size() - used, kPieceBytesMax);
    stream->next_in = InputPointer(piece);
    stream->avail_in = static_cast<uInt>(piece.size());
    stream->next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream->avail_out = static_cast<uInt>(room);
    const int status = ::inflate(stream.get(), Z_NO_FLUSH);
    bytes.remove_prefix(piece.size() - stream->avail_in);
    used += room - stream->avail_out;
    if (status == Z_STREAM_END) {
      if (bytes.empty()) break;
      if (!IsGzip(bytes)) {
        return Error(ErrorCode::kCorrupt, std::to_string(bytes.size()) +
                                              " bytes that are not gzip follow the gzip data");
      }
      CHECK(::inflateReset(stream.get()) == Z_OK);
    } else if (status == Z_DATA_ERROR || status == Z_NEED_DICT) {
      return Error(ErrorCode::kCorrupt, "gzip data is damaged at byte " +
                                            std::to_string(size_bytes - bytes.size()) + ": " +
                                            (stream->msg == nullptr ? "checksum" : stream->msg));
    } else if (bytes.empty() && stream->avail_out != 0) {
      return Error(ErrorCode::kCorrupt,
                   "gzip data is truncated: it ends at byte " + std::to_string(size_bytes));
    }
  }
  if (used > size_bytes_max) {
    return Error(ErrorCode::kExhausted,
                 "uncompressed it is larger than the limit of " + HumanBytes(size_bytes_max));
  }
  out.resize(used);
  return out;
}

std::string GunzipStart(std::string_view bytes, size_t size_bytes_max) {
  InflateStream stream;
  std::string out(size_bytes_max, '\0');
  stream->next_in = InputPointer(bytes);
  stream->avail_in = static_cast<uInt>(std::min(bytes.size(), kPieceBytesMax));
  stream->next_out = reinterpret_cast<Bytef*>(out.data());
  stream->avail_out = static_cast<uInt>(out.size());
  ::inflate(stream.get(), Z_SYNC_FLUSH);
  out.resize(out.size() - stream->avail_out);
  return out;
}

std::string HumanBytes(uint64_t size_bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"bytes", "KiB", "MiB", "GiB",
                                                        "TiB",   "PiB", "EiB"};
  size_t unit = 0;
  auto scaled = static_cast<double>(size_bytes);
  for (; scaled >= 1024 && unit + 1 < kUnits.size(); ++unit) scaled /= 1024;
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", scaled, kUnits[unit]);
  return text.data();
}

}  // namespace vesta::wire
