#include "src/store/symbols/symbol_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "src/store/symbols/facts_for_test.h"
#include "src/store/symbols/symbol_view.h"

namespace vesta::store::symbols {
namespace {

// A file in memory.
class OwnedSource final : public base::ByteSource {
 public:
  explicit OwnedSource(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  base::Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    return base::MemorySource(std::as_bytes(std::span(bytes_))).ReadAt(offset, out);
  }

 private:
  const std::string bytes_;
};

class SymbolRunTest : public ::testing::Test {
 protected:
  std::string Write(const std::map<Place, Fact>& facts) {
    std::string bytes;
    RunWriter writer([&bytes](std::string_view more) {
      bytes += more;
      return base::Result<void>();
    });
    for (const auto& [place, fact] : facts) EXPECT_TRUE(writer.Add(place, fact).ok());
    const std::vector<Hash128> batches = {HashOf(BatchId{"agent", "boot", 1})};
    EXPECT_TRUE(writer.Finish(3, 5, batches).ok());
    return bytes;
  }
  base::Result<std::shared_ptr<const SymbolRun>> Open(const std::string& bytes) {
    return SymbolRun::Open(std::make_unique<OwnedSource>(bytes), &cache_);
  }
  // Of several images, enough for several blocks.
  std::map<Place, Fact> Many() {
    std::map<Place, Fact> facts;
    for (uint64_t i = 0; i < 3'000; ++i) {
      facts[PlaceAt("image " + std::to_string(i % 7), i * 16)] =
          given_.Of(1'000 + i, {"function " + std::to_string(i % 900)});
    }
    return facts;
  }

  GivenFacts given_;
  index::PageCache cache_{1 << 20};
};

TEST_F(SymbolRunTest, FindsWhatWasWritten) {
  const std::map<Place, Fact> facts = Many();
  const auto run = Open(Write(facts));
  ASSERT_TRUE(run.ok()) << run.error().message();
  EXPECT_GT((*run)->block_count(), 2u);
  EXPECT_EQ((*run)->facts().places, 3'000u);
  EXPECT_EQ((*run)->facts().new_places, 5u);
  EXPECT_EQ((*run)->facts().first_file, 3u);
  EXPECT_EQ((*run)->facts().oldest_version, 1'000u);
  EXPECT_EQ((*run)->facts().newest_version, 3'999u);
  EXPECT_EQ((*run)->batches().size(), 1u);
  EXPECT_EQ((*run)->newest(PlaceAt("image 6", 0).image), 1'000u + 2'994 + 1);
  EXPECT_EQ((*run)->newest(PlaceAt("image 7", 0).image), 0u);
  std::shared_ptr<const FactBlock> owner;
  for (const auto& [place, fact] : facts) {
    const auto found = (*run)->Find(place, 0, &owner);
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(Text(*found), Text(fact));
    EXPECT_FALSE((*run)->Find({place.image, place.address + 1}, 0, &owner)->has_value());
    EXPECT_FALSE((*run)->Find(place, fact.version, &owner)->has_value());
    EXPECT_TRUE((*run)->Find(place, fact.version - 1, &owner)->has_value());
  }
}

TEST_F(SymbolRunTest, AFileWithoutFactsIsOne) {
  const auto run = Open(Write({}));
  ASSERT_TRUE(run.ok()) << run.error().message();
  std::shared_ptr<const FactBlock> owner;
  EXPECT_FALSE((*run)->Find(PlaceAt("a", 1), 0, &owner)->has_value());
}

// Each byte is under a checksum: what is read is what was written, or nothing.
TEST_F(SymbolRunTest, DamageIsFound) {
  std::map<Place, Fact> facts;
  for (uint64_t i = 0; i < 20; ++i) facts[PlaceAt("a", i)] = given_.Of(i + 1, {"f"});
  const std::string whole = Write(facts);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(Open(whole.substr(0, bytes)).ok()) << bytes;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    const auto run = Open(changed);
    if (!run.ok()) continue;
    std::shared_ptr<const FactBlock> owner;
    const auto found = (*run)->Find(PlaceAt("a", 3), 0, &owner);
    ASSERT_FALSE(found.ok()) << at;
    EXPECT_EQ(found.error().code(), base::ErrorCode::kCorrupt);
    SymbolView view({}, {*run}, UINT64_MAX);
    EXPECT_FALSE(view.Find(PlaceAt("a", 3), 0).has_value());
    ASSERT_TRUE(view.damage().has_value());
    EXPECT_EQ(view.damage()->run, *run);
  }
}

TEST_F(SymbolRunTest, TheNewestOfSeveralFilesHolds) {
  const Place place = PlaceAt("a", 16);
  const Place old_only = PlaceAt("a", 32);
  const auto older =
      Open(Write({{place, given_.Of(10, {"old"})}, {old_only, given_.Of(11, {"f"})}}));
  const auto newer = Open(Write({{place, given_.Of(20, {"new"})}}));
  const auto recent = std::make_shared<RecentSymbols>();
  recent->Add(place, given_.Of(30, {"newest"}));
  recent->Add(place, given_.Of(40, {"too new"}));
  SymbolView view({recent}, {*newer, *older}, 35);
  const auto name = [&](const Place& of, uint64_t after) {
    const auto fact = view.Find(of, after);
    return fact ? std::string(fact->lines[0].function->name) : "none";
  };
  EXPECT_EQ(name(place, 0), "newest");
  EXPECT_EQ(name(place, 30), "none");
  EXPECT_EQ(name(old_only, 0), "f");
  EXPECT_EQ(name(old_only, 11), "none");
  EXPECT_TRUE(view.Knows(place.image, 34));
  EXPECT_FALSE(view.Knows(place.image, 35));
  EXPECT_FALSE(view.Knows(PlaceAt("b", 0).image, 0));
  SymbolView before({}, {*newer, *older}, 25);
  EXPECT_EQ(before.Find(place, 0)->lines[0].function->name, "new");
}

}  // namespace
}  // namespace vesta::store::symbols
