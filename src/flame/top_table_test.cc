#include "src/flame/top_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "test/support/synthetic_profile.h"

namespace vesta::flame {
namespace {

using profile::LocationId;
using profile::Profile;

class Made {
 public:
  Made() {
    profile.SetSampleTypes({profile.InternValueType("samples", "count"),
                            profile.InternValueType("cpu", "nanoseconds")});
  }
  LocationId At(std::initializer_list<std::string_view> innermost_first, std::string_view path = "",
                uint64_t address = 0) {
    std::vector<profile::Line> lines;
    for (const std::string_view name : innermost_first)
      lines.push_back({profile.InternFunction({profile.InternString(name), {}, {}, 0}), 0, 0});
    profile::MappingId mapping = profile::kNoMapping;
    if (!path.empty()) mapping = profile.AddMapping({profile.InternString(path), {}, 0, 0, 0});
    return profile.AddLocation({mapping, address, false, lines});
  }
  void Add(std::initializer_list<LocationId> leaf_first, int64_t count) {
    const int64_t values[] = {count, count * 1000};
    profile.AppendSample(profile.InternStack(leaf_first), {}, values);
  }
  // "name [image] self total" per row.
  std::vector<std::string> Rows(size_t type = 0, TopOrder order = TopOrder::kSelf) const {
    std::vector<std::string> texts;
    for (const TopRow& row : MakeTopTable(profile, type, order).rows) {
      texts.push_back(row.name + " [" + row.image + "] " + std::to_string(row.self) + ' ' +
                      std::to_string(row.total));
    }
    return texts;
  }
  Profile profile;
};

using Texts = std::vector<std::string>;

TEST(TopTableTest, SelfIsTheLeafTotalEveryFrame) {
  Made made;
  const LocationId a = made.At({"a"}), b = made.At({"b"}), main = made.At({"main"});
  made.Add({a, b, main}, 5);
  made.Add({b, main}, 2);
  made.Add({main}, 1);
  EXPECT_EQ(made.Rows(), (Texts{"a [] 5 5", "b [] 2 7", "main [] 1 8"}));
  EXPECT_EQ(made.Rows(1), (Texts{"a [] 5000 5000", "b [] 2000 7000", "main [] 1000 8000"}));
  EXPECT_EQ(made.Rows(0, TopOrder::kTotal), (Texts{"main [] 1 8", "b [] 2 7", "a [] 5 5"}));
}

TEST(TopTableTest, RecursionCountsOncePerSample) {
  Made made;
  const LocationId f = made.At({"f"}, "", 1), f_elsewhere = made.At({"f"}, "", 2);
  made.Add({f, f_elsewhere, f}, 3);
  EXPECT_EQ(made.Rows(), (Texts{"f [] 3 3"}));
}

TEST(TopTableTest, InlinedFunctionsCountInnermostAsSelf) {
  Made made;
  made.Add({made.At({"inner", "middle", "outer"}), made.At({"outer"})}, 4);
  EXPECT_EQ(made.Rows(), (Texts{"inner [] 4 4", "middle [] 0 4", "outer [] 0 4"}));
}

TEST(TopTableTest, OneNameInTwoBinariesIsTwoRows) {
  Made made;
  const LocationId nginx = made.At({"main"}, "/usr/sbin/nginx");
  const LocationId redis = made.At({"main"}, "/usr/bin/redis");
  const LocationId redis_again = made.At({"main"}, "/usr/bin/redis");  // second mapping of the file
  made.Add({nginx}, 1);
  made.Add({redis}, 2);
  made.Add({redis_again}, 3);
  EXPECT_EQ(made.Rows(), (Texts{"main [redis] 5 5", "main [nginx] 1 1"}));
}

TEST(TopTableTest, OneNameInTwoFilesIsTwoRowsWhereNoBinaryIsKnown) {
  Made made;
  const auto at = [&](std::string_view file, std::string_view path) {
    Profile& profile = made.profile;
    const profile::Line line{
        profile.InternFunction({profile.InternString("run"), {}, profile.InternString(file), 0}), 0,
        0};
    profile::MappingId mapping = profile::kNoMapping;
    if (path != "none") mapping = profile.AddMapping({profile.InternString(path), {}, 0, 0, 0});
    return profile.AddLocation({mapping, 0, false, {&line, 1}});
  };
  made.Add({at("b/run.py", "none"), at("a/run.py", "none"), at("a/run.py", "")}, 1);
  made.Add({at("a.c", "/bin/app"), at("b.c", "/bin/app")}, 5);
  const TopTable table = MakeTopTable(made.profile, 0);
  std::vector<std::string> rows;
  for (const TopRow& row : table.rows) {
    rows.push_back(row.image + ' ' + row.file + ' ' + std::to_string(row.self) + ' ' +
                   std::to_string(row.total));
  }
  EXPECT_EQ(rows, (Texts{"app  5 5", " b/run.py 1 1", " a/run.py 0 1"}));
}

TEST(TopTableTest, CodeWithoutANameIsOneRowPerBinaryThatCountsAddresses) {
  Made made;
  const LocationId one = made.At({}, "/lib/libx.so", 0x10);
  const LocationId two = made.At({}, "/lib/libx.so", 0x20);
  const LocationId unused = made.At({}, "/lib/libx.so", 0x30);
  const LocationId nowhere = made.At({}, "", 0x40);
  made.Add({one, two}, 3);
  made.Add({two, one}, 1);
  made.Add({unused}, 0);
  made.Add({nowhere}, 1);
  const TopTable table = MakeTopTable(made.profile, 0);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].name, "");
  EXPECT_EQ(table.rows[0].image, "libx.so");
  EXPECT_EQ(table.rows[0].self, 4);
  EXPECT_EQ(table.rows[0].total, 4);
  EXPECT_EQ(table.rows[0].unnamed_address_count, 2u);
  EXPECT_EQ(table.rows[1].unnamed_address_count, 1u);
}

TEST(TopTableTest, SystemNameStandsInForAMissingName) {
  Made made;
  const profile::Line line{made.profile.AddFunction({{}, made.profile.InternString("_Zf"), {}, 0}),
                           0, 0};
  made.Add({made.profile.AddLocation({profile::kNoMapping, 0, false, {&line, 1}})}, 1);
  EXPECT_EQ(made.Rows(), (Texts{"_Zf [] 1 1"}));
}

TEST(TopTableTest, TiesAreOrderedByNameThenBinary) {
  Made made;
  made.Add({made.At({"b"}), made.At({"z"}), made.At({"y"})}, 1);
  made.Add({made.At({"a"}, "/2")}, 1);
  made.Add({made.At({"a"}, "/1")}, 1);
  EXPECT_EQ(made.Rows(), (Texts{"a [1] 1 1", "a [2] 1 1", "b [] 1 1", "y [] 0 1", "z [] 0 1"}));
}

TEST(TopTableTest, HeadFactsComeFromTheProfile) {
  Made made;
  made.profile.header().duration_ns = 7;
  made.Add({made.At({"a"})}, 3);
  made.Add({}, 4);
  const TopTable table = MakeTopTable(made.profile, 1);
  EXPECT_EQ(table.type, "cpu");
  EXPECT_EQ(table.unit, "nanoseconds");
  EXPECT_EQ(table.sum, 7000);
  EXPECT_EQ(table.sample_count, 7);
  EXPECT_EQ(table.duration_ns, 7);
  Profile heap;
  heap.SetSampleTypes({heap.InternValueType("space", "bytes")});
  heap.AppendSample({}, {}, {{-5}});
  heap.AppendSample({}, {}, {{5}});
  EXPECT_EQ(MakeTopTable(heap, 0).sample_count, 2);
  EXPECT_EQ(MakeTopTable(heap, 0).sum, 10);
  EXPECT_TRUE(MakeTopTable(Profile{}, 0).rows.empty());
}

// The same figures by the plainest way, sample by sample.
TEST(TopTableTest, EqualsACountByHandOnRandomProfiles) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Profile profile = test::SyntheticProfile({.seed = seed, .samples = 50});
    using Key = std::pair<std::string, std::string>;
    std::map<Key, std::pair<int64_t, int64_t>> expected;
    for (size_t i = 0; i < profile.sample_count(); ++i) {
      const int64_t value = profile.sample_values(i)[1];
      std::vector<Key> frames;
      for (const LocationId id : profile.stack(profile.sample_stack(i))) {
        const auto location = profile.location(id);
        const std::string image(profile::MappingShortName(profile, location.mapping));
        for (const profile::Line& line : location.lines) {
          const auto name = profile.String(profile.function(line.function).name);
          frames.push_back({std::string(name), image});
        }
        if (location.lines.empty()) frames.push_back({"", image});
      }
      if (frames.empty()) continue;
      expected[frames[0]].first += value;
      for (const Key& key : std::set<Key>(frames.begin(), frames.end()))
        expected[key].second += value;
    }
    std::erase_if(expected, [](const auto& entry) {
      return entry.second.first == 0 && entry.second.second == 0;
    });
    std::map<Key, std::pair<int64_t, int64_t>> actual;
    for (const TopRow& row : MakeTopTable(profile, 1).rows)
      actual[{row.name, row.image}] = {row.self, row.total};
    EXPECT_EQ(actual, expected);
  }
}

}  // namespace
}  // namespace vesta::flame
