// Any bytes: what they are is told, and the reader of that format takes them. Each format has a
// target of its own beside its decoder; this one is for telling them apart.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/wire/profile_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size_bytes);
  const auto profile =
      vesta::wire::DecodeProfile(bytes, "fuzz", {.size_bytes_max = uint64_t{16} << 20});
  if (profile.ok()) CHECK(profile->Validate().ok());
  return 0;
}
