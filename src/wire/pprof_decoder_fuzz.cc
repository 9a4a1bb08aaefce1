// Any bytes: an error, or a valid profile that survives being written and read again.
#include "src/wire/pprof_decoder.h"
#include "src/wire/pprof_encoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vesta::wire::DecodePprof;
  using vesta::wire::EncodePprof;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const vesta::wire::PprofDecodeOptions limits = {.decoded_bytes_max = 1 << 20};
  const auto profile = DecodePprof(bytes, limits);
  if (!profile.ok()) return 0;
  CHECK(profile->Validate().ok());
  const std::string written = EncodePprof(*profile, {.gzip = false});
  const auto again = DecodePprof(written, {.decoded_bytes_max = uint64_t{1} << 30});
  CHECK(again.ok());
  CHECK(EncodePprof(*again, {.gzip = false}) == written);
  return 0;
}
