#include "src/uplink/spool_codec.h"

#include <span>

#include "src/base/byte_reader.h"
#include "src/wire/zstd.h"

namespace vesta::uplink {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kIdBytesMax = 1'000;
constexpr uint64_t kPlainBytesMax = uint64_t{256} << 20;

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string EncodeSpooled(std::string_view id, std::string_view plain, std::string_view prefix,
                          int compression_level) {
  id = id.substr(0, kIdBytesMax);
  std::string payload;
  payload += static_cast<char>(kVersion);
  payload += static_cast<char>(id.size() & 0xff);
  payload += static_cast<char>(id.size() >> 8);
  payload += id;
  payload += wire::Zstd(plain, compression_level, prefix);
  return payload;
}

base::Result<SpooledParcel> DecodeSpooled(std::string_view payload) {
  base::ByteReader in(std::as_bytes(std::span(payload)));
  const auto version = in.Read<uint8_t>();
  if (in.ok() && version != kVersion) {
    return base::Error(base::ErrorCode::kUnsupported,
                       "it is of version " + std::to_string(version));
  }
  const auto id_bytes = in.Read<uint16_t>();
  SpooledParcel parcel;
  parcel.id = TextOf(in.ReadBytes(id_bytes));
  parcel.packed = TextOf(in.ReadBytes(in.remaining()));
  if (!in.ok() || id_bytes > kIdBytesMax) {
    return base::Error(base::ErrorCode::kCorrupt, "a record of the spool is damaged");
  }
  return parcel;
}

base::Result<std::string> UnpackSpooled(const SpooledParcel& parcel, std::string_view prefix) {
  return wire::Unzstd(parcel.packed, kPlainBytesMax, prefix);
}

}  // namespace vesta::uplink
