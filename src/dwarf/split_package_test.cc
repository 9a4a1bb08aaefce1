#include "src/dwarf/split_package.h"

#include <gtest/gtest.h>

#include <string>

#include "src/dwarf/dwarf_image_for_test.h"

namespace vesta::dwarf {
namespace {

Bytes View(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

constexpr uint64_t kFirst = 0x1000000002;   // wants slot 2
constexpr uint64_t kSecond = 0x1100000002;  // the same, and finds it taken

// Two units: .debug_info.dwo [0, 10) and [10, 30), .debug_abbrev.dwo [0, 4) and [4, 8).
std::string Index(uint32_t version) {
  std::string text = U32(version) + U32(2) + U32(2) + U32(4);
  text += U64(0) + U64(0) + U64(kFirst) + U64(kSecond);  // step of the second: 1
  text += U32(0) + U32(0) + U32(1) + U32(2);
  text += U32(1) + U32(3);  // columns
  text += U32(0) + U32(0) + U32(10) + U32(4);
  text += U32(10) + U32(4) + U32(20) + U32(4);
  return text;
}

TEST(SplitPackage, GivesThePartsOfOneUnit) {
  const std::string info(30, 'i');
  const std::string abbrev(8, 'a');
  Sections whole;
  whole.info = View(info);
  whole.abbrev = View(abbrev);
  whole.str = View(abbrev);
  for (const uint32_t version : {2u, 5u}) {
    const std::string index = Index(version);
    const auto package = SplitPackage::Parse(View(index));
    ASSERT_TRUE(package.ok());
    EXPECT_EQ(package->unit_count(), 2u);
    const auto first = package->Find(kFirst, whole);
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->info.size(), 10u);
    const auto second = package->Find(kSecond, whole);
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->info.data(), whole.info.data() + 10);
    EXPECT_EQ(second->info.size(), 20u);
    EXPECT_EQ(second->abbrev.data(), whole.abbrev.data() + 4);
    EXPECT_EQ(second->str.size(), whole.str.size()) << "strings are shared";
    EXPECT_FALSE(package->Find(0x77, whole).has_value());
    Sections shorter = whole;
    shorter.info = whole.info.first(29);
    EXPECT_FALSE(package->Find(kSecond, shorter).has_value()) << "lies outside";
  }
}

TEST(SplitPackage, RefusesAnIndexThatCannotBe) {
  const std::string good = Index(5);
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(SplitPackage::Parse(View(good).first(i)).ok()) << i;
  }
  EXPECT_EQ(SplitPackage::Parse(View(Index(3))).error().code(), base::ErrorCode::kUnsupported);
  for (size_t field = 4; field < 16; field += 4) {
    std::string huge = good;
    huge.replace(field, 4, U32(0xffffffff));
    EXPECT_FALSE(SplitPackage::Parse(View(huge)).ok()) << field;
  }
}

TEST(SplitPackage, AFullTableWithoutTheIdEnds) {
  std::string full = U32(5) + U32(1) + U32(2) + U32(2) + U64(1) + U64(2) + U32(1) + U32(9) +
                     U32(1) + U32(0) + U32(0) + U32(0) + U32(0);
  const auto package = SplitPackage::Parse(View(full));
  ASSERT_TRUE(package.ok());
  EXPECT_FALSE(package->Find(3, Sections()).has_value());
  EXPECT_TRUE(package->Find(1, Sections()).has_value());
  EXPECT_FALSE(package->Find(2, Sections()).has_value()) << "row 9 of 2";
}

}  // namespace
}  // namespace vesta::dwarf
