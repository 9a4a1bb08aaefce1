// Any bytes: an error, or a valid profile that keeps its totals when it is written and read again.
#include <string>

#include "src/wire/speedscope_decoder.h"
#include "src/wire/speedscope_encoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vesta::wire::DecodeSpeedscope;
  using vesta::wire::EncodeSpeedscope;
  const auto profile = DecodeSpeedscope({reinterpret_cast<const char*>(data), size});
  if (!profile.ok()) return 0;
  CHECK(profile->Validate().ok());
  const auto again = DecodeSpeedscope(EncodeSpeedscope(*profile));
  if (!again.ok()) CHECK(again.error().message() == "");
  CHECK(again->Validate().ok());
  const size_t types = profile->sample_types().size();
  CHECK(again->sample_types().size() == types);
  for (size_t type = 0; type < types; ++type) {
    unsigned __int128 before = 0;
    unsigned __int128 after = 0;
    for (size_t i = 0; i < profile->sample_count(); ++i)
      before += static_cast<uint64_t>(profile->sample_values(i)[type]);
    for (size_t i = 0; i < again->sample_count(); ++i)
      after += static_cast<uint64_t>(again->sample_values(i)[type]);
    // Sums of one stack stop at what 63 bits hold.
    if (before < (uint64_t{1} << 62)) CHECK(before == after);
  }
  return 0;
}
