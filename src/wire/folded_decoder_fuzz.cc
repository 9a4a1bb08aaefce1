// Any bytes: an error, or a valid profile whose own lines read back as the same lines.
#include "src/wire/folded_decoder.h"
#include "src/wire/folded_encoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vesta::wire::DecodeFolded;
  using vesta::wire::EncodeFolded;
  const auto profile = DecodeFolded({reinterpret_cast<const char*>(data), size});
  if (!profile.ok()) return 0;
  CHECK(profile->Validate().ok());
  const std::string lines = EncodeFolded(*profile);
  // A name in front that begins with the mark of UTF-8 loses it: text cannot tell the two apart.
  if (lines.starts_with("\xef\xbb\xbf")) return 0;
  const auto again = DecodeFolded(lines);
  CHECK(again.ok());
  CHECK(EncodeFolded(*again) == lines);
  return 0;
}
