#include "src/agent/batch_builder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/agent/sample_labels.h"
#include "src/base/utf8.h"

namespace vesta::agent {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

int64_t FloorToMs(int64_t ns) {
  return ns >= 0 ? ns / kNsPerMs : -((-ns + kNsPerMs - 1) / kNsPerMs);
}

}  // namespace

// One call of Build.
class BatchBuilder::Work {
 public:
  Work(BatchBuilder& builder, const aggregate::Aggregator& aggregator, const WindowFacts& facts)
      : builder_(builder),
        aggregator_(aggregator),
        facts_(facts),
        made_{std::make_unique<profile::Profile>(), {}, {}},
        namer_(builder.names_, aggregator, *made_.profile) {}

  WindowBatch Run() {
    FillHeader();
    namer_.NameAll();
    made_.batch.profile = made_.profile.get();
    made_.batch.types = {{.type = "cpu",
                          .unit = "nanoseconds",
                          .count_type = "samples",
                          .period_type = "cpu",
                          .period_unit = "nanoseconds"}};
    for (uint32_t row = 0; row < aggregator_.rows().size(); ++row) AddRow(row);
    made_.provisional = namer_.TakeProvisional();
    return std::move(made_);
  }

 private:
  void FillHeader() {
    profile::Header& header = made_.profile->header();
    header.period_type = made_.profile->InternValueType("cpu", "nanoseconds");
    header.period = facts_.period_ns;
  }

  void AddRow(uint32_t index) {
    const aggregate::Row& row = aggregator_.rows()[index];
    const aggregate::Thread& thread = aggregator_.thread(row.thread);
    batch::BatchRow made;
    made.series = SeriesOf(thread, row.stop_reason);
    made.task = TaskOf(row.thread);
    const bool moves = namer_.moved_code().Concerns(row.stack);
    if (!moves) made.stack = namer_.StackAt(row.stack, 0);
    for (const MovedCode::Part& part : namer_.moved_code().PartsOf(index)) {
      if (moves) made.stack = namer_.StackAt(row.stack, part.time_mono_ns);
      const uint64_t time_mono_ns = part.time_mono_ns == std::numeric_limits<uint64_t>::max()
                                        ? facts_.end_mono_ns
                                        : part.time_mono_ns;
      made.time_unix_ms = std::max<int64_t>(
          FloorToMs(static_cast<int64_t>(time_mono_ns) + facts_.unix_minus_mono_ns), 0);
      // The unit of the book is the sample, so each is a row, also those without their own times.
      for (uint64_t i = 0; i < part.count; ++i) {
        const uint64_t ticks = part.value * (i + 1) / part.count - part.value * i / part.count;
        made.value = static_cast<int64_t>(ticks) * facts_.period_ns;
        made.count = 1;
        made.weight = static_cast<float>(ticks);
        made_.batch.rows.push_back(made);
      }
    }
  }

  uint32_t TaskOf(aggregate::ThreadId id) {
    const auto [known, is_new] =
        tasks_.try_emplace(id.value(), static_cast<uint32_t>(made_.batch.tasks.size()));
    if (is_new) {
      const aggregate::Thread& thread = aggregator_.thread(id);
      made_.batch.tasks.push_back({thread.pid, thread.tid, base::ToUtf8(thread.name)});
    }
    return known->second;
  }

  uint32_t SeriesOf(const aggregate::Thread& thread, abi_stop_reason reason) {
    // Without a task the process is told by the thread's name.
    const auto key =
        std::make_tuple(thread.process, static_cast<int>(reason),
                        thread.process == 0 ? std::string_view(thread.name) : std::string_view());
    const auto known = series_of_.find(key);
    if (known != series_of_.end()) return known->second;
    const process::TaskInfo* task = nullptr;
    if (thread.process != 0) task = &builder_.processes_.task(process::TaskId(thread.process));
    batch::Labels labels = SeriesLabels(builder_.host_labels_, task, thread.name, reason);
    const auto [series, is_new] =
        series_ids_.try_emplace(labels, static_cast<uint32_t>(made_.batch.series.size()));
    if (is_new) made_.batch.series.push_back(std::move(labels));
    series_of_.emplace(key, series->second);
    return series->second;
  }

  BatchBuilder& builder_;
  const aggregate::Aggregator& aggregator_;
  const WindowFacts& facts_;
  WindowBatch made_;
  StackNamer namer_;
  std::map<std::tuple<uint32_t, int, std::string_view>, uint32_t> series_of_;
  std::map<batch::Labels, uint32_t> series_ids_;
  std::map<uint32_t, uint32_t> tasks_;  // by thread
};

WindowBatch BatchBuilder::Build(const aggregate::Aggregator& aggregator, const WindowFacts& facts) {
  return Work(*this, aggregator, facts).Run();
}

}  // namespace vesta::agent
