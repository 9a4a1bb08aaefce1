// Any bytes: an error, or a valid profile without negative values.
#include "src/wire/cpuprofile_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto profile = vesta::wire::DecodeCpuProfile({reinterpret_cast<const char*>(data), size});
  if (!profile.ok()) {
    CHECK(!profile.error().message().empty());
    return 0;
  }
  CHECK(profile->Validate().ok());
  for (size_t i = 0; i < profile->sample_count(); ++i) {
    for (const int64_t value : profile->sample_values(i)) CHECK(value >= 0);
  }
  return 0;
}
