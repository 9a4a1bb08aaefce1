#include "src/agent/profile_builder.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/agent/moved_code.h"
#include "src/agent/sample_labels.h"

namespace vesta::agent {

// One call of Build.
class ProfileBuilder::Work {
 public:
  Work(process::ProcessTable& processes, NameSources& names,
       const aggregate::Aggregator& aggregator)
      : processes_(processes), aggregator_(aggregator), namer_(names, aggregator, profile_) {}

  profile::Profile Run(const RecordingFacts& facts) {
    FillHeader(facts);
    namer_.NameAll();
    for (uint32_t row = 0; row < aggregator_.rows().size(); ++row) AddRow(row, facts.period_ns);
    ChooseMainMapping();
    return std::move(profile_);
  }

 private:
  void FillHeader(const RecordingFacts& facts) {
    profile_.SetSampleTypes({profile_.InternValueType("samples", "count"),
                             profile_.InternValueType("cpu", "nanoseconds")});
    profile::Header& header = profile_.header();
    header.period_type = profile_.InternValueType("cpu", "nanoseconds");
    header.period = facts.period_ns;
    header.time_unix_ns = facts.time_unix_ns;
    header.duration_ns = facts.duration_ns;
    header.default_sample_type = profile_.InternString("cpu");
  }

  profile::LabelSetId LabelsOf(const aggregate::Thread& thread, abi_stop_reason reason) {
    labels_.clear();
    const process::TaskInfo* task = nullptr;
    if (thread.process != 0) task = &processes_.task(process::TaskId(thread.process));
    ForEachLabel(task, thread.name, reason, [this](std::string_view key, std::string_view value) {
      labels_.push_back({profile_.InternString(key), InternForeign(value, profile_), 0, {}});
    });
    if (!thread.name.empty()) {
      labels_.push_back({profile_.InternString(profile::kLabelThread),
                         InternForeign(thread.name, profile_),
                         0,
                         {}});
    }
    labels_.push_back(profile_.NumberLabel(profile::kLabelPid, thread.pid));
    labels_.push_back(profile_.NumberLabel(profile::kLabelTid, thread.tid));
    return profile_.InternLabels(labels_);
  }

  // pprof shows one binary as the profile's own: that of the program that ran most.
  void ChooseMainMapping() {
    uint64_t most = 0;
    for (const auto& [executable, value] : value_by_executable_) {
      const auto mapping = namer_.MappingOfPath(executable);
      if (!mapping || value <= most) continue;
      most = value;
      profile_.header().main_mapping = *mapping;
    }
  }

  void AddRow(uint32_t row_index, int64_t period_ns) {
    const aggregate::Row& row = aggregator_.rows()[row_index];
    const aggregate::Thread& thread = aggregator_.thread(row.thread);
    if (thread.process != 0) {
      const process::TaskInfo& task = processes_.task(process::TaskId(thread.process));
      value_by_executable_[task.labels->executable] += row.value;
    }
    std::map<profile::StackId, uint64_t> values;
    if (namer_.moved_code().Concerns(row.stack)) {
      for (const MovedCode::Part& part : namer_.moved_code().PartsOf(row_index)) {
        values[namer_.StackAt(row.stack, part.time_mono_ns)] += part.value;
      }
    } else {
      values[namer_.StackAt(row.stack, 0)] = row.value;
    }
    const profile::LabelSetId labels = LabelsOf(thread, row.stop_reason);
    for (const auto& [stack, value] : values) {
      const auto count = static_cast<int64_t>(value);
      const int64_t sample[] = {count, count * period_ns};
      profile_.AddSample(stack, labels, sample);
    }
  }

  process::ProcessTable& processes_;
  const aggregate::Aggregator& aggregator_;
  profile::Profile profile_;
  StackNamer namer_;
  std::map<std::string, uint64_t> value_by_executable_;
  std::vector<profile::Label> labels_;
};

profile::Profile ProfileBuilder::Build(const aggregate::Aggregator& aggregator,
                                       const RecordingFacts& facts) {
  return Work(processes_, names_, aggregator).Run(facts);
}

}  // namespace vesta::agent
