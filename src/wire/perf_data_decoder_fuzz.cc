// Any bytes: an error, or a valid profile.
#include "src/wire/perf_data_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto profile = vesta::wire::DecodePerfData({reinterpret_cast<const char*>(data), size});
  if (!profile.ok()) return 0;
  CHECK(profile->Validate().ok());
  CHECK(profile->String(profile->sample_types()[0].type) == "samples");
  return 0;
}
