#include "src/store/symbol_check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vesta::store {
namespace {

// A place of an image with these names, with so many lines of a function with this name.
PlaceVerdict Judge(const std::string& path, const std::string& build_id, size_t lines,
                   const std::string& name) {
  profile::Profile profile;
  profile::Mapping mapping;
  mapping.path = profile.InternString(path);
  mapping.build_id = profile.InternString(build_id);
  const auto function = profile.InternFunction({profile.InternString(name), {}, {}, 0});
  const std::vector<profile::Line> at(lines, {function, 1, 0});
  const auto id = profile.InternLocation({profile.AddMapping(mapping), 16, false, at});
  return JudgePlace(profile, profile.location(id));
}

TEST(SymbolCheck, APlaceNeedsAnImageAndAName) {
  EXPECT_EQ(Judge("/bin/app", "", 1, "main"), PlaceVerdict::kGood);
  EXPECT_EQ(Judge("", "abcd", 1, "main"), PlaceVerdict::kGood);
  EXPECT_EQ(Judge("", "", 1, "main"), PlaceVerdict::kWithoutImage);
  EXPECT_EQ(Judge("/bin/app", "abcd", 0, "main"), PlaceVerdict::kWithoutName);
  profile::Profile profile;
  const auto function = profile.InternFunction({profile.InternString("main"), {}, {}, 0});
  const profile::Line line{function, 1, 0};
  EXPECT_EQ(JudgePlace(profile, {profile::kNoMapping, 16, false, {&line, 1}}),
            PlaceVerdict::kWithoutImage);
}

TEST(SymbolCheck, WhatOnePlaceMayHoldIsBounded) {
  EXPECT_EQ(Judge("/bin/app", "", kSymbolLinesMax, "f"), PlaceVerdict::kGood);
  EXPECT_EQ(Judge("/bin/app", "", kSymbolLinesMax + 1, "f"), PlaceVerdict::kTooLarge);
  EXPECT_EQ(Judge("/bin/app", "", 1, std::string(kSymbolTextBytesMax, 'x')), PlaceVerdict::kGood);
  EXPECT_EQ(Judge("/bin/app", "", 2, std::string(kSymbolTextBytesMax / 2 + 1, 'x')),
            PlaceVerdict::kTooLarge);
}

TEST(SymbolCheck, AnImageIsItsBuildIdElseItsPath) {
  EXPECT_EQ(SymbolImageOf("/bin/app", "abcd"), SymbolImageOf("/other", "abcd"));
  EXPECT_NE(SymbolImageOf("/bin/app", ""), SymbolImageOf("/other", ""));
  EXPECT_NE(SymbolImageOf("abcd", ""), SymbolImageOf("", "abcd"));
}

TEST(SymbolCheck, ABatchPointsAtWhatIsThere) {
  SymbolBatch batch;
  EXPECT_TRUE(CheckSymbols(batch).ok());
  batch.locations.push_back(profile::LocationId{0});
  EXPECT_EQ(CheckSymbols(batch).error().message(), "profile is missing");
  const profile::Profile profile;
  batch.profile = &profile;
  EXPECT_EQ(CheckSymbols(batch).error().message(),
            "locations[0] is none of the profile's locations");
  batch.locations.clear();
  batch.id = BatchId{std::string(300, 'a'), "boot", 1};
  EXPECT_EQ(CheckSymbols(batch).error().code(), base::ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace vesta::store
