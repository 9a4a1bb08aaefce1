// What others send: every layout, order and form, the gaps that their readers fell into, and
// damage.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "src/batch/limits.h"
#include "src/wire/otlp_decoder.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/otlp_message_for_test.h"

namespace vesta::wire {
namespace {

using otlp::BoolValue, otlp::DoubleValue, otlp::IntValue, otlp::TextValue;

constexpr int64_t kStartMs = 1'790'000'000'000;
constexpr int64_t kArrivalMs = 1'795'000'000'000;
const OtlpDecodeOptions kOptions = {.arrival_unix_ms = kArrivalMs};

OtlpBatch Decode(const std::string& bytes, const OtlpDecodeOptions& options = kOptions) {
  auto made = DecodeOtlp(bytes, options);
  EXPECT_TRUE(made.ok()) << made.error().message();
  if (!made.ok()) return {};
  EXPECT_TRUE(made->profile->Validate().ok());
  uint64_t kept = 0;
  for (const batch::BatchRow& row : made->batch.rows) kept += static_cast<uint64_t>(row.count);
  EXPECT_EQ(made->samples, kept + made->excluded + made->rejected_samples());
  return std::move(*made);
}

OtlpBatch Decode(const TestMessage& message, const TestWriting& how = {}) {
  return Decode(Write(message, how));
}

int64_t ValueOf(const OtlpBatch& made) {
  int64_t sum = 0;
  for (const batch::BatchRow& row : made.batch.rows) sum += row.value;
  return sum;
}

std::string NameOf(const OtlpBatch& made, profile::StackId stack) {
  const auto frames = made.profile->stack(stack);
  if (frames.empty() || made.profile->location(frames[0]).lines.empty()) return "";
  const profile::FunctionId function = made.profile->location(frames[0]).lines[0].function;
  return std::string(made.profile->String(made.profile->function(function).name));
}

std::map<std::string, std::string> LabelsOf(const OtlpBatch& made, size_t row = 0) {
  std::map<std::string, std::string> labels;
  for (const batch::Label& label : made.batch.series.at(made.batch.rows.at(row).series))
    labels[label.name] = label.value;
  return labels;
}

std::map<std::string, uint64_t> CountsOf(const std::vector<OtlpCount>& counts) {
  std::map<std::string, uint64_t> by_reason;
  for (const OtlpCount& count : counts) {
    EXPECT_FALSE(count.example.empty()) << count.reason;
    by_reason[count.reason] = count.count;
  }
  return by_reason;
}

TEST(OtlpForeignTest, ACpuProfileOfTimesAlone) {
  const OtlpBatch made = Decode(ForeignCpu());
  ASSERT_EQ(made.batch.types.size(), 1u);
  EXPECT_EQ(made.batch.types[0],
            (batch::ProfileType{"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"}));
  ASSERT_EQ(made.batch.rows.size(), 3u);
  EXPECT_EQ(ValueOf(made), 150'000'000);
  EXPECT_EQ(made.samples, 3u);
  EXPECT_EQ(NameOf(made, made.batch.rows[0].stack), "work");
  EXPECT_EQ(made.batch.rows[0].time_unix_ms, kStartMs);
  EXPECT_EQ(made.batch.rows[1].time_unix_ms, kStartMs + 1);
  const batch::Task& task = made.batch.tasks[made.batch.rows[0].task];
  EXPECT_EQ(task, (batch::Task{42, 43, "worker"}));
  EXPECT_EQ(LabelsOf(made), (std::map<std::string, std::string>{{"service.name", "shop"}}));
  EXPECT_EQ(CountsOf(made.dropped), (std::map<std::string, uint64_t>{{"cpu.logical_number", 3}}));
  EXPECT_EQ(made.facts.scope_name, "other");
  EXPECT_FALSE(made.batch.id);
}

// The same content in each layout, packed and not, the dictionary before or after the rest.
TEST(OtlpForeignTest, EveryLayoutAndOrderIsTheSameContent) {
  TestMessage message = ForeignCpu();
  TestMessage::Profile& profile = message.profile();
  profile.id = std::string(16, 'i');
  profile.samples[0].values = {2, 3};
  message.links.push_back({std::string(16, 't'), std::string(8, 's')});
  profile.samples[0].link = 1;
  const std::pair<TestLayout, OtlpLayout> layouts[] = {{TestLayout::kV1_8, OtlpLayout::kV1_8},
                                                       {TestLayout::kV1_9, OtlpLayout::kV1_9},
                                                       {TestLayout::kV1_10, OtlpLayout::kV1_10}};
  for (const auto& [layout, wanted] : layouts) {
    for (const bool is_packed : {true, false}) {
      for (const bool dictionary_first : {true, false}) {
        const std::string what = std::string(OtlpLayoutName(wanted)) +
                                 (is_packed ? " packed" : " unpacked") +
                                 (dictionary_first ? " dictionary first" : "");
        const OtlpBatch made = Decode(
            message,
            {.layout = layout, .dictionary_first = dictionary_first, .is_packed = is_packed});
        EXPECT_EQ(made.layout, wanted) << what;
        EXPECT_TRUE(made.layout_is_told) << what;
        ASSERT_EQ(made.batch.rows.size(), 3u) << what;
        EXPECT_EQ(ValueOf(made), 6 * 50'000'000) << what;
        EXPECT_EQ(made.batch.tasks[made.batch.rows[2].task].thread, "worker") << what;
        EXPECT_EQ(CountsOf(made.dropped)["link"], 2u) << what;
      }
    }
  }
}

TEST(OtlpForeignTest, TheFormsOfSamplesGiveTheSameTotals) {
  TestMessage message = ForeignCpu();
  TestMessage::Profile& profile = message.profile();
  const uint64_t start = profile.time;
  const std::vector<TestMessage::Sample> forms[] = {
      {{.stack = 1, .times = {start, start + 1, start + 2, start + 3}}},
      {{.stack = 1, .values = {4}}},
      {{.stack = 1, .values = {3, 1}, .times = {start, start + 9}}},
      {{.stack = 1, .values = {1, 1, 2}}},
  };
  for (const auto& samples : forms) {
    profile.samples = samples;
    for (const TestLayout layout : {TestLayout::kV1_8, TestLayout::kV1_10}) {
      const OtlpBatch made = Decode(message, {.layout = layout});
      EXPECT_EQ(ValueOf(made), 200'000'000);
      EXPECT_EQ(made.samples, 4u);
    }
  }
}

TEST(OtlpForeignTest, WithoutATimeItIsOfItsProfileOrOfItsArrival) {
  TestMessage message = ForeignCpu();
  message.profile().samples = {{.stack = 1, .values = {1}}};
  EXPECT_EQ(Decode(message).batch.rows[0].time_unix_ms, kStartMs + 10'000);
  EXPECT_FALSE(Decode(message).batch.has_times_of_arrival);
  message.profile().time = 0;
  EXPECT_EQ(Decode(message).batch.rows[0].time_unix_ms, kArrivalMs);
  EXPECT_TRUE(Decode(message).batch.has_times_of_arrival) << "sent again, it may be of tomorrow";
  message.profile().samples = {{.stack = 1, .values = {1}, .times = {kStartMs * 1'000'000ull}}};
  EXPECT_FALSE(Decode(message).batch.has_times_of_arrival) << "samples say their times";
}

TEST(OtlpForeignTest, OldLayoutsAreRefusedByName) {
  const TestMessage message = ForeignCpu();
  const auto error_of = [&](const TestWriting& how) {
    const auto made = DecodeOtlp(Write(message, how), kOptions);
    EXPECT_FALSE(made.ok());
    if (made.ok()) return std::string();
    EXPECT_EQ(made.error().code(), base::ErrorCode::kUnsupported);
    return made.error().message();
  };
  EXPECT_NE(error_of({.layout = TestLayout::kV1_5}).find("v1.5"), std::string::npos);
  EXPECT_NE(error_of({.layout = TestLayout::kV1_7}).find("v1.7"), std::string::npos);
  EXPECT_NE(error_of({.has_dictionary = false}).find("v1.6"), std::string::npos);
}

TEST(OtlpForeignTest, TwoLayoutsInOneRequestAreRefused) {
  TestMessage message = ForeignCpu();
  const std::string old_half = Write(message, {.layout = TestLayout::kV1_8});
  message.profile().samples[0].values = {1, 1};
  const std::string new_half = Write(message, {.has_dictionary = false});
  const auto made = DecodeOtlp(old_half + new_half, kOptions);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), base::ErrorCode::kUnsupported);
}

// As many attributes as times: the request could be of v1.8, with values.
TEST(OtlpForeignTest, WhatFitsTwoLayoutsIsToldByThePeer) {
  TestMessage message = ForeignCpu();
  const uint64_t start = message.profile().time;
  message.profile().samples = {{.stack = 1, .attributes = {1, 2}, .times = {start, start + 1}}};
  const std::string bytes = Write(message);
  EXPECT_EQ(Decode(bytes).layout, OtlpLayout::kV1_9);
  EXPECT_FALSE(Decode(bytes).layout_is_told);
  const OtlpBatch made =
      Decode(bytes, {.arrival_unix_ms = 1, .layout_of_peer = OtlpLayout::kV1_10});
  EXPECT_EQ(made.layout, OtlpLayout::kV1_10);
  EXPECT_EQ(ValueOf(made), 100'000'000);
  EXPECT_EQ(made.batch.tasks[made.batch.rows[0].task].tid, 43u);
  // Ours says whose it is.
  message.resources[0].scopes[0].name = "vesta";
  EXPECT_EQ(Decode(message).layout, OtlpLayout::kV1_10);
  EXPECT_TRUE(Decode(message).layout_is_told);
  // And what v1.10 would not hold is older.
  message.resources[0].scopes[0].name = "";
  message.profile().samples = {{.stack = 1, .values = {3}}};
  EXPECT_EQ(Decode(message, {.layout = TestLayout::kV1_9}).layout, OtlpLayout::kV1_9);
  EXPECT_EQ(ValueOf(Decode(message, {.layout = TestLayout::kV1_9})), 150'000'000);
}

// Pyroscope and Parca lose these.
TEST(OtlpForeignTest, KeysAndTextsOfTheDictionaryAreLookedUp) {
  TestMessage message = ForeignCpu();
  const auto by_index = [&](const std::string& text) {
    std::string value;
    protozero::pbf_writer(value).add_int32(8, static_cast<int32_t>(message.String(text)));
    return value;
  };
  message.resources[0].attributes = {
      {.key = "", .value = by_index("shop"), .key_index = message.String("service.name")},
      {.key = "canary", .value = BoolValue(true)},
      {.key = "ratio", .value = DoubleValue(0.5)},
      {.key = "shard", .value = IntValue(-3)},
      {.key = "list", .value = otlp::ArrayValue({})},
      {.key = "gone", .value = std::string("\x40\xff\x7f", 3)}};  // a text beyond the table
  message.profile().samples[1].attributes.push_back(message.Add("route", by_index("/cart")));
  const OtlpBatch made = Decode(message);
  EXPECT_TRUE(made.layout_is_told);
  EXPECT_EQ(LabelsOf(made, 0),
            (std::map<std::string, std::string>{
                {"service.name", "shop"}, {"canary", "true"}, {"ratio", "0.5"}, {"shard", "-3"}}));
  EXPECT_EQ(LabelsOf(made, 2)["route"], "/cart");
  EXPECT_EQ(CountsOf(made.dropped)["list"], 1u);
  EXPECT_EQ(CountsOf(made.dropped)["gone"], 1u);
}

TEST(OtlpForeignTest, OthersGetTheLabelsOfOurAgent) {
  TestMessage message = ForeignCpu();
  message.resources[0].attributes = {
      {"container.id", TextValue("0123456789abcdef0123456789abcdef")},
      {"process.executable.path", TextValue("/usr/bin/python3")},
      {"process.executable.name", TextValue("python3")},
      {"process.command_line", TextValue("python3 --password=x")},
      {"process.parent_pid", IntValue(1)}};
  message.profile().samples[0].attributes.push_back(
      message.Add("process.context.label.tenant", TextValue("eu")));
  message.profile().samples[0].attributes.push_back(
      message.Add("process", TextValue("what the resource says wins")));
  OtlpBatch made = Decode(message);
  EXPECT_EQ(LabelsOf(made), (std::map<std::string, std::string>{
                                {"container.id", "0123456789abcdef0123456789abcdef"},
                                {"exe", "/usr/bin/python3"},
                                {"process", "python3"},
                                {"service.name", "0123456789ab"},
                                {"service.rule", "container"},
                                {"tenant", "eu"}}));
  EXPECT_EQ(CountsOf(made.dropped)["process.command_line"], 1u);
  EXPECT_EQ(CountsOf(made.dropped)["process"], 2u);
  message.resources[0].attributes.erase(message.resources[0].attributes.begin());
  made = Decode(message);
  EXPECT_EQ(LabelsOf(made)["service.name"], "python3");
  EXPECT_EQ(LabelsOf(made)["service.rule"], "program");
}

TEST(OtlpForeignTest, TypesWithoutAPeriodKeepTheirValues) {
  TestMessage message = ForeignCpu();
  TestMessage::Profile& profile = message.profile();
  profile.sample_type = message.Type("off_cpu", "nanoseconds");
  profile.period_type = {};
  profile.period = 0;
  profile.samples = {{.stack = 1, .values = {700, 800}, .times = {profile.time, profile.time + 1}}};
  OtlpBatch made = Decode(message);
  EXPECT_EQ(made.batch.types[0], (batch::ProfileType{"off_cpu", "nanoseconds", "", "", ""}));
  EXPECT_EQ(ValueOf(made), 1500);
  EXPECT_EQ(made.samples, 2u);
  profile.sample_type = message.Type("events", "count");
  profile.samples = {{.stack = 1, .times = {profile.time, profile.time + 1}}};
  made = Decode(message);
  EXPECT_EQ(ValueOf(made), 2);
}

// One fault, one sample: the others stay.
TEST(OtlpForeignTest, ABadSampleIsRejectedAlone) {
  struct Case {
    const char* reason;
    uint64_t count;
    void (*break_it)(TestMessage&);
  };
  static constexpr Case kCases[] = {
      {"stack_index", 2, [](TestMessage& m) { m.profile().samples[0].stack = 77; }},
      {"stack_index", 2, [](TestMessage& m) { m.profile().samples[0].stack = uint64_t(-1); }},
      {"stack_index", 2, [](TestMessage& m) { m.stacks[1][0] = 77; }},
      {"stack_index", 2, [](TestMessage& m) { m.locations[1].mapping = 77; }},
      {"stack_index", 2, [](TestMessage& m) { m.locations[1].attributes = {77}; }},
      {"stack_index", 2, [](TestMessage& m) { m.locations[1].lines[0].function = 77; }},
      {"stack_index", 2, [](TestMessage& m) { m.functions[1].file = 7777; }},
      {"attribute_index", 2, [](TestMessage& m) { m.profile().samples[0].attributes = {77}; }},
      {"link_index", 2, [](TestMessage& m) { m.profile().samples[0].link = 77; }},
      {"lengths", 1, [](TestMessage& m) { m.profile().samples[0].values = {1}; }},
      {"empty", 1, [](TestMessage& m) { m.profile().samples[0].times.clear(); }},
      {"negative_value", 2,
       [](TestMessage& m) { m.profile().samples[0].values = {1, uint64_t(-1)}; }},
      {"overflow", uint64_t{1} << 62,
       [](TestMessage& m) {
         m.profile().samples[0] = {.stack = 1, .values = {uint64_t{1} << 62}};
       }},
  };
  for (const Case& one : kCases) {
    TestMessage message = ForeignCpu();
    one.break_it(message);
    // Against doubt about the layout.
    message.links.push_back({});
    message.profile().samples[1].link = 1;
    const OtlpBatch made = Decode(message);
    EXPECT_EQ(made.batch.rows.size(), 1u) << one.reason;
    EXPECT_EQ(CountsOf(made.rejected)[one.reason],
              one.reason == std::string("negative_value") ? 1u : one.count)
        << one.reason;
  }
}

TEST(OtlpForeignTest, AProfileOfANamelessTypeIsRejected) {
  TestMessage message = ForeignCpu();
  message.profile().sample_type = {};
  EXPECT_EQ(CountsOf(Decode(message).rejected)["sample_type"], 3u);
  message.profile().sample_type = {7777, 0};
  EXPECT_EQ(CountsOf(Decode(message).rejected)["sample_type"], 3u);
}

TEST(OtlpForeignTest, NothingWithoutATimeIsExcluded) {
  TestMessage message = ForeignCpu();
  message.profile().samples = {{.stack = 1, .values = {0}}, {.stack = 1, .values = {2}}};
  const OtlpBatch made = Decode(message);
  EXPECT_EQ(made.excluded, 1u);
  EXPECT_EQ(made.batch.rows.size(), 1u);
}

TEST(OtlpForeignTest, MissingTablesAndZeroEntriesAreNotSet) {
  TestMessage message = ForeignCpu();
  message.links.clear();
  message.mappings.clear();
  message.profile().samples = {{.stack = 0, .times = {message.profile().time}},
                               {.stack = 1, .attributes = {0}, .times = {message.profile().time}}};
  // An empty AnyValue in entry 0, as the Collector writes it, and a stack of entry 0.
  message.stacks[1] = {0};
  const OtlpBatch made = Decode(message, {});
  ASSERT_EQ(made.batch.rows.size(), 2u);
  EXPECT_TRUE(made.profile->stack(made.batch.rows[0].stack).empty());
  EXPECT_EQ(made.profile->stack(made.batch.rows[1].stack).size(), 1u);
  EXPECT_TRUE(made.rejected.empty());
  message.locations.clear();
  message.stacks = {{}, {0}};
  EXPECT_EQ(Decode(message).batch.rows.size(), 2u);
}

TEST(OtlpForeignTest, BuildIdsAndKernelsAreOurs) {
  TestMessage message = ForeignCpu();
  const auto add_mapping = [&](const char* path, std::vector<uint64_t> attributes) {
    message.mappings.push_back({.start = 0x1000,
                                .limit = 0x2000,
                                .path = message.String(path),
                                .attributes = std::move(attributes)});
    message.locations.push_back({.mapping = message.mappings.size() - 1, .address = 0x1234});
    return message.locations.size() - 1;
  };
  const uint64_t hash = message.Add("process.executable.build_id.htlhash", TextValue("aabb"));
  const uint64_t gnu = message.Add("process.executable.build_id.gnu", TextValue("cafe"));
  const uint64_t go = message.Add("process.executable.build_id.go", TextValue("a/b/c/d"));
  const uint64_t kernel = message.Add("profile.frame.type", TextValue("kernel"));
  message.stacks.push_back({add_mapping("app", {hash, gnu}), add_mapping("app", {gnu, go}),
                            add_mapping("goapp", {hash, go}), add_mapping("lib", {hash}),
                            add_mapping("vmlinux", {hash}), add_mapping("ext4", {hash})});
  for (size_t i = 0; i < 2; ++i)
    message.locations[message.locations.size() - 1 - i].attributes = {kernel};
  message.profile().samples = {
      {.stack = message.stacks.size() - 1, .times = {message.profile().time}}};
  const OtlpBatch made = Decode(message);
  std::vector<std::string> mappings;
  for (const profile::LocationId id : made.profile->stack(made.batch.rows.at(0).stack)) {
    const profile::Location location = made.profile->location(id);
    const profile::Mapping& mapping = made.profile->mapping(location.mapping);
    mappings.push_back(std::string(made.profile->String(mapping.path)) + " " +
                       std::string(made.profile->String(mapping.build_id)));
    EXPECT_EQ(profile::IsKernelLocation(*made.profile, location), mappings.size() > 4);
  }
  EXPECT_EQ(mappings,
            (std::vector<std::string>{"app cafe", "app cafe", "goapp a/b/c/d", "lib htlhash:aabb",
                                      "[kernel] htlhash:aabb", "[ext4] htlhash:aabb"}));
}

TEST(OtlpForeignTest, TextThatIsNoUtf8AndWhatIsTooLong) {
  TestMessage message = ForeignCpu();
  message.resources[0].attributes = {{"service.name", TextValue("x")},
                                     {"long", TextValue(std::string(5000, 'v'))},
                                     {std::string(500, 'k'), TextValue("v")}};
  // TextValue would mend it.
  message.resources[0].attributes[0].value = std::string(
      "\x0a\x04"
      "caf\xe9",
      6);
  const OtlpBatch made = Decode(message);
  EXPECT_EQ(LabelsOf(made),
            (std::map<std::string, std::string>{{"service.name", "caf\xef\xbf\xbd"}}));
  EXPECT_EQ(made.dropped.size(), 3u);  // with the CPU's number
}

TEST(OtlpForeignTest, TwoBatchesInOneRequestHaveNoId) {
  TestMessage message = ForeignCpu();
  TestMessage::Scope& scope = message.resources[0].scopes[0];
  scope.name = "vesta";
  scope.attributes = {{"vesta.batch.agent", TextValue("a")},
                      {"vesta.batch.boot", TextValue("b")},
                      {"vesta.batch.sequence", IntValue(1)}};
  EXPECT_EQ(Decode(message).batch.id, (batch::BatchId{"a", "b", 1}));
  message.resources.push_back(message.resources[0]);
  EXPECT_EQ(Decode(message).batch.id, (batch::BatchId{"a", "b", 1}));
  message.resources[1].scopes[0].attributes[2].value = IntValue(2);
  EXPECT_EQ(Decode(message).batch.id, std::nullopt);
  message.resources.pop_back();
  message.resources[0].scopes[0].attributes[0].value = TextValue(std::string(300, 'a'));
  EXPECT_EQ(Decode(message).batch.id, std::nullopt) << "a name beyond the limits";
}

// Many samples that each name large attributes: labels are paid for by the request's bytes.
TEST(OtlpForeignTest, LabelsDoNotGrowBeyondTheRequest) {
  TestMessage message = ForeignCpu();
  std::vector<uint64_t> large;
  for (int i = 0; i < 60; ++i) {
    large.push_back(message.Add("key" + std::to_string(i),
                                TextValue(std::string(batch::kLabelValueBytesMax, 'v'))));
  }
  std::vector<TestMessage::Sample>& samples = message.profile().samples;
  samples.assign(1, samples[0]);
  for (uint64_t i = 0; i < 3000; ++i) {
    TestMessage::Sample sample = {.stack = 1, .attributes = large, .times = {samples[0].times[0]}};
    std::rotate(sample.attributes.begin(),
                sample.attributes.begin() + static_cast<std::ptrdiff_t>(i % 60),
                sample.attributes.end());
    sample.attributes.push_back(message.Add("own", TextValue(std::to_string(i))));
    samples.push_back(std::move(sample));
  }
  const std::string bytes = Write(message);
  const OtlpBatch made = Decode(bytes);
  EXPECT_EQ(made.batch.rows.size(), 3002u);
  uint64_t label_bytes = 0;
  for (const batch::Labels& labels : made.batch.series) {
    for (const batch::Label& label : labels) label_bytes += label.name.size() + label.value.size();
  }
  EXPECT_LT(label_bytes, (uint64_t{16} << 20) + 16 * bytes.size());
  EXPECT_GT(CountsOf(made.dropped)["own"], 0u);
}

TEST(OtlpForeignTest, UnknownFieldsAndWrongWireTypesArePassedOver) {
  std::string bytes = Write(ForeignCpu());
  protozero::pbf_writer writer(bytes);
  writer.add_string(900, "new");
  writer.add_uint64(1, 5);
  writer.add_fixed64(2, 5);
  EXPECT_EQ(ValueOf(Decode(bytes)), 150'000'000);
}

TEST(OtlpForeignTest, DamageIsAnErrorAndNothingElse) {
  TestMessage message = ForeignCpu();
  message.mappings.push_back({.start = 1, .limit = 2, .path = message.String("/bin/x")});
  message.locations[1].mapping = 1;
  for (const TestLayout layout : {TestLayout::kV1_8, TestLayout::kV1_10}) {
    const std::string whole = Write(message, {.layout = layout});
    for (size_t size = 0; size < whole.size(); ++size) {
      const auto made = DecodeOtlp(std::string_view(whole).substr(0, size), kOptions);
      if (made.ok()) continue;
      EXPECT_FALSE(made.error().message().empty());
      if (made.error().code() == base::ErrorCode::kUnsupported) continue;
      EXPECT_NE(made.error().message().find(" at byte "), std::string::npos)
          << made.error().message();
    }
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const char flip : {'\x01', '\x08', '\x80', '\xff'}) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ flip);
        const auto made = DecodeOtlp(changed, kOptions);
        EXPECT_TRUE(!made.ok() || made->profile->Validate().ok());
      }
    }
  }
}

}  // namespace
}  // namespace vesta::wire
