#include "src/query/ask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "src/query/export_rows.h"
#include "src/store/memory/memory_store.h"
#include "test/support/synthetic_profile.h"

namespace vesta::query {
namespace {

constexpr int64_t kTime = 1'790'000'000'000;
constexpr int64_t kHourMs = 3'600'000;

// Stores the samples of a profile with two sample types, count and value.
void Keep(const profile::Profile& profile, const store::Labels& labels, int64_t time_unix_ms,
          store::MemoryStore& store) {
  store::Batch batch;
  batch.profile = &profile;
  const auto types = profile.sample_types();
  batch.types = {{std::string(profile.String(types[1].type)),
                  std::string(profile.String(types[1].unit)),
                  std::string(profile.String(types[0].type)), "cpu", "nanoseconds"}};
  batch.tasks = {{}};
  std::map<store::Labels, uint32_t> known;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    store::Labels own = labels;
    for (const profile::Label& label : profile.labels(profile.sample_labels(i))) {
      if (profile.String(label.key) == profile::kLabelProcess)
        own.push_back({"process", std::string(profile.String(label.text))});
    }
    std::ranges::sort(own);
    const auto [series, is_new] =
        known.try_emplace(own, static_cast<uint32_t>(batch.series.size()));
    if (is_new) batch.series.push_back(own);
    const auto values = profile.sample_values(i);
    if (values[0] == 0 && values[1] == 0) continue;
    batch.rows.push_back({.type = 0,
                          .series = series->second,
                          .task = 0,
                          .stack = profile.sample_stack(i),
                          .time_unix_ms = time_unix_ms,
                          .value = std::abs(values[1]),
                          .count = std::abs(values[0])});
  }
  const auto kept = store.Append(batch);
  ASSERT_TRUE(kept.ok()) << kept.error().message();
}

Request RequestFor(Question question, const std::vector<std::string>& selectors) {
  Request request;
  request.question = question;
  for (const std::string& text : selectors) {
    auto selector = ParseSelector(text);
    EXPECT_TRUE(selector.ok()) << text;
    request.selectors.push_back(std::move(*selector));
  }
  request.range = {kTime - kHourMs, kTime + kHourMs};
  request.now_unix_ms = kTime;
  request.nodes_max = 0;
  request.lines = true;
  return request;
}

template <typename Kind>
Kind MustAsk(store::Store& store, const Request& request) {
  auto answer = Ask(store, request);
  EXPECT_TRUE(answer.ok()) << answer.error().message();
  return std::get<Kind>(std::move(*answer));
}

// Everything of a tree but the numbers: nodes, what is known of functions, lines.
std::vector<std::string> TreeText(const flame::StackTree& tree) {
  std::vector<std::string> text;
  const auto function_text = [&](uint32_t id) {
    const flame::TreeFunction& row = tree.functions[id];
    return tree.strings[row.name] + " [" + tree.strings[row.image] + "] (" +
           tree.strings[row.file] + ':' + std::to_string(row.start_line) + ") " +
           std::to_string(static_cast<int>(row.kind)) + ' ' +
           std::to_string(static_cast<int>(row.inlined));
  };
  // Both sides of a difference together.
  const auto sums = [&](const std::vector<std::vector<int64_t>>& columns, size_t row) {
    std::string out;
    for (size_t type = 0; type < tree.value_types.size(); ++type) {
      int64_t sum = 0;
      for (size_t side = 0; side < tree.sides.size(); ++side)
        sum += columns[tree.column(type, side)][row];
      out += ' ' + std::to_string(sum);
    }
    return out;
  };
  std::vector<std::string> path;
  for (size_t node = 0; node < tree.node_count(); ++node) {
    path.resize(tree.depth[node]);
    path.push_back((path.empty() ? "" : path.back() + " > ") + function_text(tree.function[node]));
    text.push_back(path.back() + ':' + sums(tree.self, node));
  }
  for (size_t line = 0; line < tree.lines.size(); ++line) {
    text.push_back(function_text(tree.lines[line].function) + " line " +
                   std::to_string(tree.lines[line].line) + ':' + sums(tree.line_self, line) + ',' +
                   sums(tree.line_total, line));
  }
  std::ranges::sort(text);
  return text;
}

TEST(AskTest, AStoredProfileGivesTheTreeOfItsFile) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto profile = test::SyntheticProfile({.seed = seed, .samples = 60});
    store::MemoryStore store;
    Keep(profile, {}, kTime, store);
    const flame::TreeInput input{&profile, ""};
    const auto expected = flame::MakeStackTree({&input, 1});
    ASSERT_TRUE(expected.ok());
    const auto answer = MustAsk<TreeAnswer>(store, RequestFor(Question::kTree, {"cpu"}));
    EXPECT_EQ(TreeText(answer.tree), TreeText(*expected));
    ASSERT_EQ(answer.tree.value_types.size(), 2u);
  }
}

TEST(AskTest, TwoVersionsInOneStoreCompareAsTheirFilesDo) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // The second has its binaries in another folder.
    std::vector<profile::Profile> sides;
    for (const std::string_view folder : {"/app/1/", "/app/2/"}) {
      profile::Profile made;
      made.SetSampleTypes(
          {made.InternValueType("samples", "count"), made.InternValueType("cpu", "nanoseconds")});
      std::vector<profile::LocationId> stack;
      for (uint64_t i = 0; i < 3 + seed % 3; ++i) {
        const std::string name = "f" + std::to_string((seed * (i + 1)) % 4);
        const std::string path = std::string(i % 2 == 0 ? folder : "/lib/") + "bin";
        const auto mapping = made.AddMapping({made.InternString(path), {}});
        const profile::Line line{made.InternFunction({made.InternString(name), {}, {}, 0}), 5, 0};
        stack.push_back(made.InternLocation({mapping, i, false, {&line, 1}}));
        const int64_t values[] = {2, 20};
        made.AppendSample(made.InternStack(stack), {}, values);
      }
      sides.push_back(std::move(made));
    }
    store::MemoryStore store;
    Keep(sides[0], {{"service.version", "1"}}, kTime, store);
    Keep(sides[1], {{"service.version", "2"}}, kTime, store);
    const flame::TreeInput inputs[] = {{&sides[0], ""}, {&sides[1], ""}};
    const auto expected = flame::MakeStackTree(inputs);
    ASSERT_TRUE(expected.ok());
    const auto answer = MustAsk<TreeAnswer>(
        store, RequestFor(Question::kDiff, {"cpu{version=\"1\"}", "cpu{version=\"2\"}"}));
    EXPECT_EQ(answer.about.plan.reads.size(), 1u) << "no series is on both sides: one read";
    EXPECT_EQ(TreeText(answer.tree), TreeText(*expected));
    EXPECT_EQ(answer.tree.self, expected->self);
    ASSERT_EQ(answer.difference.size(), 1u);
    EXPECT_EQ(answer.difference[0].sum.before, answer.difference[0].sum.after);
  }
}

TEST(AskTest, AProfileOfASelectionHasAllThatTheStoreHas) {
  const auto profile = test::SyntheticProfile({.seed = 3, .samples = 60, .odd_content = false});
  store::MemoryStore store;
  Keep(profile, {{"service.name", "web"}}, kTime, store);
  Request request = RequestFor(Question::kProfile, {"cpu{service=\"web\"}"});
  const auto answer = MustAsk<ProfileAnswer>(store, request);
  EXPECT_TRUE(answer.profile.Validate().ok());
  EXPECT_EQ(answer.profile.header().period, 10'101'010);
  EXPECT_EQ(answer.profile.header().time_unix_ns, request.range.from_unix_ms * 1'000'000);
  const flame::TreeInput before{&profile, ""}, after{&answer.profile, ""};
  EXPECT_EQ(TreeText(*flame::MakeStackTree({&after, 1})),
            TreeText(*flame::MakeStackTree({&before, 1})));
  const auto mapping = answer.profile.mapping(profile::MappingId{0});
  EXPECT_TRUE(answer.profile.String(mapping.build_id).starts_with("abcdef0"));
}

TEST(AskTest, SamplesOfDifferentWeightHaveNoiseAndAreCounted) {
  profile::Profile profile;
  profile.SetSampleTypes(
      {profile.InternValueType("samples", "count"), profile.InternValueType("cpu", "nanoseconds")});
  for (int i = 0; i < 17; ++i) {
    const profile::Line line{
        profile.InternFunction({profile.InternString("f" + std::to_string(i)), {}, {}, 0}), 0, 0};
    const auto leaf = profile.InternLocation({profile::kNoMapping, 0, false, {&line, 1}});
    const int64_t values[] = {1, i == 0 ? 16 : 1};
    profile.AppendSample(profile.InternStack({{leaf}}), {}, values);
  }
  store::MemoryStore store;
  Keep(profile, {{"service.version", "1"}}, kTime, store);
  Keep(profile, {{"service.version", "2"}}, kTime, store);
  const auto answer = MustAsk<TreeAnswer>(
      store, RequestFor(Question::kDiff, {"cpu{version=\"1\"}", "cpu{version=\"2\"}"}));
  EXPECT_NEAR(answer.tree.value_types[1].per_sample[0], 8.5, 1e-9);
  ASSERT_EQ(answer.difference.size(), 1u);
  EXPECT_TRUE(answer.difference[0].noise_known);
  EXPECT_EQ(answer.difference[0].sample_counts, (std::array<int64_t, 2>{17, 17}));
  // As pprof, too, which is what `vesta diff` compares.
  const auto one = MustAsk<ProfileAnswer>(store, RequestFor(Question::kProfile, {"cpu"})).profile;
  EXPECT_EQ(one.header().period, 0) << "there is no one period";
  const flame::TreeInput input{&one, ""};
  const auto tree = flame::MakeStackTree({&input, 1});
  ASSERT_TRUE(tree.ok());
  EXPECT_NEAR(tree->value_types[1].per_sample[0], 8.5, 1e-9);
}

TEST(AskTest, ACutTreeSaysWhatItLeftOut) {
  const auto profile = test::SyntheticProfile({.seed = 5, .samples = 200, .odd_content = false});
  store::MemoryStore store;
  Keep(profile, {}, kTime, store);
  Request request = RequestFor(Question::kTree, {"cpu"});
  const auto whole = MustAsk<TreeAnswer>(store, request);
  EXPECT_EQ(whole.tree.value_types[1].per_sample[0], 10'101'010) << "what a sample stands for";
  request.nodes_max = 20;
  const auto cut = MustAsk<TreeAnswer>(store, request);
  EXPECT_EQ(cut.nodes_all, whole.tree.node_count());
  EXPECT_LE(cut.tree.node_count(), 20u);
  for (size_t column = 0; column < 2; ++column)
    EXPECT_EQ(flame::NodeTotals(cut.tree, column)[0], flame::NodeTotals(whole.tree, column)[0]);
  EXPECT_NE(AnswerJson(cut).find("\"[rest]\""), std::string::npos);
}

TEST(AskTest, TheDefaultTypeIsCpuElseTheOnlyOneElseAQuestion) {
  store::MemoryStore store;
  const auto make = [](std::string_view type, std::string_view unit) {
    profile::Profile made;
    made.SetSampleTypes(
        {made.InternValueType("samples", "count"), made.InternValueType(type, unit)});
    const int64_t values[] = {1, 10};
    made.AppendSample({}, {}, values);
    return made;
  };
  const auto wall = make("wall", "nanoseconds"), cpu = make("cpu", "nanoseconds"),
             cycles = make("cpu", "cycles");
  const auto tree = [&](const std::string& text) {
    const auto answer = Ask(store, RequestFor(Question::kTree, {text}));
    if (!answer.ok()) return answer.error().message();
    const About& about = AboutOf(*answer);
    return about.type_name() + ':' + about.unit() +
           (about.notes.empty() ? "" : " " + about.notes[0]);
  };
  EXPECT_EQ(tree("{}"), ": nothing is stored in this range: ask for another one");
  Keep(wall, {}, kTime, store);
  EXPECT_EQ(tree("{}"), "wall:nanoseconds");
  EXPECT_EQ(tree("heap"), "heap: there is no heap here, but wall:nanoseconds (count: samples)");
  Keep(cpu, {}, kTime, store);
  EXPECT_EQ(tree("{}"), "cpu:nanoseconds");
  EXPECT_EQ(tree("wall"), "wall:nanoseconds");
  EXPECT_EQ(tree("samples"),
            "samples is not one thing here: name one of cpu:nanoseconds (count: samples), "
            "wall:nanoseconds (count: samples) as TYPE:UNIT");
  Keep(cycles, {}, kTime, store);
  // A unit beside it changes nothing for those who ask for time.
  const std::string chosen = "cpu:nanoseconds this is cpu:nanoseconds; there is also cpu:cycles";
  EXPECT_EQ(tree("{}"), chosen);
  EXPECT_EQ(tree("cpu"), chosen);
  EXPECT_EQ(tree("cpu:cycles"), "cpu:cycles");
}

// Sums of `cpu` by selector, per unit: counts without a name of their own.
class UnitsTest : public testing::Test {
 protected:
  void Keep(const std::string& service, const std::string& type, const std::string& unit) {
    profile::Profile none;
    store::Batch batch;
    batch.profile = &none;
    batch.types = {{type, unit, "", "", ""}};
    batch.series = {{{"service.name", service}}};
    batch.tasks = {{}};
    batch.rows = {{.type = 0,
                   .series = 0,
                   .task = 0,
                   .stack = {},
                   .time_unix_ms = kTime,
                   .value = 10,
                   .count = 1}};
    ASSERT_TRUE(store_.Append(batch).ok());
  }
  // The unit of the answer, or the error.
  std::string UnitOf(Question question, const std::vector<std::string>& selectors) {
    const auto answer = Ask(store_, RequestFor(question, selectors));
    return answer.ok() ? AboutOf(*answer).unit() : answer.error().message();
  }
  store::MemoryStore store_;
};

TEST_F(UnitsTest, AnImportInAnotherUnitLeavesTheQuestionsOfOthersAsTheyWere) {
  for (const std::string service : {"a", "b"}) Keep(service, "cpu", "count");
  EXPECT_EQ(UnitOf(Question::kTop, {"cpu"}), "count");
  Keep("c", "cpu", "nanoseconds");
  for (const Question question :
       {Question::kTree, Question::kTop, Question::kSeries, Question::kProfile, Question::kLines})
    EXPECT_EQ(UnitOf(question, {"cpu"}), "nanoseconds") << QuestionName(question);
  EXPECT_EQ(UnitOf(Question::kTop, {"cpu{service=\"a\"}"}), "count");
  // Of units that are no time the one of most series, then of the first name.
  for (const std::string service : {"a", "b"}) Keep(service, "io", "pages");
  Keep("a", "io", "bytes");
  EXPECT_EQ(UnitOf(Question::kTop, {"io"}), "pages");
  EXPECT_EQ(UnitOf(Question::kTop, {"{}"}), "nanoseconds") << "cpu is the default";
}

TEST_F(UnitsTest, SidesAreComparedInAUnitThatBothHave) {
  Keep("a", "cpu", "count");
  Keep("b", "cpu", "count");
  Keep("b", "cpu", "nanoseconds");
  EXPECT_EQ(UnitOf(Question::kDiff, {"cpu{service=\"a\"}", "cpu{service=\"b\"}"}), "count");
  EXPECT_EQ(UnitOf(Question::kDiff, {"cpu{service=\"b\"}", "cpu{service=\"a\"}"}), "count");
  EXPECT_EQ(UnitOf(Question::kDiff, {"cpu", "cpu"}), "nanoseconds");
}

TEST_F(UnitsTest, SidesOfTwoTypesAreRefusedAlsoWithoutAUnit) {
  Keep("a", "cpu", "nanoseconds");
  Keep("a", "bare", "");
  EXPECT_EQ(UnitOf(Question::kDiff, {"cpu", "bare"}),
            "the sides are of different types: cpu:nanoseconds before, bare after");
  EXPECT_EQ(UnitOf(Question::kDiff, {"bare", "cpu"}),
            "the sides are of different types: bare before, cpu:nanoseconds after");
  EXPECT_EQ(UnitOf(Question::kDiff, {"cpu", "none"}), "nanoseconds");
  EXPECT_EQ(UnitOf(Question::kDiff, {"none", "cpu"}), "nanoseconds");
}

TEST_F(UnitsTest, AnExportHasTheRowsOfEachUnit) {
  Keep("a", "cpu", "count");
  Keep("a", "cpu", "nanoseconds");
  std::vector<std::string> units;
  const auto about = ExportRows(store_, RequestFor(Question::kRows, {"cpu"}), {},
                                [&](ExportPart part) -> base::Result<void> {
                                  units.push_back(part.type.unit);
                                  return {};
                                });
  ASSERT_TRUE(about.ok()) << about.error().message();
  std::ranges::sort(units);
  EXPECT_EQ(units, (std::vector<std::string>{"count", "nanoseconds"}));
}

TEST(AskTest, LimitsEndAnAnswer) {
  const auto profile = test::SyntheticProfile({.seed = 5, .samples = 200, .odd_content = false});
  store::MemoryStore store;
  Keep(profile, {}, kTime, store);
  std::atomic<bool> cancelled = true;
  AskOptions options;
  options.limits.cancelled = &cancelled;
  for (const Question question : {Question::kTree, Question::kTop, Question::kSeries}) {
    const auto answer = Ask(store, RequestFor(question, {"cpu"}), options);
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code(), base::ErrorCode::kUnavailable);
  }
  options.limits.cancelled = nullptr;
  options.limits.memory_bytes_max = 1000;
  const auto answer = Ask(store, RequestFor(Question::kTree, {"cpu"}), options);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code(), base::ErrorCode::kExhausted);
  Request steps = RequestFor(Question::kSeries, {"cpu"});
  steps.step_ms = 1;
  EXPECT_FALSE(Ask(store, steps).ok()) << "more than 11,000 steps";
}

TEST(AskTest, AQuestionTakesItsMemoryOfOneBudgetAndGivesItBack) {
  const auto profile = test::SyntheticProfile({.seed = 5, .samples = 200, .odd_content = false});
  store::MemoryStore store;
  Keep(profile, {}, kTime, store);
  for (const Question question :
       {Question::kTree, Question::kTop, Question::kProfile, Question::kCallers}) {
    SCOPED_TRACE(QuestionName(question));
    Request request = RequestFor(question, {"cpu"});
    request.function = "main";
    base::ByteBudget all(100'000'000);
    base::ByteBudget own(50'000'000, &all);
    AskOptions options;
    options.limits.memory = &own;
    ASSERT_TRUE(Ask(store, request, options).ok());
    EXPECT_GT(own.peak_bytes(), 1000u);
    EXPECT_EQ(all.used_bytes(), 0u) << "given back";
    // What others hold is missing here: to be tried again, and no fault of the question.
    ASSERT_TRUE(all.Take(100'000'000 - 500));
    const auto refused = Ask(store, request, options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), base::ErrorCode::kUnavailable);
    EXPECT_EQ(all.used_bytes(), 100'000'000u - 500);
    base::ByteBudget small(500);
    options.limits.memory = &small;
    const auto too_large = Ask(store, request, options);
    ASSERT_FALSE(too_large.ok());
    EXPECT_EQ(too_large.error().code(), base::ErrorCode::kExhausted);
  }
}

TEST(AskTest, PatternsOverManySeriesAndFunctionsLookAtTheLimits) {
  Listing listing;
  listing.ranges = {{0, 1000}};
  listing.types[store::TypeId(0)] = {"cpu", "nanoseconds", "", "", ""};
  listing.series.emplace_back();
  for (uint32_t i = 0; i < 2000; ++i) {
    listing.labels[store::SeriesId(i)] = {{"service.name", std::to_string(i)}};
    listing.series[0].push_back({store::SeriesId(i), store::TypeId(0), 1, 1});
  }
  const Request request = RequestFor(Question::kTop, {"cpu{service=~\".*9\"}"});
  ASSERT_TRUE(MakePlan(request, listing).ok());
  const std::atomic<bool> cancelled = true;
  const auto plan = MakePlan(request, listing, {.cancelled = &cancelled});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), base::ErrorCode::kUnavailable);
}

TEST(AskTest, ATitleSaysWhatWasAskedAndOfWhichTime) {
  const auto profile = test::SyntheticProfile({.seed = 5, .samples = 20, .odd_content = false});
  store::MemoryStore store;
  Keep(profile, {}, kTime, store);
  const std::string range = RangeText({kTime - kHourMs, kTime + kHourMs});
  const auto title = [&](Question question, const std::vector<std::string>& selectors) {
    Request request = RequestFor(question, selectors);
    request.function = "f";
    request.function_is_pattern = question == Question::kCallees;
    return TitleOf(AboutOf(*Ask(store, request)), request);
  };
  EXPECT_EQ(title(Question::kTree, {"{}"}), "cpu, " + range);
  EXPECT_EQ(title(Question::kCallers, {"cpu{service=\"x\"}"}),
            "callers of f, cpu{service.name=\"x\"}, " + range);
  EXPECT_EQ(title(Question::kCallees, {"cpu"}), "what /f/ calls, cpu, " + range);
  EXPECT_EQ(title(Question::kDiff, {"cpu{version=\"1\"}", "cpu{version=\"2\"}"}),
            "cpu{service.version=\"1\"} → cpu{service.version=\"2\"}, " + range);
  EXPECT_EQ(title(Question::kDiff, {"cpu@-2h..-1h", "cpu"}),
            "cpu, " + RangeText({kTime - 2 * kHourMs, kTime - kHourMs}) + " → cpu, " + range);
}

TEST(ExportRowsTest, EachRowComesWithAllThatItHas) {
  profile::Profile made;
  const profile::Line line{made.InternFunction({made.InternString("f"), {}, {}, 0}), 5, 0};
  const auto location = made.InternLocation({profile::kNoMapping, 1, false, {&line, 1}});
  store::Batch batch;
  batch.profile = &made;
  batch.types = {{"cpu", "nanoseconds", "samples", "", ""}, {"lock", "nanoseconds", "", "", ""}};
  batch.series = {{{"service.name", "web"}}};
  batch.tasks = {{7, 8, "worker"}};
  const auto stack = made.InternStack({&location, 1});
  batch.rows = {{0, 0, 0, stack, kTime + 5, 100, 2, 2.5f}, {1, 0, 0, stack, kTime, 30, 4, 1}};
  store::MemoryStore store;
  ASSERT_TRUE(store.Append(batch).ok());
  std::map<std::string, std::string> labels;
  const auto about = ExportRows(
      store, RequestFor(Question::kRows, {"{}"}), {}, [&](ExportPart part) -> base::Result<void> {
        const profile::Profile& profile = part.profile;
        EXPECT_EQ(profile.sample_count(), 1u);
        std::string& text = labels[part.type.type];
        for (const int64_t value : profile.sample_values(0)) text += std::to_string(value) + ' ';
        for (const profile::Label& label : profile.labels(profile.sample_labels(0))) {
          text += std::string(profile.String(label.key)) + '=' +
                  (label.is_number() ? std::to_string(label.number)
                                     : std::string(profile.String(label.text))) +
                  ' ';
        }
        return {};
      });
  ASSERT_TRUE(about.ok()) << about.error().message();
  EXPECT_EQ(labels["cpu"],
            "2 100 service.name=web pid=7 tid=8 thread=worker "
            "vesta.time=1790000000005 vesta.weight=2.5 ");
  EXPECT_EQ(labels["lock"],
            "30 service.name=web pid=7 tid=8 thread=worker "
            "vesta.time=1790000000000 vesta.count=4 ");
}

}  // namespace
}  // namespace vesta::query
