// What we write, read back; and the rules that others have for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "src/base/utf8.h"
#include "src/wire/otlp_decoder.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/otlp_message_for_test.h"
#include "src/wire/otlp_response.h"
#include "src/wire/otlp_rules_for_test.h"
#include "test/support/synthetic_profile.h"

namespace vesta::wire {
namespace {

using batch::Batch;
using batch::BatchRow;
using batch::ProfileType;
using profile::LocationId;
using profile::Profile;
using testing::Test;

constexpr int64_t kStartMs = 1'790'000'000'123;
constexpr int64_t kPeriod = 10'101'010;

std::string TextOf(const Profile& profile, LocationId id) {
  const profile::Location location = profile.location(id);
  std::ostringstream out;
  out << std::hex << location.address << std::dec << (location.is_folded ? " folded" : "");
  if (location.mapping != profile::kNoMapping) {
    const profile::Mapping& mapping = profile.mapping(location.mapping);
    std::ostringstream text;
    text << profile.String(mapping.path) << ' ' << profile.String(mapping.build_id) << ' '
         << mapping.memory_start << '-' << mapping.memory_limit << '+' << mapping.file_offset << ' '
         << mapping.has_functions << mapping.has_filenames << mapping.has_line_numbers
         << mapping.has_inline_frames;
    if (text.str() != "  0-0+0 0000") out << " @" << text.str();
  }
  for (const profile::Line& line : location.lines) {
    const profile::Function& function = profile.function(line.function);
    out << " | " << base::ToUtf8(profile.String(function.name)) << ' '
        << base::ToUtf8(profile.String(function.system_name)) << ' '
        << profile.String(function.file) << ':' << function.start_line << ' ' << line.line << ':'
        << line.column;
  }
  return out.str();
}

// Every row with all that it stands for, in an order of their own.
std::vector<std::string> RowTexts(const Batch& batch) {
  std::vector<std::string> rows;
  for (const BatchRow& row : batch.rows) {
    std::ostringstream out;
    const ProfileType& type = batch.types[row.type];
    out << type.type << '/' << type.unit << ' ' << type.count_type << ' ' << type.period_type << '/'
        << type.period_unit << '\n';
    for (const batch::Label& label : batch.series[row.series])
      out << label.name << '=' << label.value << '\n';
    const batch::Task& task = batch.tasks[row.task];
    out << task.pid << ' ' << task.tid << ' ' << task.thread << '\n'
        << row.time_unix_ms << ' ' << row.value << ' ' << row.count << ' ' << row.weight << '\n';
    for (const LocationId id : batch.profile->stack(row.stack))
      out << TextOf(*batch.profile, id) << '\n';
    rows.push_back(out.str());
  }
  std::ranges::sort(rows);
  return rows;
}

// The first rows that only one of two batches has; "" when they are the same.
std::string Difference(const Batch& got, const Batch& wanted) {
  const auto got_rows = RowTexts(got);
  const auto wanted_rows = RowTexts(wanted);
  std::vector<std::string> only_got;
  std::vector<std::string> only_wanted;
  std::ranges::set_difference(got_rows, wanted_rows, std::back_inserter(only_got));
  std::ranges::set_difference(wanted_rows, got_rows, std::back_inserter(only_wanted));
  std::string text;
  if (!only_got.empty()) text += "read is " + only_got[0];
  if (!only_wanted.empty()) text += "written was " + only_wanted[0];
  return text;
}

// A batch of everything that one may hold.
class RandomBatch {
 public:
  explicit RandomBatch(uint64_t seed)
      : random_(seed), profile_(test::SyntheticProfile({.seed = seed, .samples = 40})) {
    profile_.header().time_unix_ns = Below(3) == 0 ? 0 : kStartMs * 1'000'000 + 987'654;
    batch_.profile = &profile_;
    if (Below(4) != 0) batch_.id = {"agent-" + std::to_string(seed), "boot.1f", seed + 7};
    batch_.types = {{"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"},
                    {"alloc_space", "bytes", "alloc_objects", "space", "bytes"},
                    {"events", "count", "", "", ""},
                    {"samples", "count", "", "cpu", "nanoseconds"}};
    batch_.series = {{{"service.name", "shop"}},
                     {{"incomplete", "no_rules"},
                      {"process", "nginx: w\xc3\xb6rker"},
                      {"process.pid", "a label, and no task"},
                      {"service.name", "shop"}},
                     {}};
    batch_.tasks = {{}, {7, 8, "worker"}, {7, 9, ""}, {4'000'000'000, 0, "kworker/0:1"}};
    const size_t rows = Below(300);
    for (size_t i = 0; i < rows; ++i) AddRow();
  }

  const Batch& batch() const { return batch_; }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }

  void AddRow() {
    BatchRow row;
    row.type = static_cast<uint32_t>(Below(batch_.types.size()));
    row.series = static_cast<uint32_t>(Below(batch_.series.size()));
    row.task = static_cast<uint32_t>(Below(batch_.tasks.size()));
    row.stack = profile::StackId{static_cast<uint32_t>(Below(profile_.stack_count()))};
    row.time_unix_ms = kStartMs + static_cast<int64_t>(Below(10'000)) - 100;
    row.count = Below(4) == 0 ? static_cast<int64_t>(Below(5)) : 1;
    row.value = Below(2) == 0 ? kPeriod * row.count : static_cast<int64_t>(Below(1 << 30));
    if (Below(8) == 0) row.weight = 2.5;
    if (row.value == 0 && row.count == 0) row.count = 1;
    batch_.rows.push_back(row);
  }

  std::mt19937_64 random_;
  Profile profile_;
  Batch batch_;
};

OtlpFacts SomeFacts() {
  OtlpFacts facts;
  facts.scope_version = "1.2.3";
  facts.clock = ClockPair{123'456'789, kStartMs * 1'000'000, 250};
  facts.book = R"({"stages":[]})";
  return facts;
}

uint64_t CountsOf(const Batch& batch) {
  uint64_t sum = 0;
  for (const BatchRow& row : batch.rows) sum += static_cast<uint64_t>(row.count);
  return sum;
}

TEST(OtlpTest, RandomBatchesAreReadBackAsTheyWere) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const RandomBatch random(seed);
    const OtlpFacts facts = SomeFacts();
    const std::string bytes = EncodeOtlp(random.batch(), facts);
    const auto made = DecodeOtlp(bytes, {});
    ASSERT_TRUE(made.ok()) << seed << ": " << made.error().message();
    EXPECT_EQ(Difference(made->batch, random.batch()), "") << seed;
    EXPECT_EQ(made->batch.id, random.batch().id) << seed;
    EXPECT_EQ(made->facts, facts) << seed;
    EXPECT_EQ(made->layout, OtlpLayout::kV1_10);
    EXPECT_EQ(made->samples, CountsOf(random.batch())) << seed;
    EXPECT_TRUE(made->rejected.empty() && made->dropped.empty()) << seed;
    EXPECT_TRUE(made->profile->Validate().ok());
    // And once more, from what was read.
    const auto again = DecodeOtlp(EncodeOtlp(made->batch, made->facts), {});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(Difference(again->batch, random.batch()), "") << seed;
  }
}

TEST(OtlpTest, BatchesBehindTheTablesOfOthersAreReadBackAsTheyWere) {
  otlp::DictionaryTables tables;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const RandomBatch random(seed);
    const std::string bytes = EncodeOtlp(random.batch(), SomeFacts(), &tables);
    EXPECT_EQ(OtlpFaults(bytes, {.orphans = false}), std::vector<std::string>()) << seed;
    const auto made = DecodeOtlp(bytes, {});
    ASSERT_TRUE(made.ok()) << seed << ": " << made.error().message();
    EXPECT_EQ(Difference(made->batch, random.batch()), "") << seed;
    EXPECT_TRUE(made->rejected.empty() && made->dropped.empty()) << seed;
    // Only what its samples need is read.
    const auto alone = DecodeOtlp(EncodeOtlp(random.batch(), SomeFacts()), {});
    EXPECT_EQ(made->profile->stack_count(), alone->profile->stack_count()) << seed;
    EXPECT_EQ(made->profile->location_count(), alone->profile->location_count()) << seed;
    EXPECT_EQ(made->profile->function_count(), alone->profile->function_count()) << seed;
  }
}

TEST(OtlpTest, TheSameBatchBehindItsOwnTablesAddsNothingToThem) {
  const RandomBatch random(7);
  otlp::DictionaryTables tables;
  const std::string first = EncodeOtlp(random.batch(), SomeFacts(), &tables);
  EXPECT_EQ(first, EncodeOtlp(random.batch(), SomeFacts())) << "the first one stands alone";
  const uint64_t bytes = tables.bytes();
  EXPECT_EQ(EncodeOtlp(random.batch(), SomeFacts(), &tables), first);
  EXPECT_EQ(tables.bytes(), bytes);
  EXPECT_EQ(tables.Message().size(), bytes);
}

TEST(OtlpTest, WhatWeWriteKeepsTheRulesOfOthers) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const RandomBatch random(seed);
    EXPECT_EQ(OtlpFaults(EncodeOtlp(random.batch(), SomeFacts())), std::vector<std::string>())
        << seed;
    // Each mapping of a file is kept, so that the first one is the main binary.
    const Profile profile = test::SyntheticProfile({.seed = seed});
    EXPECT_EQ(OtlpFaults(EncodeOtlpProfile(profile), {.orphans = false}),
              std::vector<std::string>())
        << seed;
  }
}

TEST(OtlpTest, ABatchWithoutRowsStillBringsItsFacts) {
  Batch batch;
  batch.id = {"a", "b", 3};
  batch.series = {{{"host.name", "h"}}};
  const std::string bytes = EncodeOtlp(batch, SomeFacts());
  EXPECT_EQ(OtlpFaults(bytes), std::vector<std::string>());
  const auto made = DecodeOtlp(bytes, {});
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_EQ(made->facts, SomeFacts());
  EXPECT_EQ(made->batch.id, batch.id);
  EXPECT_TRUE(made->batch.rows.empty());
}

Profile OneStack() {
  Profile profile;
  profile.header().period_type = profile.InternValueType("cpu", "nanoseconds");
  profile.header().period = kPeriod;
  profile.header().time_unix_ns = kStartMs * 1'000'000;
  profile.header().duration_ns = 10'000'000'000;
  profile::Mapping mapping;
  mapping.path = profile.InternString("/bin/x");
  mapping.build_id = profile.InternString("0123456789abcdef01234567");
  const profile::MappingId id = profile.AddMapping(mapping);
  profile::Function function;
  function.name = profile.InternString("main");
  const profile::Line line = {profile.InternFunction(function)};
  const LocationId location = profile.InternLocation({id, 0x1234, false, {&line, 1}});
  profile.InternStack({&location, 1});
  return profile;
}

TEST(OtlpTest, SamplesWorthAPeriodAreTimesAlone) {
  const Profile profile = OneStack();
  Batch batch;
  batch.profile = &profile;
  batch.types = {{"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"}};
  batch.series = {{}};
  batch.tasks = {{}};
  BatchRow row = {.stack = profile::StackId{1}, .time_unix_ms = kStartMs, .value = kPeriod};
  batch.rows.assign(100, row);
  const size_t of_100 = EncodeOtlp(batch, {}).size();
  batch.rows.assign(200, row);
  EXPECT_LE(EncodeOtlp(batch, {}).size(), of_100 + 100 * 8 + 4);
}

// What each rule is there for: a message that breaks it and no other.
TEST(OtlpTest, TheRulesSeeWhatIsWrong) {
  struct Case {
    const char* fault;
    void (*break_it)(TestMessage&);
  };
  static constexpr Case kCases[] = {
      {"resources: empty", [](TestMessage& m) { m.resources.clear(); }},
      {"scopes: empty", [](TestMessage& m) { m.resources[0].scopes.clear(); }},
      {"profiles: empty", [](TestMessage& m) { m.resources[0].scopes[0].profiles.clear(); }},
      {"mapping table: empty", [](TestMessage& m) { m.mappings.clear(); }},
      {"link table: empty", [](TestMessage& m) { m.links.clear(); }},
      {"stack table: empty", [](TestMessage& m) { m.stacks.clear(); }},
      {"location table: entry 0 is not zero", [](TestMessage& m) { m.locations[0].address = 1; }},
      {"function table: entry 0 is not zero", [](TestMessage& m) { m.functions[0].name = 1; }},
      {"string table: entry 0 is not zero", [](TestMessage& m) { m.strings[0] = "x"; }},
      {"sample: stack index", [](TestMessage& m) { m.profile().samples[0].stack = 9; }},
      {"sample: attribute index", [](TestMessage& m) { m.profile().samples[0].attributes = {99}; }},
      {"sample: link index", [](TestMessage& m) { m.profile().samples[0].link = 1; }},
      {"sample type: string index", [](TestMessage& m) { m.profile().sample_type.first = 99; }},
      {"period type: string index", [](TestMessage& m) { m.profile().period_type.second = 99; }},
      {"profile: attribute index", [](TestMessage& m) { m.profile().attributes = {99}; }},
      {"stack: location index", [](TestMessage& m) { m.stacks[1] = {99}; }},
      {"location: mapping index", [](TestMessage& m) { m.locations[1].mapping = 1; }},
      {"location: attribute index", [](TestMessage& m) { m.locations[1].attributes = {99}; }},
      {"line: function index", [](TestMessage& m) { m.locations[1].lines[0].function = 99; }},
      {"function: string index", [](TestMessage& m) { m.functions[1].file = 99; }},
      {"attribute: string index", [](TestMessage& m) { m.attributes[1].unit = 99; }},
      {"sample: attribute key twice",
       [](TestMessage& m) { m.profile().samples[0].attributes.push_back(1); }},
      {"mapping: start behind limit", [](TestMessage& m) { m.mappings.push_back({.start = 1}); }},
      {"line: negative", [](TestMessage& m) { m.locations[1].lines[0].line = -1; }},
      {"function: negative line", [](TestMessage& m) { m.functions[1].start_line = -1; }},
      {"link: size of an id", [](TestMessage& m) { m.links.push_back({"short", "x"}); }},
      {"sample: time outside of profile", [](TestMessage& m) { m.profile().duration = 1; }},
      {"sample: several values without times",
       [](TestMessage& m) { m.profile().samples[0] = {.values = {1, 2}}; }},
      {"sample: values and times differ",
       [](TestMessage& m) { m.profile().samples[0].values = {1}; }},
      {"profile: samples of several shapes",
       [](TestMessage& m) { m.profile().samples[1].values = {1}; }},
      {"sample: empty", [](TestMessage& m) { m.profile().samples[1].times.clear(); }},
      {"string: twice", [](TestMessage& m) { m.strings.push_back(m.strings[1]); }},
      {"mapping: twice", [](TestMessage& m) { m.mappings.push_back({}); }},
      {"stack: nobody refers to it", [](TestMessage& m) { m.stacks.push_back({1}); }},
  };
  // Entry 0 of the attributes has an empty value, as the Collector writes it.
  const std::vector<std::string> of_all = {"attribute table: entry 0 is not zero",
                                           "attribute: nobody refers to it"};
  EXPECT_EQ(OtlpFaults(Write(ForeignCpu())), of_all);
  for (const Case& one : kCases) {
    TestMessage message = ForeignCpu();
    one.break_it(message);
    const auto faults = OtlpFaults(Write(message));
    EXPECT_NE(std::ranges::find(faults, one.fault), faults.end())
        << one.fault << " is not among " << testing::PrintToString(faults);
  }
}

TEST(OtlpTest, SymbolsAreReadBackAsTheyWere) {
  const Profile profile = test::SyntheticProfile({.seed = 5, .samples = 0, .locations = 200});
  batch::SymbolBatch symbols;
  symbols.id = {"agent", "boot", 12};
  symbols.profile = &profile;
  std::vector<std::string> wanted;
  for (uint32_t i = 0; i < profile.location_count(); ++i) {
    const profile::Location location = profile.location(LocationId{i});
    if (location.mapping == profile::kNoMapping || location.lines.empty()) continue;
    if (profile.mapping(location.mapping).path == profile::StringId{}) continue;
    symbols.locations.push_back(LocationId{i});
    wanted.push_back(TextOf(profile, LocationId{i}));
  }
  ASSERT_GT(wanted.size(), 50u);
  const auto made = DecodeOtlpSymbols(EncodeOtlpSymbols(symbols));
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_EQ(made->symbols.id, symbols.id);
  EXPECT_TRUE(made->rejected.empty());
  std::vector<std::string> got;
  for (const LocationId id : made->symbols.locations) got.push_back(TextOf(*made->profile, id));
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::ranges::sort(got);
  EXPECT_EQ(got, wanted);
}

TEST(OtlpTest, SymbolsOfNothingAreRejectedOneByOne) {
  TestMessage message = ForeignCpu();
  message.resources.clear();
  message.mappings.push_back({.path = message.String("/bin/x")});
  message.mappings.push_back({.start = 1, .limit = 2});
  message.locations = {{},
                       {.mapping = 1, .address = 1, .lines = {{1}}},   // good
                       {.mapping = 0, .address = 2, .lines = {{1}}},   // no binary
                       {.mapping = 2, .address = 3, .lines = {{1}}},   // one without a name
                       {.mapping = 1, .address = 4},                   // no name
                       {.mapping = 1, .address = 5, .lines = {{77}}},  // no such function
                       {.mapping = 9, .address = 6, .lines = {{1}}}};
  const auto made = DecodeOtlpSymbols(Write(message));
  ASSERT_TRUE(made.ok()) << made.error().message();
  ASSERT_EQ(made->symbols.locations.size(), 1u);
  EXPECT_EQ(made->profile->location(made->symbols.locations[0]).address, 1u);
  uint64_t rejected = 0;
  for (const OtlpCount& count : made->rejected) rejected += count.count;
  EXPECT_EQ(rejected, 5u);
  EXPECT_FALSE(DecodeOtlpSymbols(Write(ForeignCpu())).ok()) << "profiles are no symbols";
}

TEST(OtlpTest, AnswersAreReadBackAsTheyWere) {
  EXPECT_EQ(EncodeOtlpResponse({}), "");
  for (const OtlpResponse& response :
       {OtlpResponse{}, OtlpResponse{3, "no such stack"}, OtlpResponse{0, "late"}}) {
    const auto back = DecodeOtlpResponse(EncodeOtlpResponse(response));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, response);
  }
  const std::string bytes = EncodeOtlpResponse({3, "x"});
  EXPECT_EQ(bytes, std::string("\x0a\x05\x08\x03\x12\x01x", 7));
  EXPECT_FALSE(DecodeOtlpResponse(bytes.substr(0, 5)).ok());
  EXPECT_FALSE(DecodeOtlpResponse("<html>").ok());
}

}  // namespace
}  // namespace vesta::wire
