#include "src/symbolize/debug_file/xz.h"

#include <lzma.h>

#include <algorithm>
#include <string>

namespace vesta::symbolize {
namespace {

using base::Error;
using base::ErrorCode;

constexpr size_t kFirstBytes = 64 << 10;

class Decoder {
 public:
  Decoder() : ok_(::lzma_stream_decoder(&stream_, kXzMemoryBytesMax, 0) == LZMA_OK) {}
  ~Decoder() { ::lzma_end(&stream_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  bool ok() const { return ok_; }
  lzma_stream& stream() { return stream_; }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ok_;
};

}  // namespace

base::Result<std::vector<std::byte>> UnpackXz(std::span<const std::byte> packed,
                                              size_t size_bytes_max) {
  Decoder decoder;
  if (!decoder.ok()) return Error(ErrorCode::kExhausted, "no memory to unpack xz");
  lzma_stream& stream = decoder.stream();
  stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  std::vector<std::byte> bytes;
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK) {
    const size_t used = bytes.size();
    if (used == size_bytes_max) {
      return Error(ErrorCode::kExhausted,
                   "xz data of more than " + std::to_string(size_bytes_max) + " bytes");
    }
    // One byte more than allowed would do to see that there is more; a stream that ends at the
    // limit is refused, too.
    bytes.resize(std::min(size_bytes_max, std::max(kFirstBytes, used * 2)));
    stream.next_out = reinterpret_cast<uint8_t*>(bytes.data()) + used;
    stream.avail_out = bytes.size() - used;
    state = ::lzma_code(&stream, LZMA_FINISH);
    bytes.resize(bytes.size() - stream.avail_out);
    if (state == LZMA_OK && stream.avail_out != 0) state = LZMA_BUF_ERROR;  // ends early
  }
  if (state == LZMA_MEMLIMIT_ERROR || state == LZMA_MEM_ERROR) {
    return Error(ErrorCode::kExhausted, "xz data that needs too much memory");
  }
  if (state != LZMA_STREAM_END) return Error(ErrorCode::kCorrupt, "xz data that is damaged");
  return bytes;
}

}  // namespace vesta::symbolize
