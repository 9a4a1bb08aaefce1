#include "src/wire/zstd.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vesta::wire::Unzstd;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr uint64_t kBytesMax = 1 << 20;
  const auto plain = Unzstd(bytes, kBytesMax);
  if (plain.ok() && plain->size() > kBytesMax) __builtin_trap();
  // What fits exactly must be taken, and one byte less must be too little.
  if (plain.ok() && !Unzstd(bytes, plain->size()).ok()) __builtin_trap();
  if (plain.ok() && !plain->empty() && Unzstd(bytes, plain->size() - 1).ok()) __builtin_trap();
  // Against a prefix: what came after it is either unpacked within the limit, or refused.
  static const std::string prefix = [] {
    std::string text;
    for (unsigned i = 0; i < 4096; ++i) text += static_cast<char>(i * i >> 4);
    return text;
  }();
  const auto after = Unzstd(bytes, kBytesMax, prefix);
  if (after.ok() && after->size() > kBytesMax) __builtin_trap();
  return 0;
}
