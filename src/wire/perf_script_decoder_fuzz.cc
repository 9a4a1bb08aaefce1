// Any bytes: an error, or a valid profile with the sample types that were promised.
#include "src/wire/perf_script_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto profile = vesta::wire::DecodePerfScript({reinterpret_cast<const char*>(data), size});
  if (!profile.ok()) return 0;
  CHECK(profile->Validate().ok());
  CHECK(profile->String(profile->sample_types()[0].type) == "samples");
  for (size_t i = 0; i < profile->sample_count(); ++i) CHECK(profile->sample_values(i)[0] >= 0);
  return 0;
}
