#include "src/agent/batch_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "src/agent/late_names.h"
#include "test/support/builder_fixture.h"

namespace vesta::agent {
namespace {

constexpr int64_t kUnixMinusMonoNs = 1'700'000'000'000'000'000;
constexpr int64_t kPeriodNs = 10'000'000;

class BatchBuilderTest : public BuilderFixture {
 protected:
  WindowBatch Build(batch::Labels host_labels = {{"host.name", "n1"}}) {
    return BatchBuilder(processes_, names_, std::move(host_labels))
        .Build(aggregator_, {kUnixMinusMonoNs, 9'000'000'000, kPeriodNs});
  }
  void AddAt(std::vector<profile::Frame> leaf_first, uint64_t value, uint64_t time_mono_ns) {
    aggregator_.Add(aggregator_.InternThread(task_.value(), 10, 11, "worker"), leaf_first,
                    ABI_STOP_ROOT, value, time_mono_ns);
  }
  static std::map<std::string, std::string> ToMap(const batch::Labels& labels) {
    std::map<std::string, std::string> map;
    for (const batch::Label& label : labels) map[label.name] = label.value;
    return map;
  }

  NameSources names_{images_, namer_, runtime_};
};

TEST_F(BatchBuilderTest, EachSampleIsARowWithItsOwnTimeValueAndWeight) {
  AddAt({Native(server_, 0x1100)}, 1, 1'500'000);
  AddAt({Native(server_, 0x1100)}, 4, 2'999'999);  // while ticks were four times rarer
  AddAt({Native(server_, 0x1100)}, 1, 0);          // no room for its time
  const WindowBatch made = Build();
  ASSERT_TRUE(made.profile->Validate().ok());
  std::vector<std::tuple<int64_t, int64_t, int64_t, float>> rows;
  for (const batch::BatchRow& row : made.batch.rows) {
    rows.emplace_back(row.time_unix_ms - kUnixMinusMonoNs / 1'000'000, row.value, row.count,
                      row.weight);
  }
  EXPECT_EQ(rows,
            (std::vector<std::tuple<int64_t, int64_t, int64_t, float>>{
                {1, 10'000'000, 1, 1.0f}, {2, 40'000'000, 1, 4.0f}, {2, 10'000'000, 1, 1.0f}}));
  ASSERT_EQ(made.batch.types.size(), 1u);
  EXPECT_EQ(made.batch.types[0].type, "cpu");
  EXPECT_EQ(made.batch.types[0].unit, "nanoseconds");
  EXPECT_EQ(made.batch.types[0].count_type, "samples");
  EXPECT_EQ(made.profile->header().period, kPeriodNs);
}

TEST_F(BatchBuilderTest, SamplesOfWhichNoTimeIsKnownAreOfTheWindowsEnd) {
  AddAt({Native(server_, 0x1100)}, 1, 0);
  AddAt({Native(server_, 0x1100)}, 1, 0);
  const WindowBatch made = Build();
  ASSERT_EQ(made.batch.rows.size(), 2u);
  for (const batch::BatchRow& row : made.batch.rows) {
    EXPECT_EQ(row.time_unix_ms, (kUnixMinusMonoNs + 9'000'000'000) / 1'000'000);
  }
}

TEST_F(BatchBuilderTest, EachRowIsOneSampleAndTheRowsAddUpToTheTicks) {
  AddAt({Native(server_, 0x1100)}, 4, 0);
  AddAt({Native(server_, 0x1100)}, 1, 0);
  AddAt({Native(server_, 0x1100)}, 2, 0);
  AddAt({Native(server_, 0x1100)}, 1, 5);
  const WindowBatch made = Build();
  ASSERT_EQ(made.batch.rows.size(), 4u);
  int64_t value = 0;
  for (const batch::BatchRow& row : made.batch.rows) {
    EXPECT_EQ(row.count, 1);
    EXPECT_GE(row.value, kPeriodNs);
    EXPECT_EQ(row.value, static_cast<int64_t>(row.weight) * kPeriodNs);
    value += row.value;
  }
  EXPECT_EQ(value, 8 * kPeriodNs);
}

TEST_F(BatchBuilderTest, AProcessThatWasGoneIsAServiceByItsName) {
  const auto id = aggregator_.InternThread(0, 99, 99, "cc1plus");
  aggregator_.Add(id, std::vector{Native(server_, 0x1100)}, ABI_STOP_ROOT, 1, 1);
  const auto labels = ToMap(Build().batch.series[0]);
  EXPECT_EQ(labels.at("service.name"), "cc1plus");
  EXPECT_EQ(labels.at("service.rule"), "process name");
  const auto given = ToMap(Build({{"service.name", "ci"}}).batch.series[0]);
  EXPECT_EQ(given.at("service.name"), "ci");
  EXPECT_EQ(given.count("service.rule"), 0u);
}

TEST_F(BatchBuilderTest, SeriesHaveTheProcessAndTheHostAndTasksTheThread) {
  AddAt({Native(server_, 0x1100)}, 1, 1);
  const WindowBatch made = Build();
  ASSERT_EQ(made.batch.series.size(), 1u);
  EXPECT_TRUE(std::ranges::is_sorted(made.batch.series[0]));
  const auto labels = ToMap(made.batch.series[0]);
  EXPECT_EQ(labels.at("host.name"), "n1");
  EXPECT_EQ(labels.at("service.name"), "checkout");
  EXPECT_EQ(labels.at("process"), "server");
  EXPECT_EQ(labels.at("exe"), "/opt/server");
  EXPECT_EQ(labels.count("pid") + labels.count("thread"), 0u);
  ASSERT_EQ(made.batch.tasks.size(), 1u);
  EXPECT_EQ(made.batch.tasks[0], (batch::Task{10, 11, "worker"}));
}

TEST_F(BatchBuilderTest, WorkersOfTheKernelAreOneSeries) {
  for (const uint32_t pid : {70u, 71u}) {
    test::FakeProcess& worker = proc_.processes[pid];
    worker.comm = pid == 70 ? "kworker/0:1-events" : "kworker/u8:3";
    worker.is_kernel_thread = true;
    const auto task = processes_.TaskOf({pid, 0, 0, proc_.now_mono_ns, worker.comm});
    aggregator_.Add(aggregator_.InternThread(task.value(), pid, pid, worker.comm),
                    std::vector{profile::Frame{0xffffffff81000000, profile::ImageId(),
                                               profile::FrameKind::kKernel, true}},
                    ABI_STOP_ROOT, 1, 1);
  }
  const WindowBatch made = Build();
  ASSERT_EQ(made.batch.series.size(), 1u);
  EXPECT_EQ(ToMap(made.batch.series[0]).at("service.name"), "[kernel]");
  EXPECT_EQ(ToMap(made.batch.series[0]).at("process"), "kworker");
  EXPECT_EQ(made.batch.tasks.size(), 2u);
}

TEST_F(BatchBuilderTest, GeneratedCodeHasTheNameOfItsTime) {
  runtime_.moved_mono_ns = {100, 200};
  for (const uint64_t time_mono_ns : {50u, 250u}) {
    AddAt({Native(generated_, 16), Native(server_, 0x1100)}, 1, time_mono_ns);
  }
  const WindowBatch made = Build();
  ASSERT_EQ(made.batch.rows.size(), 2u);
  const auto leaf = [&](size_t row) {
    return NameOf(*made.profile, made.profile->stack(made.batch.rows[row].stack).front());
  };
  EXPECT_EQ(leaf(0), "jit_16");
  EXPECT_EQ(leaf(1), "jit_16 from 200");
}

TEST_F(BatchBuilderTest, ImagesWhoseIndexIsStillToComeAreProvisionalAndWait) {
  AddAt({Native(server_, 0x1200), Native(server_, 0x1100)}, 1, 1);
  AddAt({Native(server_, 0x1100), Native(generated_, 16)}, 1, 1);
  WindowBatch made = Build();
  ASSERT_EQ(made.provisional.size(), 1u) << "generated code is named when it is sampled";
  EXPECT_EQ(made.provisional[0].image, server_);
  EXPECT_EQ(made.provisional[0].addresses, (std::vector<uint64_t>{0x1100, 0x1200}));

  LateNames late(names_, 3);
  late.Add(made.provisional);
  late.Add({{server_, {0x1200, 0x1300}}});
  EXPECT_EQ(late.waiting_count(), 3u);
  EXPECT_FALSE(late.Take().has_value());
  std::vector<bool> needed(images_.id_limit());
  late.MarkImages(needed);
  EXPECT_TRUE(needed[server_.value()]);
  late.Add({{server_, {0x1400}}});
  EXPECT_EQ(late.waiting_count(), 3u);
  EXPECT_EQ(late.book().addresses_dropped, 1u);
}

}  // namespace
}  // namespace vesta::agent
