#include "src/store/batch_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace vesta::store {
namespace {

struct Given {
  profile::Profile profile;
  Batch batch;
};

void FillGood(Given* given) {
  given->profile.SetSampleTypes({});
  const auto location = given->profile.InternLocation({.address = 1});
  const auto stack = given->profile.InternStack(std::vector{location});
  given->batch = {.id = BatchId{"agent", "boot", 1},
                  .profile = &given->profile,
                  .types = {{"cpu", "nanoseconds", "samples", "", ""}},
                  .series = {{{"host.name", "a"}, {"service.name", "x"}}},
                  .tasks = {{1, 2, "worker"}},
                  .rows = {{0, 0, 0, stack, 1'000, 5, 1, 1.0f}}};
}

TEST(CheckBatch, TakesAGoodBatchAndAnEmptyOne) {
  Given given;
  FillGood(&given);
  EXPECT_TRUE(CheckBatch(given.batch).ok());
  EXPECT_TRUE(CheckBatch({}).ok());
}

TEST(CheckBatch, TakesWhatIsJustWithinTheLimits) {
  Given given;
  FillGood(&given);
  BatchRow& row = given.batch.rows[0];
  row.time_unix_ms = kTimeUnixMsEnd - 1;
  row.value = std::numeric_limits<int64_t>::max();
  row.count = 0;
  row.weight = std::numeric_limits<float>::max();
  given.batch.series[0] = {
      {std::string(kLabelNameBytesMax, 'n'), std::string(kLabelValueBytesMax, 'v')}};
  EXPECT_TRUE(CheckBatch(given.batch).ok());
  row.value = 0;
  row.count = 1;
  EXPECT_TRUE(CheckBatch(given.batch).ok());
}

TEST(CheckBatch, NamesTheFieldThatIsWrong) {
  struct Case {
    const char* message;
    std::function<void(Batch*)> damage;
  };
  const std::vector<Case> cases = {
      {"rows[0].type", [](Batch* b) { b->rows[0].type = 1; }},
      {"rows[0].series", [](Batch* b) { b->rows[0].series = 1; }},
      {"rows[0].task", [](Batch* b) { b->rows[0].task = 1; }},
      {"rows[0].stack", [](Batch* b) { b->rows[0].stack = profile::StackId{2}; }},
      {"rows[0].time_unix_ms is before", [](Batch* b) { b->rows[0].time_unix_ms = -1; }},
      {"rows[0].time_unix_ms is after", [](Batch* b) { b->rows[0].time_unix_ms = kTimeUnixMsEnd; }},
      {"rows[0].value is negative", [](Batch* b) { b->rows[0].value = -1; }},
      {"rows[0].count is negative", [](Batch* b) { b->rows[0].count = -1; }},
      {"rows[0].value and count are both 0",
       [](Batch* b) { b->rows[0].value = b->rows[0].count = 0; }},
      {"rows[0].weight", [](Batch* b) { b->rows[0].weight = 0; }},
      {"rows[0].weight", [](Batch* b) { b->rows[0].weight = -1; }},
      {"rows[0].weight",
       [](Batch* b) { b->rows[0].weight = std::numeric_limits<float>::quiet_NaN(); }},
      {"rows[0].weight",
       [](Batch* b) { b->rows[0].weight = std::numeric_limits<float>::infinity(); }},
      {"rows[1].value",
       [](Batch* b) {
         b->rows.push_back(b->rows[0]);
         b->rows[1].value = -5;
       }},
      {"profile is missing", [](Batch* b) { b->profile = nullptr; }},
      {"types[0]: type is empty", [](Batch* b) { b->types[0].type = ""; }},
      {"types[0]: unit is longer", [](Batch* b) { b->types[0].unit = std::string(129, 'x'); }},
      {"types[0]: count_type is no UTF-8", [](Batch* b) { b->types[0].count_type = "\xff"; }},
      {"types[0]: period_type", [](Batch* b) { b->types[0].period_type = "\xff"; }},
      {"types[0]: period_unit", [](Batch* b) { b->types[0].period_unit = "\xff"; }},
      {"tasks[0]: thread", [](Batch* b) { b->tasks[0].thread = std::string(2049, 'x'); }},
      {"id.agent", [](Batch* b) { b->id->agent = "\xff"; }},
      {"id.boot", [](Batch* b) { b->id->boot = std::string(257, 'x'); }},
      {"series[0]: the label service.name is there twice",
       [](Batch* b) { b->series[0] = {{"service.name", "x"}, {"service.name", "y"}}; }},
  };
  for (const Case& c : cases) {
    Given given;
    FillGood(&given);
    c.damage(&given.batch);
    const auto checked = CheckBatch(given.batch);
    ASSERT_FALSE(checked.ok()) << c.message;
    EXPECT_EQ(checked.error().code(), base::ErrorCode::kInvalidInput);
    EXPECT_NE(checked.error().message().find(c.message), std::string::npos)
        << checked.error().message() << " has no " << c.message;
  }
}

TEST(CheckLabels, NamesTheLabelThatIsWrong) {
  Labels many;
  for (int i = 0; i <= 64; ++i) many.push_back({"label" + std::to_string(100 + i), "x"});
  const std::vector<std::pair<std::string, Labels>> cases = {
      {"65 labels are more than 64", many},
      {"a label's name is empty", {{"", "x"}}},
      {"a has an empty value", {{"a", ""}}},
      {"a is not in order", {{"b", "x"}, {"a", "x"}}},
      {"a is there twice", {{"a", "x"}, {"a", "x"}}},
      {"is longer than 128 bytes", {{std::string(129, 'n'), "x"}}},
      {"the value of the label a is longer than 2048 bytes", {{"a", std::string(2049, 'x')}}},
      {"the value of the label a is no UTF-8", {{"a", "\xc3"}}},
      {"is no UTF-8", {{"\xc3", "a"}}},
  };
  for (const auto& [message, labels] : cases) {
    const auto checked = CheckLabels(labels);
    ASSERT_FALSE(checked.ok()) << message;
    EXPECT_NE(checked.error().message().find(message), std::string::npos)
        << checked.error().message();
  }
  many.pop_back();
  EXPECT_TRUE(CheckLabels(many).ok());
  EXPECT_TRUE(CheckLabels({}).ok());
}

}  // namespace
}  // namespace vesta::store
