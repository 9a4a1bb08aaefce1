// Any bytes: an error, or a valid profile.
#include "src/wire/jfr_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto profile = vesta::wire::DecodeJfr({reinterpret_cast<const char*>(data), size});
  if (!profile.ok()) return 0;
  CHECK(profile->Validate().ok());
  CHECK(!profile->sample_types().empty());
  return 0;
}
