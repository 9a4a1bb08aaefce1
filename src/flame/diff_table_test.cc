#include "src/flame/diff_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace vesta::flame {
namespace {

using profile::LocationId;
using profile::Profile;

// A recording: counts per stack, stacks root first, "name" or "name@binary".
class Recording {
 public:
  explicit Recording(int64_t period = 1000) : period_(period) {
    profile.SetSampleTypes({profile.InternValueType("cpu", "nanoseconds")});
    profile.header().period_type = profile.sample_types()[0];
    profile.header().period = period;
  }
  Recording& Add(const std::vector<std::string>& root_first, int64_t count) {
    std::vector<LocationId> stack;
    for (size_t i = root_first.size(); i-- > 0;) stack.push_back(Location(root_first[i]));
    profile.AddSample(profile.InternStack(stack), {}, {{count * period_}});
    return *this;
  }
  LocationId Location(const std::string& text) {
    const size_t at = text.find('@');
    profile::MappingId mapping = profile::kNoMapping;
    if (at != std::string::npos)
      mapping = profile.AddMapping({profile.InternString(text.substr(at + 1)), {}, 0, 0, 0});
    const std::string name = text.substr(0, at);
    if (name.starts_with("0x"))
      return profile.InternLocation({mapping, std::stoull(name, nullptr, 16), false, {}});
    const profile::Line line{profile.InternFunction({profile.InternString(name), {}, {}, 0}), 0, 0};
    return profile.InternLocation({mapping, 0, false, {&line, 1}});
  }
  Profile profile;

 private:
  int64_t period_;
};

DiffTable Diff(const Recording& before, const Recording& after, const DiffOptions& options = {}) {
  const TreeInput inputs[] = {{&before.profile, "a"}, {&after.profile, "b"}};
  const auto tree = MakeStackTree(inputs);
  EXPECT_TRUE(tree.ok());
  return MakeDiffTable(*tree, 0, options);
}

// "name [image] self before/after total before/after", in samples; ~ = within noise.
std::vector<std::string> Rows(const DiffTable& table) {
  std::vector<std::string> texts;
  const auto text = [](const DiffFigure& figure) {
    return ' ' + std::to_string(figure.before / 1000) + '/' + std::to_string(figure.after / 1000) +
           (figure.within_noise ? "~" : "");
  };
  for (const DiffRow& row : table.rows)
    texts.push_back(row.name + " [" + row.image + ']' + text(row.self) + text(row.total));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(DiffTableTest, LargestDifferenceStandsFirstAndNewAndGoneAreTold) {
  Recording a, b;
  a.Add({"main", "same"}, 100).Add({"main", "gone"}, 50).Add({"main"}, 400);
  b.Add({"main", "same"}, 100).Add({"main", "new"}, 20).Add({"main"}, 500);
  const DiffTable table = Diff(a, b);
  EXPECT_EQ(Rows(table), (Texts{"main [] 400/500 550/620", "gone [] 50/0 50/0", "new [] 0/20 0/20",
                                "same [] 100/100~ 100/100~"}));
  EXPECT_TRUE(table.rows[1].is_gone());
  EXPECT_FALSE(table.rows[1].is_new());
  EXPECT_TRUE(table.rows[2].is_new());
  EXPECT_EQ(table.sum.before, 550'000);
  EXPECT_EQ(table.sum.after, 620'000);
  EXPECT_EQ(table.sample_counts, (std::array<int64_t, 2>{550, 620}));
  EXPECT_EQ(Diff(b, a, {.order = DiffOrder::kTotal}).rows[0].name, "main");
}

TEST(DiffTableTest, FilesAreRowsOfTheirOwnWhereNoBinaryIsKnown) {
  const auto add = [](Recording& recording, std::string_view file, int64_t count) {
    Profile& profile = recording.profile;
    const profile::Line line{
        profile.InternFunction({profile.InternString("run"), {}, profile.InternString(file), 0}), 0,
        0};
    const LocationId location = profile.InternLocation({profile::kNoMapping, 0, false, {&line, 1}});
    profile.AddSample(profile.InternStack({{location}}), {}, {{count * 1000}});
  };
  Recording a, b;
  add(a, "a.py", 10);
  add(a, "b.py", 20);
  add(b, "b.py", 90);
  const DiffTable table = Diff(a, b);
  ASSERT_EQ(Rows(table), (Texts{"run [] 20/90 20/90", "run [] 10/0 10/0"}));
  EXPECT_EQ(table.rows[0].file, "b.py");
  EXPECT_TRUE(table.rows[1].is_gone());
}

TEST(DiffTableTest, ProcessesAreNoRowsAndRecursionCountsOnce) {
  Recording a, b;
  a.Add({"f", "g", "f"}, 10);
  b.Add({"f", "g", "f"}, 30);
  const auto labels = b.profile.InternLabels(std::vector{b.profile.TextLabel("process", "nginx")});
  b.profile.AppendSample(b.profile.InternStack(std::vector{b.Location("f")}), labels, {{1000}});
  EXPECT_EQ(Rows(Diff(a, b)), (Texts{"f [] 10/31 10/31", "g [] 0/0~ 10/30"}));
}

TEST(DiffTableTest, AddressesWithoutANameAreOneRowPerBinary) {
  Recording a, b;
  a.Add({"0x10@/lib/x.so", "0x20@/lib/x.so"}, 10);
  b.Add({"0x10@/lib/x.so", "0x90@/lib/x.so"}, 50).Add({"0x10@/lib/y.so"}, 7);
  const DiffTable table = Diff(a, b);
  EXPECT_EQ(Rows(table), (Texts{" [x.so] 10/50 10/50", " [y.so] 0/7 0/7"}));
  EXPECT_EQ(table.rows[0].unnamed_address_count, 3u);
}

TEST(DiffTableTest, NormalizedSidesHaveEqualSums) {
  Recording a, b;
  a.Add({"f"}, 100).Add({"g"}, 300);
  b.Add({"f"}, 50).Add({"g"}, 150);
  EXPECT_EQ(Rows(Diff(a, b)), (Texts{"g [] 300/150 300/150", "f [] 100/50 100/50"}));
  const DiffTable table = Diff(a, b, {.normalize = true});
  EXPECT_EQ(Rows(table), (Texts{"f [] 100/100~ 100/100~", "g [] 300/300~ 300/300~"}));
  EXPECT_EQ(table.after_scale, 2);
  EXPECT_EQ(table.sum.after, 200'000);
}

TEST(DiffTableTest, EachSideHasTheNoiseOfItsOwnPeriod) {
  // 100 samples of 1000 against 10 of 11,500: sqrt(100 * 1000^2 + 10 * 11500^2) = 37,709.
  Recording a(1000), fine(1000), coarse(11'500);
  a.Add({"f"}, 100);
  coarse.Add({"f"}, 10);
  fine.Add({"f"}, 129);
  EXPECT_TRUE(Diff(a, coarse).rows[0].self.within_noise);
  EXPECT_TRUE(Diff(a, fine).rows[0].self.within_noise);
  fine.Add({"f"}, 3);
  EXPECT_FALSE(Diff(a, fine).rows[0].self.within_noise);
  fine.profile.header().period = 0;
  const DiffTable unknown = Diff(a, fine);
  EXPECT_FALSE(unknown.noise_known);
  EXPECT_FALSE(unknown.rows[0].self.within_noise);
}

// Functions of many sizes, counted by chance.
class NoiseTest : public testing::Test {
 protected:
  // Counts of one recording; `planted` times as much in function 0.
  void Fill(Recording& recording, double planted) {
    for (int i = 0; i < kFunctions; ++i) {
      const double mean = i == 0 ? 9000 * planted : 20 + 3 * i;
      std::poisson_distribution<int64_t> count(mean);
      recording.Add({"main", "f" + std::to_string(i)}, count(random_));
    }
  }
  static constexpr int kFunctions = 1000;
  std::mt19937_64 random_{7};
};

TEST_F(NoiseTest, NineteenOfTwentyUnchangedFunctionsAreWithinNoise) {
  for (const bool normalize : {false, true}) {
    Recording a, b;
    Fill(a, 1);
    Fill(b, 1);
    if (normalize) Fill(b, 1);  // twice as long
    const DiffTable table = Diff(a, b, {.normalize = normalize});
    const auto within =
        std::ranges::count_if(table.rows, [](const DiffRow& row) { return row.self.within_noise; });
    EXPECT_GT(within, kFunctions * 93 / 100) << normalize;
    EXPECT_LT(within, kFunctions * 98 / 100) << normalize;
  }
}

TEST_F(NoiseTest, APlantedChangeOfAnEighthStandsFirst) {
  Recording a, b;
  Fill(a, 1);
  Fill(b, 1.12);
  const DiffTable table = Diff(a, b);
  EXPECT_EQ(table.rows[0].name, "f0");
  EXPECT_FALSE(table.rows[0].self.within_noise);
  EXPECT_NEAR(static_cast<double>(table.rows[0].self.difference()) / 9'000'000, 0.12, 0.05);
}

// What an agent keeps whose CPU limit slowed it from a weight of 1 to one of 16 in mid recording.
class MixedWeightsTest : public testing::Test {
 protected:
  // times: as much of each function, of function 0 `planted` times more.
  Profile Draw(double times, double planted) {
    Profile profile;
    profile.SetSampleTypes(
        {profile.InternValueType("samples", "count"), profile.InternValueType("cpu", "ms")});
    profile.header().period_type = profile.sample_types()[1];  // the period is not one
    for (int i = 0; i < kFunctions; ++i) {
      const double value = times * (400 + 10 * i) * (i == 0 ? planted : 1);
      const profile::Line line{
          profile.InternFunction({profile.InternString("f" + std::to_string(i)), {}, {}, 0}), 0, 0};
      const LocationId leaf = profile.InternLocation({profile::kNoMapping, 0, false, {&line, 1}});
      const int64_t quick = std::poisson_distribution<int64_t>(value / 2)(random_);
      const int64_t slow = std::poisson_distribution<int64_t>(value / 2 / 16)(random_);
      profile.AddSample(profile.InternStack({{leaf}}), {}, {{quick + slow, quick + 16 * slow}});
      const profile::Line rare{profile.InternFunction({profile.InternString("rare"), {}, {}, 0}),
                               i + 1, 0};
      const LocationId cold = profile.InternLocation({profile::kNoMapping, 0, false, {&rare, 1}});
      const bool is_slow = i % 17 == 16;
      profile.AddSample(profile.InternStack({{cold}}), {}, {{1, is_slow ? 16 : 1}});
    }
    return profile;
  }
  static DiffTable Diff(const Profile& before, const Profile& after) {
    const TreeInput inputs[] = {{&before, "a"}, {&after, "b"}};
    return MakeDiffTable(*MakeStackTree(inputs), 1);
  }
  static constexpr int kFunctions = 340;
  std::mt19937_64 random_{5};
};

TEST_F(MixedWeightsTest, UnchangedIsNoiseAndAPlantedChangeIsNot) {
  const Profile before = Draw(1, 1);
  const DiffTable table = Diff(before, Draw(1, 3));
  EXPECT_TRUE(table.noise_known);
  const auto within =
      std::ranges::count_if(table.rows, [](const DiffRow& row) { return row.self.within_noise; });
  EXPECT_GT(within, kFunctions * 92 / 100);
  EXPECT_LT(within, kFunctions * 99 / 100);
  const auto planted = std::ranges::find(table.rows, "f0", &DiffRow::name);
  ASSERT_NE(planted, table.rows.end());
  EXPECT_FALSE(planted->self.within_noise);
  int64_t count = 0;
  for (size_t i = 0; i < before.sample_count(); ++i) count += before.sample_values(i)[0];
  EXPECT_EQ(table.sample_counts[0], count) << "samples are counted, whatever they stand for";
}

}  // namespace
}  // namespace vesta::flame
