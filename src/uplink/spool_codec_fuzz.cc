// What is decoded lies inside of the payload, and what is packed again is the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/check.h"
#include "src/uplink/spool_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace vesta;
  const std::string_view payload(reinterpret_cast<const char*>(bytes), size);
  const auto parcel = uplink::DecodeSpooled(payload);
  if (!parcel.ok()) return 0;
  CHECK(parcel->id.size() + parcel->packed.size() + 3 == size);
  const auto plain = uplink::UnpackSpooled(*parcel, "");
  if (!plain.ok() || plain->size() > 100'000) return 0;
  const std::string again = uplink::EncodeSpooled(parcel->id, *plain, "", 1);
  const auto read = uplink::DecodeSpooled(again);
  CHECK(read.ok() && read->id == parcel->id);
  CHECK(*uplink::UnpackSpooled(*read, "") == *plain);
  return 0;
}
