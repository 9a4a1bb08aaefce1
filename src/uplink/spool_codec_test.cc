#include "src/uplink/spool_codec.h"

#include <gtest/gtest.h>

namespace vesta::uplink {
namespace {

const std::string kId = "agent/boot/17";

TEST(SpoolCodec, GivesBackWhatItTook) {
  const std::string plain(5'000, 'x');
  const std::string payload = EncodeSpooled(kId, plain, "", 3);
  EXPECT_EQ(payload.substr(0, 3), std::string("\x01\x0d\x00", 3));
  const auto parcel = DecodeSpooled(payload);
  ASSERT_TRUE(parcel.ok());
  EXPECT_EQ(parcel->id, kId);
  EXPECT_EQ(*UnpackSpooled(*parcel, ""), plain);
}

TEST(SpoolCodec, NeedsThePrefixThatItWasPackedWith) {
  std::string prefix;
  for (int i = 0; i < 500; ++i) prefix += "line " + std::to_string(i * i) + "\n";
  const std::string plain = "begin\n" + prefix;
  const std::string payload = EncodeSpooled(kId, plain, prefix, 3);
  EXPECT_LT(payload.size(), 200u);
  const auto parcel = DecodeSpooled(payload);
  ASSERT_TRUE(parcel.ok());
  EXPECT_EQ(*UnpackSpooled(*parcel, prefix), plain);
  EXPECT_FALSE(UnpackSpooled(*parcel, "").ok());
}

TEST(SpoolCodec, RefusesWhatIsCutShortOrOfAnotherVersion) {
  std::string payload = EncodeSpooled(kId, "plain", "", 3);
  for (size_t size = 0; size < payload.size(); ++size) {
    const std::string cut = payload.substr(0, size);
    const auto parcel = DecodeSpooled(cut);
    EXPECT_FALSE(parcel.ok() && UnpackSpooled(*parcel, "").ok()) << size;
  }
  payload[0] = 2;
  EXPECT_EQ(DecodeSpooled(payload).error().code(), base::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace vesta::uplink
