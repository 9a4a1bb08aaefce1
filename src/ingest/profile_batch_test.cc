#include "src/ingest/profile_batch.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "src/store/batch_check.h"
#include "src/store/row_labels.h"
#include "src/wire/folded_decoder.h"
#include "test/support/synthetic_profile.h"

namespace vesta::ingest {
namespace {

using profile::Label;
using profile::LabelSetId;
using profile::Profile;
using store::Labels;

constexpr int64_t kTimeUnixMs = 1'700'000'000'000;

// A profile of sample types written "alloc_objects/count".
Profile Typed(const std::vector<std::string>& names) {
  Profile profile;
  std::vector<profile::ValueType> types;
  for (const std::string& name : names) {
    const size_t slash = name.find('/');
    types.push_back(profile.InternValueType(name.substr(0, slash), name.substr(slash + 1)));
  }
  profile.SetSampleTypes(types);
  return profile;
}

void Sample(Profile* profile, const std::vector<Label>& labels,
            const std::vector<int64_t>& values) {
  profile->AppendSample({}, profile->InternLabels(labels), values);
}

BatchOptions At(int64_t time_unix_ms) {
  BatchOptions options;
  options.time_unix_ms = time_unix_ms;
  return options;
}

// "type/unit count_type" of each stored type.
std::vector<std::string> TypeNames(const Profile& profile) {
  const auto made = MakeBatch(profile, At(kTimeUnixMs));
  EXPECT_TRUE(made.ok()) << made.error().message();
  std::vector<std::string> names;
  for (const store::ProfileType& type : made->batch.types) {
    names.push_back(type.type + "/" + type.unit + " " + type.count_type);
  }
  return names;
}

TEST(MakeBatch, ACountGoesWithTheTypeThatItCounts) {
  using Names = std::vector<std::string>;
  const std::vector<std::pair<Names, Names>> cases = {
      {{"samples/count", "cpu/nanoseconds"}, {"cpu/nanoseconds samples"}},
      {{"samples/count", "wall/nanoseconds"}, {"wall/nanoseconds samples"}},
      {{"samples/count", "cycles/count"}, {"cycles/count samples"}},
      {{"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"},
       {"alloc_space/bytes alloc_objects", "inuse_space/bytes inuse_objects"}},
      {{"contentions/count", "delay/nanoseconds"}, {"delay/nanoseconds contentions"}},
      {{"objects/count", "space/bytes"}, {"space/bytes objects"}},
      {{"samples/count", "cpu/nanoseconds", "wall_samples/count", "wall/nanoseconds"},
       {"cpu/nanoseconds samples", "wall/nanoseconds wall_samples"}},
      {{"goroutine/count"}, {"goroutine/count "}},
      {{"cpu/nanoseconds"}, {"cpu/nanoseconds "}},
      {{"samples/count", "cycles/count", "faults/count"},
       {"samples/count ", "cycles/count ", "faults/count "}},
      {{"alloc_objects/count", "inuse_space/bytes"},
       {"alloc_objects/count ", "inuse_space/bytes "}},
      {{"objects_x/count", "other/bytes"}, {"objects_x/count ", "other/bytes "}},
      {{"cpu/nanoseconds", "samples/count"}, {"cpu/nanoseconds ", "samples/count "}},
  };
  for (const auto& [given, wanted] : cases) EXPECT_EQ(TypeNames(Typed(given)), wanted) << given[0];
}

TEST(MakeBatch, RowsCarryValueAndCount) {
  Profile profile = Typed({"samples/count", "cpu/nanoseconds", "goroutine/count"});
  Sample(&profile, {}, {3, 300, 7});
  const auto made = MakeBatch(profile, At(kTimeUnixMs));
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->batch.rows.size(), 2u);
  EXPECT_EQ(made->batch.rows[0].value, 300);
  EXPECT_EQ(made->batch.rows[0].count, 3);
  EXPECT_EQ(made->batch.rows[1].type, 1u);
  EXPECT_EQ(made->batch.rows[1].value, 7);
  EXPECT_EQ(made->batch.rows[1].count, 1);
  EXPECT_EQ(made->batch.rows[0].time_unix_ms, kTimeUnixMs);
  EXPECT_EQ(made->batch.rows[0].weight, 1.0f);
  EXPECT_EQ(made->batch.profile, &profile);
}

TEST(MakeBatch, FoldedStacksAreOfTheTypeThatThePusherNames) {
  const auto profile = wire::DecodeFolded("a;b 3\na;c 4\n");
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(TypeNames(*profile), std::vector<std::string>{"samples/count "});
  BatchOptions options = At(kTimeUnixMs);
  options.counted_type = "cpu";
  const auto made = MakeBatch(*profile, options);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->batch.types[0].type, "cpu");
  EXPECT_EQ(made->batch.types[0].unit, "count");
  EXPECT_EQ(made->batch.rows[0].value, 3);
}

TEST(MakeBatch, SortsLabelsIntoTaskSeriesAndTheReport) {
  Profile profile = Typed({"cpu/nanoseconds"});
  const std::vector<Label> labels = {profile.TextLabel("process", "nginx"),
                                     profile.TextLabel("thread", "worker"),
                                     profile.NumberLabel("pid", 12),
                                     profile.NumberLabel("tid", 13),
                                     profile.TextLabel("http.route", "/cart"),
                                     profile.TextLabel("span_id", "0011223344556677"),
                                     profile.NumberLabel("bytes", 64, "bytes"),
                                     profile.TextLabel("service.name", "own"),
                                     profile.TextLabel("process", "not counted")};
  Sample(&profile, labels, {5});
  Sample(&profile, labels, {6});
  BatchOptions options = At(kTimeUnixMs);
  options.labels = {{"service.name", "pushed"}, {"tier", "gold"}};
  const auto made = MakeBatch(profile, options);
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_EQ(made->batch.series, (std::vector<Labels>{{{"http.route", "/cart"},
                                                      {"process", "nginx"},
                                                      {"service.name", "pushed"},
                                                      {"tier", "gold"}}}));
  EXPECT_EQ(made->batch.tasks, (std::vector<store::Task>{{12, 13, "worker"}}));
  EXPECT_EQ(made->report.labels_dropped,
            (std::map<std::string, uint64_t>{{"bytes", 2}, {"span_id", 2}}));
}

TEST(MakeBatch, SpanIdsDoNotSplitSeries) {
  Profile profile = Typed({"cpu/nanoseconds"});
  for (int i = 0; i < 100; ++i) {
    Sample(&profile,
           {profile.TextLabel("a", "x"), profile.TextLabel("trace_id", std::to_string(i))}, {1});
  }
  const auto made = MakeBatch(profile, At(kTimeUnixMs));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->batch.series.size(), 1u);
  EXPECT_EQ(made->batch.tasks.size(), 1u);
  EXPECT_EQ(made->report.labels_dropped, (std::map<std::string, uint64_t>{{"trace_id", 100}}));
}

TEST(MakeBatch, EqualLabelsInAnotherOrderAreOneSeries) {
  Profile profile = Typed({"cpu/nanoseconds"});
  Sample(&profile, {profile.TextLabel("a", "x"), profile.TextLabel("b", "y")}, {1});
  Sample(&profile, {profile.TextLabel("b", "y"), profile.TextLabel("a", "x")}, {1});
  Sample(&profile, {profile.TextLabel("b", "x"), profile.TextLabel("a", "y")}, {1});
  const auto made = MakeBatch(profile, At(kTimeUnixMs));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->batch.series.size(), 2u);
  EXPECT_EQ(made->batch.rows[0].series, made->batch.rows[1].series);
  EXPECT_NE(made->batch.rows[0].series, made->batch.rows[2].series);
}

TEST(MakeBatch, PidsMayBeTextAndOddOnesAreReported) {
  Profile profile = Typed({"cpu/nanoseconds"});
  Sample(&profile, {profile.TextLabel("pid", "77"), profile.NumberLabel("tid", -1)}, {1});
  Sample(&profile, {profile.TextLabel("pid", "7x"), profile.NumberLabel("tid", 1LL << 32)}, {1});
  Sample(&profile, {profile.NumberLabel("thread", 3)}, {1});
  const auto made = MakeBatch(profile, At(kTimeUnixMs));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->batch.tasks, (std::vector<store::Task>{{77, 0, ""}, {0, 0, ""}}));
  EXPECT_EQ(made->report.labels_dropped,
            (std::map<std::string, uint64_t>{{"pid", 1}, {"thread", 1}, {"tid", 2}}));
}

TEST(MakeBatch, OfALabelThatComesTwiceTheFirstCounts) {
  Profile profile = Typed({"cpu/nanoseconds"});
  Sample(&profile,
         {profile.NumberLabel("pid", 1), profile.NumberLabel("pid", 2),
          profile.TextLabel("thread", "first"), profile.TextLabel("thread", "second"),
          profile.TextLabel("a", "first"), profile.TextLabel("a", "second")},
         {1});
  const auto made = MakeBatch(profile, At(kTimeUnixMs));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->batch.tasks, (std::vector<store::Task>{{1, 0, "first"}}));
  EXPECT_EQ(made->batch.series, (std::vector<Labels>{{{"a", "first"}}}));
  EXPECT_TRUE(made->report.labels_dropped.empty());
}

TEST(MakeBatch, LabelsOfForeignBytesBecomeUtf8) {
  Profile profile = Typed({"cpu/nanoseconds"});
  Sample(&profile, {profile.TextLabel("process", "a\xff"), profile.TextLabel("thread", "\xff")},
         {1});
  const auto made = MakeBatch(profile, At(kTimeUnixMs));
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_EQ(made->batch.series[0], (Labels{{"process", "a\xef\xbf\xbd"}}));
  EXPECT_EQ(made->batch.tasks[0].thread, "\xef\xbf\xbd");
}

TEST(MakeBatch, LeavesOutWhereNothingWasObserved) {
  Profile profile = Typed({"alloc_objects/count", "alloc_space/bytes", "inuse_space/bytes"});
  Sample(&profile, {}, {0, 0, 5});
  Sample(&profile, {}, {2, 0, 0});
  Sample(&profile, {}, {0, 8, 0});
  const auto made = MakeBatch(profile, At(kTimeUnixMs));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->report.samples, 3u);
  EXPECT_EQ(made->report.rows, 3u);
  EXPECT_EQ(made->report.values_empty, 3u);
  EXPECT_EQ(made->batch.rows[1].value, 0);
  EXPECT_EQ(made->batch.rows[1].count, 2);
  EXPECT_EQ(made->batch.rows[2].count, 0);
}

TEST(MakeBatch, TakesTheTimeOfThePusherThenOfTheProfileThenTheFallback) {
  Profile profile = Typed({"cpu/nanoseconds"});
  Sample(&profile, {}, {1});
  const auto time_of = [&](const BatchOptions& options) {
    const auto made = MakeBatch(profile, options);
    return made.ok() ? made->batch.rows[0].time_unix_ms : -1;
  };
  EXPECT_EQ(time_of({}), -1);
  BatchOptions options;
  options.fallback_time_unix_ms = 5;
  EXPECT_EQ(time_of(options), 5);
  profile.header().time_unix_ns = 1'000'000'000;
  EXPECT_EQ(time_of(options), 1'000);
  profile.header().duration_ns = 2'500'000;
  EXPECT_EQ(time_of(options), 1'002);
  profile.header().duration_ns = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(time_of(options), std::numeric_limits<int64_t>::max() / 1'000'000);
  options.time_unix_ms = 7;
  EXPECT_EQ(time_of(options), 7);
}

TEST(MakeBatch, TimesOfArrivalAreThoseThatNobodyGave) {
  Profile profile = Typed({"cpu/nanoseconds"});
  Sample(&profile, {}, {1});
  const auto has_times_of_arrival = [&](const BatchOptions& options) {
    const auto made = MakeBatch(profile, options);
    EXPECT_TRUE(made.ok());
    return made.ok() && made->batch.has_times_of_arrival;
  };
  BatchOptions arrived;
  arrived.fallback_time_unix_ms = 5;
  EXPECT_TRUE(has_times_of_arrival(arrived));
  EXPECT_FALSE(has_times_of_arrival(At(5)));
  // A row of another time has not that of its arrival.
  Sample(&profile, {profile.NumberLabel(store::kRowTime, 6, "milliseconds")}, {1});
  EXPECT_FALSE(has_times_of_arrival(arrived));
  profile = Typed({"cpu/nanoseconds"});
  Sample(&profile, {}, {1});
  profile.header().time_unix_ns = 1'000'000'000;
  EXPECT_FALSE(has_times_of_arrival(arrived));
}

TEST(MakeBatch, LabelsOfAnExportGiveEachRowItsOwnTimeWeightAndCount) {
  Profile profile = Typed({"wall/nanoseconds"});
  profile.header().time_unix_ns = kTimeUnixMs * 1'000'000;
  const auto time = [&](int64_t ms) {
    return profile.NumberLabel(store::kRowTime, ms, "milliseconds");
  };
  Sample(&profile,
         {time(5), profile.TextLabel(store::kRowWeight, "2.5"),
          profile.NumberLabel(store::kRowCount, 7)},
         {10});
  Sample(&profile, {}, {20});
  Sample(&profile,
         {time(6), profile.TextLabel(store::kRowWeight, "-1"),
          profile.NumberLabel(store::kRowCount, -3)},
         {30});
  const auto own = MakeBatch(profile, {});
  ASSERT_TRUE(own.ok()) << own.error().message();
  const auto& rows = own->batch.rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].time_unix_ms, 5);
  EXPECT_EQ(rows[0].weight, 2.5f);
  EXPECT_EQ(rows[0].count, 7);
  EXPECT_EQ(rows[1].time_unix_ms, kTimeUnixMs);
  EXPECT_EQ(rows[1].weight, 1.0f);
  EXPECT_EQ(rows[2].time_unix_ms, 6);
  EXPECT_EQ(rows[2].weight, 1.0f);
  EXPECT_EQ(rows[2].count, 1);
  EXPECT_EQ(own->batch.series.size(), 1u);
  const std::map<std::string, uint64_t> dropped = {{"vesta.count", 1}, {"vesta.weight", 1}};
  EXPECT_EQ(own->report.labels_dropped, dropped);
  const auto given = MakeBatch(profile, At(9));
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(given->batch.rows[0].time_unix_ms, 9);
}

TEST(MakeBatch, PeriodTypeComesFromTheHeader) {
  Profile profile = Typed({"samples/count", "cpu/nanoseconds"});
  profile.header().period_type = profile.InternValueType("cpu", "nanoseconds");
  const auto made = MakeBatch(profile, At(kTimeUnixMs));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->batch.types[0].period_type, "cpu");
  EXPECT_EQ(made->batch.types[0].period_unit, "nanoseconds");
}

TEST(MakeBatch, SaysWhatItRefuses) {
  const auto error_of = [](const Profile& profile, BatchOptions options = At(kTimeUnixMs)) {
    const auto made = MakeBatch(profile, options);
    EXPECT_FALSE(made.ok());
    return made.ok() ? "" : made.error().message();
  };
  EXPECT_NE(error_of(Profile()).find("no sample types"), std::string::npos);
  EXPECT_NE(error_of(Typed({"a/b", "a/b"})).find("a/b twice"), std::string::npos);
  EXPECT_NE(error_of(Typed({"/b"})).find("type is empty"), std::string::npos);

  Profile negative = Typed({"samples/count", "cpu/nanoseconds"});
  Sample(&negative, {}, {1, -3});
  EXPECT_NE(error_of(negative).find("sample 0 has -3 as its value of cpu/nanoseconds"),
            std::string::npos);
  Profile negative_count = Typed({"samples/count", "cpu/nanoseconds"});
  Sample(&negative_count, {}, {-1, 3});
  EXPECT_NE(error_of(negative_count).find("samples/count"), std::string::npos);

  Profile untimed = Typed({"cpu/nanoseconds"});
  EXPECT_NE(error_of(untimed, {}).find("no time was given"), std::string::npos);

  Profile good = Typed({"cpu/nanoseconds"});
  Sample(&good, {}, {1});
  EXPECT_NE(error_of(good, At(-1)).find("before 1970"), std::string::npos);
  Profile long_label = Typed({"cpu/nanoseconds"});
  Sample(&long_label, {long_label.TextLabel("a", std::string(3000, 'x'))}, {1});
  EXPECT_NE(error_of(long_label).find("the label a is longer"), std::string::npos);
}

TEST(MakeBatch, EveryValueOfAnyProfileIsARowOrReported) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Profile profile =
        test::SyntheticProfile({.seed = seed, .samples = 200, .odd_content = false});
    const auto made = MakeBatch(profile, At(kTimeUnixMs));
    ASSERT_TRUE(made.ok()) << "seed " << seed << ": " << made.error().message();
    EXPECT_TRUE(store::CheckBatch(made->batch).ok());
    EXPECT_EQ(made->report.rows + made->report.values_empty,
              made->report.samples * made->batch.types.size());
    std::vector<int64_t> sums(made->batch.types.size());
    for (const store::BatchRow& row : made->batch.rows) sums[row.type] += row.value;
    for (size_t type = 0; type < sums.size(); ++type) {
      int64_t wanted = 0;
      for (size_t i = 0; i < profile.sample_count(); ++i) {
        for (size_t t = 0; t < profile.sample_types().size(); ++t) {
          if (profile.String(profile.sample_types()[t].type) == made->batch.types[type].type)
            wanted += profile.sample_values(i)[t];
        }
      }
      EXPECT_EQ(sums[type], wanted) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace vesta::ingest
