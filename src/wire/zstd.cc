#include "src/wire/zstd.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>

#include "src/wire/gzip.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view kMagic("\x28\xb5\x2f\xfd", 4);
constexpr int kWindowLogMax = 23;
constexpr int kLevelOfLargeTables = 3;
constexpr int kHashLogMin = 14;
constexpr int kHashLogMax = 19;         // 2 MiB
constexpr uint64_t kRatioMax = 32'768;  // a block of 128 KiB may be one byte repeated, in 4 bytes
constexpr size_t kFirstBytes = 64 << 10;

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ::ZSTD_freeDStream(stream); }
};
struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ::ZSTD_freeCCtx(context); }
};

void Set(ZSTD_CCtx* context, ZSTD_cParameter parameter, int value) {
  CHECK(!::ZSTD_isError(::ZSTD_CCtx_setParameter(context, parameter, value)));
}

// log2 of a window in which a match may reach back over all of the prefix.
int WindowLogOver(size_t bytes) {
  int log = 10;
  while (size_t{1} << log < bytes && log < kWindowLogMax) ++log;
  return log;
}

Error TooLarge(uint64_t size_bytes_max) {
  return Error(ErrorCode::kExhausted,
               "uncompressed it is larger than the limit of " + HumanBytes(size_bytes_max));
}

Error DamageAt(size_t code, size_t offset) {
  if (::ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge) {
    return Error(
        ErrorCode::kUnsupported,
        "zstd data that needs a window of more than 8 MiB: compress it without --ultra and "
        "--long");
  }
  if (::ZSTD_getErrorCode(code) == ZSTD_error_dictionary_wrong)
    return Error(ErrorCode::kUnsupported, "zstd data that needs a dictionary");
  return Error(ErrorCode::kCorrupt, "zstd data is damaged at byte " + std::to_string(offset) +
                                        ": " + ::ZSTD_getErrorName(code));
}

}  // namespace

bool IsZstd(std::string_view bytes) { return bytes.starts_with(kMagic); }

uint64_t UnzstdSizeHint(std::string_view bytes) {
  const unsigned long long size = ::ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) return 0;
  return size / kRatioMax > bytes.size() ? 0 : size;
}

std::string Zstd(std::string_view bytes, int level, std::string_view prefix) {
  const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(::ZSTD_createCCtx());
  CHECK(context != nullptr);
  Set(context.get(), ZSTD_c_compressionLevel, level);
  if (!prefix.empty() && prefix.size() + bytes.size() <= size_t{1} << kWindowLogMax) {
    Set(context.get(), ZSTD_c_checksumFlag, 1);  // tells another prefix
    const int window_log = WindowLogOver(prefix.size() + bytes.size());
    Set(context.get(), ZSTD_c_windowLog, window_log);
    // The tables of the fastest levels would forget most of the prefix before it is of use: 22
    // bytes per sample instead of 10 (bench/store/wire_bench).
    if (level < kLevelOfLargeTables) {
      Set(context.get(), ZSTD_c_hashLog, std::clamp(window_log - 1, kHashLogMin, kHashLogMax));
    }
    CHECK(!::ZSTD_isError(::ZSTD_CCtx_refPrefix(context.get(), prefix.data(), prefix.size())));
  } else {
    Set(context.get(), ZSTD_c_windowLog, WindowLogOver(bytes.size()));
  }
  std::string out;
  out.resize(::ZSTD_compressBound(bytes.size()));
  const size_t size =
      ::ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  CHECK(!::ZSTD_isError(size));
  out.resize(size);
  out.shrink_to_fit();
  return out;
}

base::Result<std::string> Unzstd(std::string_view bytes, uint64_t size_bytes_max,
                                 std::string_view prefix) {
  const std::unique_ptr<ZSTD_DStream, FreeStream> stream(::ZSTD_createDStream());
  CHECK(stream != nullptr);
  CHECK(
      !::ZSTD_isError(::ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, kWindowLogMax)));
  if (!prefix.empty())
    CHECK(!::ZSTD_isError(::ZSTD_DCtx_refPrefix(stream.get(), prefix.data(), prefix.size())));
  const uint64_t hint = UnzstdSizeHint(bytes);
  if (hint > size_bytes_max) return TooLarge(size_bytes_max);
  std::string out;
  // One byte more than allowed, to tell "exactly full" from "too large".
  const auto grow_to = [&](uint64_t wanted) {
    out.resize(static_cast<size_t>(std::min(wanted, size_bytes_max + 1)));
  };
  grow_to(hint != 0 ? hint : kFirstBytes);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (true) {
    if (!IsZstd(bytes.substr(in.pos))) {
      return Error(ErrorCode::kCorrupt, std::to_string(bytes.size() - in.pos) +
                                            " bytes that are not zstd data where it should be");
    }
    while (true) {
      const size_t status = ::ZSTD_decompressStream(stream.get(), &to, &in);
      if (::ZSTD_isError(status)) return DamageAt(status, in.pos);
      if (to.pos > size_bytes_max) return TooLarge(size_bytes_max);
      if (status == 0) break;
      if (to.pos < to.size && in.pos == in.size) {
        return Error(ErrorCode::kCorrupt,
                     "zstd data is truncated: it ends at byte " + std::to_string(bytes.size()));
      }
      if (to.pos == to.size) {
        grow_to(std::max<uint64_t>(uint64_t{to.size} * 2, kFirstBytes));
        to.dst = out.data();
        to.size = out.size();
      }
    }
    if (in.pos == in.size) break;
  }
  out.resize(to.pos);
  return out;
}

}  // namespace vesta::wire
