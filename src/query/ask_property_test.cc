#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "src/query/ask.h"
#include "src/query/naive_answer_for_test.h"
#include "src/store/contract/contract_data.h"
#include "src/store/memory/memory_store.h"

namespace vesta::query {
namespace {

using store::ContractRandom;
using store::kContractDayMs;
using store::kContractNowUnixMs;

constexpr uint64_t kSeeds = 20;
constexpr uint64_t kQuestionsPerStore = 12;

std::string MatcherText(ContractRandom& random) {
  const std::string_view choices[] = {
      "{}",
      "{service=~\".*1\"}",
      "{version!=\"\"}",
      "{process=~\"comm [01]\"}",
      "{process!~\"comm 0\"}",
      "{pid!=\"\"}",
      "{thread=~\"w.*\"}",
      "{service=\"no such\"}",
  };
  return std::string(choices[random.Below(std::size(choices))]);
}

class World {
 public:
  explicit World(uint64_t seed) : random(seed), store(store::MemoryStoreOptions{}) {
    const uint64_t batches = 1 + random.Below(8);
    for (uint64_t i = 0; i < batches; ++i) {
      given.push_back(store::RandomBatch(&random, {.has_odd_times = false}, i + 1));
      EXPECT_TRUE(store.Append(given.back()->batch).ok());
    }
    store::ReadReport report;
    const auto listed = store.Series({}, {}, &report);
    std::set<store::ProfileType> seen;
    for (const auto& row : *listed) seen.insert(store.type(row.type));
    types.assign(seen.begin(), seen.end());
  }

  Request Ask(Question question) {
    Request request;
    request.question = question;
    request.now_unix_ms = kContractNowUnixMs;
    const store::ProfileType& type = types[random.Below(types.size())];
    for (size_t side = 0; side < (question == Question::kDiff ? 2u : 1u); ++side) {
      auto selector = ParseSelector(MatcherText(random));
      EXPECT_TRUE(selector.ok());
      selector->type = type.type;
      selector->unit = type.unit;
      request.selectors.push_back(*selector);
    }
    request.range = {kContractNowUnixMs - random.Between(0, 7 * kContractDayMs),
                     kContractNowUnixMs + 1};
    if (random.Chance(3)) request.range.to_unix_ms -= random.Between(0, kContractDayMs);
    if (random.Chance(2)) request.range = store::WidenToMinutes(request.range);
    if (request.range.from_unix_ms >= request.range.to_unix_ms)
      request.range.from_unix_ms = request.range.to_unix_ms - 1;
    const std::vector<std::string> labels = {"process", "service.name", "service.version", "pid",
                                             "thread"};
    request.label = labels[random.Below(labels.size())];
    if (random.Chance(2)) {
      request.by.emplace();
      for (uint64_t i = random.Below(3); i-- > 0;) {
        const std::string& name = labels[random.Below(labels.size())];
        if (std::ranges::find(*request.by, name) == request.by->end()) request.by->push_back(name);
      }
    }
    request.rows_max = random.Chance(2) ? 0 : 1 + random.Below(6);
    request.nodes_max = 0;
    return request;
  }

  ContractRandom random;
  store::MemoryStore store;
  std::vector<std::unique_ptr<store::GivenBatch>> given;
  std::vector<store::ProfileType> types;
};

ValueCount SumOf(const std::vector<NaiveRow>& rows) {
  ValueCount sum;
  for (const NaiveRow& row : rows) {
    sum.value = profile::AddSaturating(sum.value, row.value);
    sum.count = profile::AddSaturating(sum.count, row.count);
  }
  return sum;
}

void Add(ValueCount& sum, const ValueCount& more) {
  sum.value = profile::AddSaturating(sum.value, more.value);
  sum.count = profile::AddSaturating(sum.count, more.count);
}

std::vector<NaiveRow> RowsOf(World& world, const Request& request, const About& about,
                             size_t side) {
  return NaiveRows(world.store, request.selectors[side], about.plan.ranges[side], about.plan.type);
}

bool HasLine(const NaiveFrame& frame) {
  return frame.line > 0 && frame.line <= std::numeric_limits<int32_t>::max();
}

template <typename Check>
void ForRandomQuestions(Question question, const Check& check) {
  uint64_t with_rows = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed);
    for (uint64_t i = 0; i < kQuestionsPerStore; ++i) {
      Request request = world.Ask(question);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", question " + std::to_string(i) + ": " +
                   SelectorText(request.selectors[0]));
      if (check(world, request)) ++with_rows;
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(with_rows, kSeeds) << "most questions found nothing";
}

TEST(AskPropertyTest, ATreeIsTheSumOfTheRows) {
  ForRandomQuestions(Question::kTree, [](World& world, const Request& request) {
    const auto answer = Ask(world.store, request);
    EXPECT_TRUE(answer.ok()) << answer.error().message();
    const auto& tree = std::get<TreeAnswer>(*answer);
    const auto rows = RowsOf(world, request, tree.about, 0);
    EXPECT_EQ(TreeOfNodes(tree.tree, 0), TreeOfRows(rows, tree.about.plan.by));
    const auto shown = tree.about.totals[0];
    EXPECT_EQ(shown.value, SumOf(rows).value);
    return !rows.empty();
  });
}

// Rows of many different stacks, on several days, some branches far larger than others.
void AppendManyStacks(ContractRandom& random, store::MemoryStore& store) {
  for (int64_t day = 0; day < 3; ++day) {
    profile::Profile profile;
    std::vector<profile::LocationId> locations;
    for (uint64_t i = 0; i < 300; ++i) {
      std::vector<profile::Line> lines;
      for (uint64_t inlined = random.Below(3) == 0 ? 2 : 1; inlined-- > 0;) {
        const std::string name = "function " + std::to_string((i + inlined * 7) % 120);
        lines.push_back({profile.InternFunction({profile.InternString(name), {}, {}, 0}),
                         1 + static_cast<int64_t>(i)});
      }
      locations.push_back(profile.InternLocation({.address = i, .lines = lines}));
    }
    store::Batch batch;
    batch.profile = &profile;
    batch.types = {{"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"}};
    batch.tasks = {{}};
    batch.series = {{{"process", "a"}}, {{"process", "b"}}};
    for (int i = 0; i < 3000; ++i) {
      std::vector<profile::LocationId> stack;
      for (uint64_t depth = 4 + random.Below(12); stack.size() < depth;) {
        // The fewer choices, the nearer to the root.
        const uint64_t choices = 2 + 4 * (depth - stack.size() > 8 ? 16 : stack.size());
        stack.push_back(locations[std::min(random.Below(choices), random.Below(choices))]);
      }
      std::reverse(stack.begin(), stack.end());
      const auto value = static_cast<int64_t>(1 + random.Below(random.Chance(50) ? 10'000 : 20));
      batch.rows.push_back({.type = 0,
                            .series = static_cast<uint32_t>(random.Below(2)),
                            .task = 0,
                            .stack = profile.InternStack(stack),
                            .time_unix_ms = kContractNowUnixMs - day * kContractDayMs,
                            .value = value * 1000,
                            .count = value});
    }
    ASSERT_TRUE(store.Append(batch).ok());
  }
}

struct PathSums {
  std::vector<int64_t> self;
  std::vector<int64_t> total;
  friend bool operator==(const PathSums&, const PathSums&) = default;
};
std::map<std::string, PathSums> SumsByPath(const flame::StackTree& tree) {
  std::map<std::string, PathSums> paths;
  std::vector<std::string> path;
  for (size_t column = 0; column < tree.self.size(); ++column) {
    const std::vector<int64_t> totals = flame::NodeTotals(tree, column);
    for (size_t node = 0; node < totals.size(); ++node) {
      path.resize(tree.depth[node]);
      path.push_back((path.empty() ? "" : path.back() + '/') + tree.name(tree.function[node]));
      paths[path.back()].self.push_back(tree.self[column][node]);
      paths[path.back()].total.push_back(totals[node]);
    }
  }
  return paths;
}

// The percentage behind "up to ", in a note on the early cut; nothing = there is no such note.
std::optional<double> MissingPercent(const About& about) {
  for (const std::string& note : about.notes) {
    if (note.find("too many for the memory") == std::string::npos) continue;
    const size_t at = note.find("up to ");
    return at == std::string::npos ? 0 : std::stod(note.substr(at + 6));
  }
  return std::nullopt;
}

TEST(AskPropertyTest, ATreeThatDoesNotFitIsCutWhileItIsReadAndIsExact) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ContractRandom random(seed);
    store::MemoryStore store(store::MemoryStoreOptions{});
    AppendManyStacks(random, store);
    Request request;
    request.selectors = {*ParseSelector("cpu{}")};
    request.now_unix_ms = kContractNowUnixMs;
    request.range = {kContractNowUnixMs - 6 * kContractDayMs, kContractNowUnixMs + 1};
    request.nodes_max = 0;
    const auto whole = Ask(store, request);
    ASSERT_TRUE(whole.ok()) << whole.error().message();
    const auto& expected = std::get<TreeAnswer>(*whole);
    EXPECT_EQ(MissingPercent(expected.about), std::nullopt);

    AskOptions little;
    little.limits.memory_bytes_max = 4 << 20;
    EXPECT_EQ(Ask(store, request, little).error().code(), base::ErrorCode::kExhausted)
        << "all nodes do not fit";
    request.lines = random.Chance(2);
    request.nodes_max = 2 + random.Below(1500);
    const auto cut = Ask(store, request, little);
    ASSERT_TRUE(cut.ok()) << cut.error().message();
    const auto& given = std::get<TreeAnswer>(*cut);
    const auto missing_percent = MissingPercent(given.about);
    ASSERT_TRUE(missing_percent.has_value());
    EXPECT_EQ(given.about.totals, expected.about.totals);
    EXPECT_LE(given.tree.node_count(), request.nodes_max);
    EXPECT_GT(given.nodes_all, given.tree.node_count());
    EXPECT_LE(given.nodes_all, expected.nodes_all);

    const auto reference = SumsByPath(expected.tree);
    const auto shown = SumsByPath(given.tree);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const auto& [path, sums] : shown) {
      if (path.ends_with(flame::kRestName)) continue;
      const auto same = reference.find(path);
      ASSERT_NE(same, reference.end()) << path;
      EXPECT_EQ(sums, same->second) << path;
      least = std::min(least, sums.total.back());
    }
    const auto all = static_cast<double>(expected.about.totals[0].value);
    for (const auto& [path, sums] : reference) {
      if (shown.contains(path)) continue;
      const auto missing = static_cast<double>(sums.total.back());
      EXPECT_LE(missing, std::max(static_cast<double>(least), all * *missing_percent / 95)) << path;
    }
  }
}

TEST(AskPropertyTest, ADifferenceHasBothSides) {
  ForRandomQuestions(Question::kDiff, [](World& world, Request& request) {
    if (world.random.Chance(2)) {
      request.selectors[0].range =
          TimePointRange{{TimePoint::Kind::kUnix, request.range.from_unix_ms - 3 * kContractDayMs},
                         {TimePoint::Kind::kUnix, request.range.from_unix_ms}};
    }
    const auto answer = Ask(world.store, request);
    EXPECT_TRUE(answer.ok()) << answer.error().message();
    const auto& tree = std::get<TreeAnswer>(*answer);
    bool any = false;
    // Only values of images that both sides have are comparable by name: aliases may rename.
    for (size_t side = 0; side < 2; ++side) {
      const auto rows = RowsOf(world, request, tree.about, side);
      EXPECT_EQ(tree.about.totals[side].value, SumOf(rows).value);
      const size_t column = tree.tree.column(tree.tree.value_types.size() - 1, side);
      EXPECT_EQ(flame::NodeTotals(tree.tree, column)[0], SumOf(rows).value);
      if (side == 1) {
        EXPECT_EQ(TreeOfNodes(tree.tree, 1), TreeOfRows(rows, tree.about.plan.by));
      }
      any = any || !rows.empty();
    }
    return any;
  });
}

TEST(AskPropertyTest, TheTopOfFunctionsIsThatOfTheRows) {
  ForRandomQuestions(Question::kTop, [](World& world, Request& request) {
    request.top_order = world.random.Chance(2) ? TopOrder::kSelf : TopOrder::kTotal;
    const auto answer = Ask(world.store, request);
    EXPECT_TRUE(answer.ok()) << answer.error().message();
    const auto& top = std::get<TopAnswer>(*answer);
    const auto rows = RowsOf(world, request, top.about, 0);
    using Key = std::tuple<std::string, std::string, std::string>;
    std::map<Key, std::pair<ValueCount, ValueCount>> expected;
    for (const NaiveRow& row : rows) {
      std::set<Key> on_stack;
      for (const NaiveFrame& frame : row.root_first)
        on_stack.emplace(frame.unnamed ? "" : frame.name, frame.image,
                         frame.unnamed ? "" : frame.file);
      for (const Key& key : on_stack) Add(expected[key].second, {row.value, row.count});
      if (row.root_first.empty()) continue;
      const NaiveFrame& leaf = row.root_first.back();
      Add(expected[{leaf.unnamed ? "" : leaf.name, leaf.image, leaf.unnamed ? "" : leaf.file}]
              .first,
          {row.value, row.count});
    }
    ValueCount behind;
    std::map<Key, std::pair<ValueCount, ValueCount>> left = expected;
    for (const TopRow& row : top.rows) {
      const Key key(row.name, row.binary, row.file);
      EXPECT_TRUE(left.contains(key)) << row.name << ' ' << row.binary;
      EXPECT_EQ(row.self, left[key].first) << row.name;
      EXPECT_EQ(row.total, left[key].second) << row.name;
      left.erase(key);
    }
    std::erase_if(left, [](const auto& row) { return row.second.second == ValueCount{}; });
    for (const auto& [key, sums] : left) Add(behind, sums.first);
    EXPECT_EQ(top.rows_behind, left.size());
    EXPECT_EQ(top.self_behind, behind);
    EXPECT_EQ(top.about.totals[0], SumOf(rows));
    for (size_t i = 1; i < top.rows.size(); ++i) {
      const bool by_self = top.order == TopOrder::kSelf;
      EXPECT_GE(by_self ? top.rows[i - 1].self.value : top.rows[i - 1].total.value,
                by_self ? top.rows[i].self.value : top.rows[i].total.value);
    }
    return !rows.empty();
  });
}

TEST(AskPropertyTest, TopsOfBinariesAndLabelsAreThoseOfTheRows) {
  ForRandomQuestions(Question::kTop, [](World& world, Request& request) {
    request.top_by = world.random.Chance(2) ? TopBy::kBinary : TopBy::kLabel;
    request.rows_max = 0;
    const auto answer = Ask(world.store, request);
    EXPECT_TRUE(answer.ok()) << answer.error().message();
    const auto& top = std::get<TopAnswer>(*answer);
    const auto rows = RowsOf(world, request, top.about, 0);
    std::map<std::string, int64_t> total, expected;
    for (const NaiveRow& row : rows) {
      std::set<std::string> names;
      if (request.top_by == TopBy::kLabel) {
        names.insert(NaiveLabel(row, request.label));
      } else {
        for (const NaiveFrame& frame : row.root_first) names.insert(frame.image);
        if (row.root_first.empty()) names.insert("");
      }
      for (const std::string& name : names)
        if (row.value != 0) expected[name] = profile::AddSaturating(expected[name], row.value);
    }
    for (const TopRow& row : top.rows)
      if (row.total.value != 0) total[row.name] = row.total.value;
    EXPECT_EQ(total, expected);
    return !rows.empty();
  });
}

TEST(AskPropertyTest, ATimelineIsTheSumOfTheRows) {
  ForRandomQuestions(Question::kSeries, [](World& world, Request& request) {
    const int64_t steps[] = {0, 600'000, 3'600'000, 7'777'777};
    request.step_ms = steps[world.random.Below(std::size(steps))];
    const auto answer = Ask(world.store, request);
    EXPECT_TRUE(answer.ok()) << answer.error().message();
    const auto& series = std::get<SeriesAnswer>(*answer);
    const auto rows = RowsOf(world, request, series.about, 0);
    const store::TimeRange range = series.about.plan.ranges[0];
    EXPECT_LE(range.from_unix_ms, request.range.from_unix_ms);
    EXPECT_GE(range.to_unix_ms, request.range.to_unix_ms);
    std::map<std::pair<std::vector<std::string>, uint64_t>, ValueCount> expected, given;
    std::map<uint64_t, ValueCount> all, given_all;
    std::set<std::vector<std::string>> groups;
    for (const NaiveRow& row : rows) {
      std::vector<std::string> values;
      for (const std::string& name : series.about.plan.by) values.push_back(NaiveLabel(row, name));
      const auto step =
          static_cast<uint64_t>((row.time_unix_ms - range.from_unix_ms) / series.step_ms);
      Add(expected[{values, step}], {row.value, row.count});
      Add(all[step], {row.value, row.count});
      groups.insert(values);
    }
    for (const SeriesRow& row : series.rows) {
      for (const SeriesCell& cell : row.cells) {
        given[{row.values, cell.step}] = cell.sum;
        EXPECT_LT(cell.step, series.step_count);
        EXPECT_EQ(cell.sum, (expected[{row.values, cell.step}]));
        Add(given_all[cell.step], cell.sum);
      }
    }
    for (const SeriesCell& cell : series.rest.cells) Add(given_all[cell.step], cell.sum);
    EXPECT_EQ(given_all, all);
    EXPECT_EQ(series.rows.size() + series.rows_behind, groups.size());
    if (request.rows_max == 0) {
      EXPECT_EQ(given, expected);
    }
    return !rows.empty();
  });
}

TEST(AskPropertyTest, ValuesOfALabelAreThoseOfTheRows) {
  ForRandomQuestions(Question::kValues, [](World& world, Request& request) {
    request.rows_max = 0;
    const auto answer = Ask(world.store, request);
    EXPECT_TRUE(answer.ok()) << answer.error().message();
    const auto& values = std::get<ValuesAnswer>(*answer);
    const auto rows = RowsOf(world, request, values.about, 0);
    std::map<std::string, ValueCount> expected, given;
    for (const NaiveRow& row : rows)
      Add(expected[NaiveLabel(row, request.label)], {row.value, row.count});
    for (const ValueRow& row : values.rows)
      for (const ValueCount& sum : row.sums) Add(given[row.value], sum);
    EXPECT_EQ(given, expected);
    return !rows.empty();
  });
}

TEST(AskPropertyTest, CallersAndCalleesHoldWhatPassesThroughAFunction) {
  for (const Question question : {Question::kCallers, Question::kCallees}) {
    ForRandomQuestions(question, [question](World& world, Request& request) {
      request.function = "^function [0-9]*[159]$";
      request.function_is_pattern = true;
      const auto answer = Ask(world.store, request);
      EXPECT_TRUE(answer.ok()) << answer.error().message();
      const auto& tree = std::get<TreeAnswer>(*answer);
      const auto rows = RowsOf(world, request, tree.about, 0);
      const auto pattern = Pattern::Compile(request.function);
      NaiveTree expected;
      const auto top = [&](const NaiveRow& row) {
        size_t at = 0;
        while (at < row.root_first.size() && !pattern->Finds(row.root_first[at].name)) ++at;
        return at;
      };
      for (const NaiveRow& row : rows) {
        const size_t at = top(row);
        const int64_t count = row.type.count_type.empty() ? 0 : row.count;
        if (at == row.root_first.size() || (row.value == 0 && count == 0)) continue;
        std::vector<std::string> path;
        if (question == Question::kCallees) {
          for (size_t i = at; i < row.root_first.size(); ++i)
            path.push_back(FrameKey(row.root_first[i]));
        } else {
          for (size_t i = at + 1; i-- > 0;) path.push_back(FrameKey(row.root_first[i]));
          for (size_t i = tree.about.plan.by.size(); i-- > 0;) {
            const std::string value = NaiveLabel(row, tree.about.plan.by[i]);
            if (!value.empty()) path.push_back(value + " [] () 0");
          }
        }
        Add(expected[path], {row.value, count});
      }
      EXPECT_EQ(TreeOfNodes(tree.tree, 0), expected);
      return !expected.empty();
    });
  }
}

TEST(AskPropertyTest, LinesAreThoseOfTheRows) {
  ForRandomQuestions(Question::kLines, [](World& world, Request& request) {
    request.function = ".";
    request.function_is_pattern = true;
    request.rows_max = 0;
    const auto answer = Ask(world.store, request);
    EXPECT_TRUE(answer.ok()) << answer.error().message();
    const auto& lines = std::get<LinesAnswer>(*answer);
    const auto rows = RowsOf(world, request, lines.about, 0);
    std::map<std::pair<std::string, int64_t>, int64_t> self, total, given_self, given_total;
    for (const NaiveRow& row : rows) {
      if (row.value == 0) continue;
      std::set<std::pair<std::string, int64_t>> seen;
      for (const NaiveFrame& frame : row.root_first) {
        if (HasLine(frame)) seen.emplace(FrameKey(frame), frame.line);
      }
      for (const auto& key : seen) total[key] = profile::AddSaturating(total[key], row.value);
      if (row.root_first.empty() || !HasLine(row.root_first.back())) continue;
      auto& sum = self[{FrameKey(row.root_first.back()), row.root_first.back().line}];
      sum = profile::AddSaturating(sum, row.value);
    }
    std::map<std::pair<std::string, int64_t>, int64_t> by_name, given_by_name;
    const auto name_of = [](const std::string& key) { return key.substr(0, key.find(" [")); };
    for (const auto& [key, sum] : total) by_name[{name_of(key.first), key.second}] += sum;
    for (const LineRow& row : lines.rows) {
      if (row.total.value != 0) given_by_name[{row.function, row.line}] += row.total.value;
    }
    EXPECT_EQ(given_by_name, by_name);
    int64_t all_self = 0, given_all_self = 0;
    for (const auto& [key, sum] : self) all_self = profile::AddSaturating(all_self, sum);
    for (const LineRow& row : lines.rows)
      given_all_self = profile::AddSaturating(given_all_self, row.self.value);
    EXPECT_EQ(given_all_self, all_self);
    return !rows.empty();
  });
}

}  // namespace
}  // namespace vesta::query
