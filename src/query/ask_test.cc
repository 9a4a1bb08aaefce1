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
  EXPECT_EQ(tree("{}"),
            "no type was named: name one of cpu:cycles (count: samples), cpu:nanoseconds (count: "
            "samples) as TYPE:UNIT");
  EXPECT_EQ(tree("cpu:cycles"), "cpu:cycles");
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
