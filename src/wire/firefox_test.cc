// What is written is read back here as the site's own types say: columns of equal length, indices
// that point at something, prefixes before their stacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "src/base/json_reader.h"
#include "src/wire/firefox_encoder.h"
#include "test/support/synthetic_profile.h"

namespace vesta::wire {
namespace {

using base::JsonValue;
using profile::LocationId;
using profile::Profile;

const JsonValue& At(const JsonValue& value, std::string_view key) {
  const JsonValue* member = value.Find(key);
  if (member == nullptr) {
    ADD_FAILURE() << "no member " << key;
    static const JsonValue kNothing;
    return kNothing;
  }
  return *member;
}

size_t Index(const JsonValue& column, size_t row) {
  const auto value = row < column.items().size() ? column.items()[row].AsUint() : std::nullopt;
  EXPECT_TRUE(value.has_value());
  return value.value_or(0);
}

// Every column of a table has its length, and there are no others.
void CheckTable(const JsonValue& table, const std::vector<std::string>& columns) {
  const auto length = At(table, "length").AsUint();
  ASSERT_TRUE(length.has_value());
  for (const std::string& key : columns) EXPECT_EQ(At(table, key).items().size(), *length) << key;
  size_t others = 0;
  for (const auto& [key, value] : table.members())
    others += value.kind() == JsonValue::Kind::kArray && std::ranges::count(columns, key) == 0;
  EXPECT_EQ(others, 0u);
}

void CheckIndices(const JsonValue& column, const JsonValue& table, bool may_be_null) {
  const auto length = At(table, "length").AsUint().value_or(0);
  for (const JsonValue& item : column.items()) {
    const bool no_index = item.kind() == JsonValue::Kind::kNull || item.AsDouble() == -1;
    if (no_index && may_be_null) continue;
    ASSERT_TRUE(item.AsUint().has_value());
    EXPECT_LT(*item.AsUint(), length);
  }
}

void CheckShape(const JsonValue& file) {
  EXPECT_EQ(At(At(file, "meta"), "preprocessedProfileVersion").AsUint(), 60u);
  const JsonValue& shared = At(file, "shared");
  CheckTable(At(shared, "sources"), {"uuid", "filename"});
  CheckTable(At(shared, "stackTable"), {"frame", "prefix"});
  CheckTable(At(shared, "frameTable"), {"address", "inlineDepth", "category", "subcategory", "func",
                                        "nativeSymbol", "innerWindowID", "line", "column"});
  CheckTable(At(shared, "funcTable"),
             {"name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"});
  CheckTable(At(shared, "resourceTable"), {"lib", "name", "host", "type"});
  CheckTable(At(shared, "nativeSymbols"), {"libIndex", "address", "name", "functionSize"});
  CheckIndices(At(At(shared, "stackTable"), "frame"), At(shared, "frameTable"), false);
  CheckIndices(At(At(shared, "frameTable"), "func"), At(shared, "funcTable"), false);
  CheckIndices(At(At(shared, "funcTable"), "resource"), At(shared, "resourceTable"), true);
  CheckIndices(At(At(shared, "funcTable"), "source"), At(shared, "sources"), true);
  const auto& prefixes = At(At(shared, "stackTable"), "prefix").items();
  for (size_t i = 0; i < prefixes.size(); ++i) {
    if (prefixes[i].kind() == JsonValue::Kind::kNull) continue;
    EXPECT_LT(*prefixes[i].AsUint(), i);
  }
  const size_t strings = At(shared, "stringArray").items().size();
  for (const auto& [table, column] :
       {std::pair{"funcTable", "name"}, {"resourceTable", "name"}, {"sources", "filename"}}) {
    for (const JsonValue& item : At(At(shared, table), column).items())
      EXPECT_LT(item.AsUint().value_or(strings), strings);
  }
  for (const JsonValue& item : At(At(shared, "resourceTable"), "lib").items())
    EXPECT_LT(item.AsUint().value_or(1 << 20), At(file, "libs").items().size());
  for (const JsonValue& thread : At(file, "threads").items()) {
    CheckTable(At(thread, "samples"), {"stack", "time", "weight"});
    CheckIndices(At(At(thread, "samples"), "stack"), At(shared, "stackTable"), false);
    EXPECT_NE(At(thread, "pid").AsString(), nullptr);
  }
}

// "root file:line;...;leaf" of a row of the stack table.
std::string StackText(const JsonValue& shared, size_t stack) {
  const auto string = [&](const JsonValue& column, size_t row) {
    return *At(shared, "stringArray").items()[Index(column, row)].AsString();
  };
  const JsonValue& frames = At(shared, "frameTable");
  const JsonValue& functions = At(shared, "funcTable");
  const size_t frame = Index(At(At(shared, "stackTable"), "frame"), stack);
  const size_t function = Index(At(frames, "func"), frame);
  std::string text = string(At(functions, "name"), function);
  const JsonValue& source = At(functions, "source").items()[function];
  if (source.AsUint())
    text += " " + string(At(At(shared, "sources"), "filename"), *source.AsUint());
  const JsonValue& line = At(frames, "line").items()[frame];
  if (line.AsUint()) text += ":" + std::to_string(*line.AsUint());
  const JsonValue& prefix = At(At(shared, "stackTable"), "prefix").items()[stack];
  return (prefix.AsUint() ? StackText(shared, *prefix.AsUint()) + ";" : "") + text;
}

// "process/thread pid/tid main weightType" -> stack -> sum of the weights.
std::map<std::string, std::map<std::string, double>> SumsOf(const JsonValue& file) {
  std::map<std::string, std::map<std::string, double>> sums;
  for (const JsonValue& thread : At(file, "threads").items()) {
    const JsonValue& samples = At(thread, "samples");
    std::string title = thread.Find("processName") ? *At(thread, "processName").AsString() : "";
    title += "/" + *At(thread, "name").AsString() + " " + *At(thread, "pid").AsString() + "/" +
             std::to_string(At(thread, "tid").AsUint().value_or(0)) +
             (*At(thread, "isMainThread").AsBool() ? " main " : " ") +
             *At(samples, "weightType").AsString();
    double last = 0;
    for (size_t i = 0; i < At(samples, "stack").items().size(); ++i) {
      const double time = At(samples, "time").items()[i].AsDouble().value_or(-1);
      EXPECT_GE(time, last);
      last = time;
      sums[title][StackText(At(file, "shared"), Index(At(samples, "stack"), i))] +=
          At(samples, "weight").items()[i].AsDouble().value_or(0);
    }
  }
  return sums;
}

JsonValue Encoded(const Profile& profile, const FirefoxEncodeOptions& options = {}) {
  auto json = base::ParseJson(EncodeFirefox(profile, options));
  EXPECT_TRUE(json.ok()) << json.error().message();
  CheckShape(*json);
  return std::move(json).value();
}

class Builder {
 public:
  Builder() {
    profile.SetSampleTypes({profile.InternValueType("samples", "count"),
                            profile.InternValueType("cpu", "nanoseconds")});
    profile::Mapping row;
    row.path = profile.InternString("/usr/bin/app");
    row.build_id = profile.InternString("4b97de1f8a4f47b1a0e2c0fd7d1f3c6d11223344");
    row.memory_start = 0x401000;
    row.memory_limit = 0x500000;
    row.file_offset = 0x1000;
    app = profile.AddMapping(row);
    row = {};
    row.path = profile.InternString(profile::kKernelPath);
    kernel = profile.AddMapping(row);
  }
  profile::FunctionId Function(std::string_view name, std::string_view file = "",
                               int64_t start_line = 0) {
    return profile.InternFunction(
        {profile.InternString(name), {}, profile.InternString(file), start_line});
  }
  void Add(std::initializer_list<LocationId> leaf_first, profile::LabelSetId labels,
           int64_t count) {
    const int64_t values[] = {count, count * 1'000'001};
    profile.AddSample(profile.InternStack(leaf_first), labels, values);
  }
  profile::LabelSetId Labels(std::string_view process, std::string_view thread, int64_t pid,
                             int64_t tid) {
    const profile::Label labels[] = {
        profile.TextLabel("process", process), profile.TextLabel("thread", thread),
        profile.NumberLabel("pid", pid), profile.NumberLabel("tid", tid)};
    return profile.InternLabels(labels);
  }

  Profile profile;
  profile::MappingId app;
  profile::MappingId kernel;
};

TEST(FirefoxTest, WritesAThreadPerLabelsWithExactWeights) {
  Builder b;
  const profile::Line main_line{b.Function("main", "main.c", 3), 12, 0};
  const profile::Line inlined[] = {{b.Function("inner", "a.h"), 7, 2},
                                   {b.Function("outer", "a.c"), 40, 0}};
  const profile::Line read_line{b.Function("ksys_read"), 0, 0};
  const LocationId main_place = b.profile.AddLocation({b.app, 0x401010, false, {&main_line, 1}});
  const LocationId leaf = b.profile.AddLocation({b.app, 0x401020, false, inlined});
  const LocationId nameless = b.profile.AddLocation({b.app, 0x401030, false, {}});
  const LocationId read =
      b.profile.AddLocation({b.kernel, 0xffffffff81000010, false, {&read_line, 1}});
  const auto worker = b.Labels("app", "worker", 10, 12);
  const auto main_thread = b.Labels("app", "main", 10, 10);
  const auto other = b.Labels("other", "other", 20, 21);
  b.Add({leaf, main_place}, worker, 3);
  b.Add({read, leaf, main_place}, worker, 2);
  b.Add({main_place}, main_thread, 5);
  b.Add({nameless}, other, 1);
  b.Add({}, other, 4);
  b.profile.header().time_unix_ns = 1'500'000;
  b.profile.header().duration_ns = 2'000'000'000;
  const JsonValue file = Encoded(b.profile, {.product = "a run"});
  const std::string kOuter = "main main.c:12;outer a.c:40;inner a.h:7";
  const std::map<std::string, std::map<std::string, double>> expected = {
      {"app/worker 10/12 tracing-ms", {{kOuter, 3.000003}, {kOuter + ";ksys_read", 2.000002}}},
      {"app/main 10/10 main tracing-ms", {{"main main.c:12", 5.000005}}},
      {"other/other 20/21 main tracing-ms", {{"app+0x1030", 1.000001}, {"[no stack]", 4.000004}}}};
  EXPECT_EQ(SumsOf(file), expected);
  EXPECT_EQ(*At(At(file, "meta"), "product").AsString(), "a run");
  EXPECT_EQ(At(At(file, "meta"), "startTime").AsDouble(), 1.5);
  EXPECT_EQ(At(At(file, "meta"), "profilingEndTime").AsDouble(), 2000);
  const JsonValue& lib = At(file, "libs").items()[0];
  EXPECT_EQ(*At(lib, "debugName").AsString(), "app");
  EXPECT_EQ(*At(lib, "codeId").AsString(), "4b97de1f8a4f47b1a0e2c0fd7d1f3c6d11223344");
  EXPECT_EQ(*At(lib, "breakpadId").AsString(), "1FDE974B4F8AB147A0E2C0FD7D1F3C6D0");
  const JsonValue& frames = At(At(file, "shared"), "frameTable");
  EXPECT_EQ(At(frames, "address").items()[0].AsUint(), 0x1010u);
  EXPECT_EQ(At(frames, "inlineDepth").items()[2].AsUint(), 1u);
  EXPECT_EQ(At(frames, "category").items()[3].AsUint(), 2u) << "kernel";
  EXPECT_EQ(At(frames, "address").items()[3].AsDouble(), -1) << "more than JavaScript can hold";
}

TEST(FirefoxTest, AnotherProgramInOneProcessIsAProcessOfItsOwn) {
  Builder b;
  const profile::Line line{b.Function("f"), 0, 0};
  const LocationId place = b.profile.AddLocation({b.app, 0, false, {&line, 1}});
  b.Add({place}, b.Labels("sh", "sh", 10, 10), 1);
  b.Add({place}, b.Labels("cc1", "cc1", 10, 10), 2);
  b.Add({place}, {}, 3);
  const auto sums = SumsOf(Encoded(b.profile, {.sample_type = 0}));
  const std::map<std::string, std::map<std::string, double>> expected = {
      {"cc1/cc1 10/10 main samples", {{"f", 2}}},
      {"sh/sh 10.1/10 main samples", {{"f", 1}}},
      {"/all 0/0 main samples", {{"f", 3}}}};
  EXPECT_EQ(sums, expected);
}

TEST(FirefoxTest, UnitsAreWeightsInMillisecondsOrBytes) {
  for (const auto& [unit, weight, type] : {std::tuple{"nanoseconds", -0.0015, "tracing-ms"},
                                           {"microseconds", -1.5, "tracing-ms"},
                                           {"milliseconds", -1500.0, "tracing-ms"},
                                           {"seconds", -1500'000.0, "tracing-ms"},
                                           {"bytes", -1500.0, "bytes"},
                                           {"count", -1500.0, "samples"}}) {
    Profile profile;
    profile.SetSampleTypes({profile.InternValueType("x", unit)});
    const int64_t value = -1500;
    profile.AddSample({}, {}, {&value, 1});
    const JsonValue file = Encoded(profile);
    const JsonValue& samples = At(At(file, "threads").items().at(0), "samples");
    EXPECT_EQ(At(samples, "weight").items()[0].AsDouble(), weight) << unit;
    EXPECT_EQ(*At(samples, "weightType").AsString(), type) << unit;
  }
}

TEST(FirefoxTest, AnyProfileHasTheRightShapeAndTotal) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Profile profile =
        test::SyntheticProfile({.seed = seed, .samples = 100, .odd_content = seed % 2 == 0});
    const size_t type = 0;
    double before = 0;
    for (size_t i = 0; i < profile.sample_count(); ++i)
      before += static_cast<double>(profile.sample_values(i)[type]);
    double after = 0;
    for (const auto& [thread, stacks] : SumsOf(Encoded(profile, {.sample_type = type}))) {
      for (const auto& [stack, sum] : stacks) after += sum;
    }
    const std::string_view unit = profile.String(profile.sample_types()[type].unit);
    EXPECT_NEAR(after * (unit == "nanoseconds" ? 1e6 : 1), before, 1 + std::abs(before) * 1e-12);
  }
  EXPECT_TRUE(At(Encoded(Profile()), "threads").items().empty());
}

}  // namespace
}  // namespace vesta::wire
