#include "src/wire/perf_data_decoder.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/utf8.h"
#include "src/wire/perf_data.h"
#include "src/wire/perf_events.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using profile::LocationId;
using profile::MappingId;
using profile::Profile;

constexpr uint32_t kKernelPid = std::numeric_limits<uint32_t>::max();
constexpr std::string_view kPerfKernel = "[kernel.kallsyms]";
constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kComment = "recorded by perf; callers' addresses lie in their calls";
// Rows of all address spaces together: forks copy them.
constexpr uint64_t kMappedRangesMax = uint64_t{1} << 24;

// What a process has mapped, by start.
struct MappedRange {
  uint64_t end = 0;
  MappingId mapping = profile::kNoMapping;
};
using AddressSpace = std::map<uint64_t, MappedRange>;

bool IsContextMark(uint64_t address) { return address >= static_cast<uint64_t>(PERF_CONTEXT_MAX); }

// "[kernel.kallsyms]_text" -> "[kernel]", "/tmp/x (deleted)" -> "/tmp/x".
std::string_view PathOf(std::string_view path) {
  if (path.starts_with(kPerfKernel)) return profile::kKernelPath;
  if (path.size() > kDeleted.size() && path.ends_with(kDeleted))
    path.remove_suffix(kDeleted.size());
  return path;
}

class Decoder {
 public:
  explicit Decoder(const PerfData& recording) : recording_(recording) {
    for (const PerfBuildId& row : recording.build_ids()) {
      build_id_of_path_.emplace(row.path, row.build_id);
      if (row.path.starts_with(kPerfKernel)) build_id_of_path_.emplace(kPerfKernel, row.build_id);
    }
  }

  Result<Profile> Run() {
    for (const PerfEvent& event : recording_.events()) {
      if ((event.sample_type & PERF_SAMPLE_STACK_USER) != 0)
        return Error(ErrorCode::kUnsupported,
                     "recorded with --call-graph dwarf, which only perf itself can walk: "
                     "perf script -i FILE | vesta convert - -o OUT");
    }
    std::vector<PerfEventSamples::Event> events;
    for (const PerfEvent& event : recording_.events()) {
      events.push_back({event.name.empty() ? "event" : base::ToUtf8(event.name), 0, true, 0});
    }
    samples_ = PerfEventSamples(std::move(events));
    for (size_t i = 0; i < recording_.record_count(); ++i) {
      ASSIGN_OR_RETURN(const PerfRecord record, recording_.Read(i));
      if (const auto* const sample = std::get_if<PerfSample>(&record))
        Take(*sample);
      else if (const auto* const mapping = std::get_if<PerfMapping>(&record))
        RETURN_IF_ERROR(Take(*mapping));
      else if (const auto* const comm = std::get_if<PerfComm>(&record))
        Take(*comm);
      else if (const auto* const fork = std::get_if<PerfFork>(&record))
        Take(*fork);
    }
    RETURN_IF_ERROR(samples_.MoveTo(profile_));
    profile_.header().comments.push_back(profile_.InternString(kComment));
    return std::move(profile_);
  }

 private:
  Result<void> Take(const PerfMapping& mapping) {
    if (!mapping.executable || mapping.start == mapping.end) return {};
    auto& shared = spaces_[mapping.pid];
    if (shared == nullptr) {
      shared = std::make_shared<AddressSpace>();
    } else if (shared.use_count() > 1) {
      shared = std::make_shared<AddressSpace>(*shared);
      ranges_ += shared->size();
    }
    if (++ranges_ > kMappedRangesMax)
      return Error(ErrorCode::kExhausted, "more mappings than vesta keeps");
    AddressSpace& space = *shared;
    // What it covers is there no longer; what it cuts keeps its rest on either side.
    auto next = space.upper_bound(mapping.start);
    if (next != space.begin()) --next;
    while (next != space.end() && next->first < mapping.end) {
      const uint64_t start = next->first;
      const MappedRange old = next->second;
      if (old.end <= mapping.start) {
        ++next;
        continue;
      }
      next = space.erase(next);
      if (start < mapping.start) space[start] = {mapping.start, old.mapping};
      if (old.end > mapping.end) space[mapping.end] = old;
    }
    space[mapping.start] = {mapping.end, MappingOf(mapping)};
    return {};
  }

  MappingId MappingOf(const PerfMapping& mapping) {
    const std::string_view path = PathOf(mapping.path);
    std::string build_id = mapping.build_id;
    if (build_id.empty()) {
      const auto known = build_id_of_path_.find(
          path == profile::kKernelPath ? std::string(kPerfKernel) : mapping.path);
      if (known != build_id_of_path_.end()) build_id = known->second;
    }
    const auto key = std::make_tuple(std::string(path), build_id, mapping.start, mapping.end,
                                     mapping.file_offset);
    const auto [row, is_new] = mappings_.try_emplace(key, profile::kNoMapping);
    if (is_new) {
      profile::Mapping added;
      added.path = profile_.InternString(base::ToUtf8(path));
      added.build_id = profile_.InternString(build_id);
      added.memory_start = mapping.start;
      added.memory_limit = mapping.end;
      added.file_offset = mapping.file_offset;
      row->second = profile_.AddMapping(added);
    }
    return row->second;
  }

  void Take(const PerfComm& comm) {
    comm_of_tid_[comm.tid] = comm.comm;
    if (comm.is_exec) spaces_.erase(comm.pid);
  }

  void Take(const PerfFork& fork) {
    const auto comm = comm_of_tid_.find(fork.parent_tid);
    if (comm != comm_of_tid_.end()) {
      const std::string name = comm->second;
      comm_of_tid_[fork.tid] = name;
    }
    if (fork.pid == fork.parent_pid) return;  // a thread
    const auto space = spaces_.find(fork.parent_pid);
    if (space == spaces_.end()) return;
    const auto shared = space->second;
    spaces_[fork.pid] = shared;
  }

  void Take(const PerfSample& sample) {
    stack_.clear();
    bool in_kernel = sample.in_kernel;
    // The first frame behind a mark is where that side was interrupted, the others are callers.
    bool is_caller = false;
    for (const uint64_t address : sample.callchain) {
      if (IsContextMark(address)) {
        in_kernel = address == static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
        is_caller = false;
        continue;
      }
      stack_.push_back(
          LocationOf(sample.pid, address - (is_caller && address != 0 ? 1 : 0), in_kernel));
      is_caller = true;
    }
    if (stack_.empty() && sample.address != 0)
      stack_.push_back(LocationOf(sample.pid, sample.address, in_kernel));
    const uint64_t period = sample.period.value_or(1);
    constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
    samples_.Add(sample.event, profile_.InternStack(stack_), LabelsOf(sample),
                 static_cast<int64_t>(std::min(period, kMax)));
    samples_.AddTime(static_cast<int64_t>(std::min(sample.time_ns, kMax)));
  }

  LocationId LocationOf(uint32_t pid, uint64_t address, bool in_kernel) {
    MappingId mapping = profile::kNoMapping;
    const auto space = spaces_.find(in_kernel ? kKernelPid : pid);
    if (space != spaces_.end()) {
      auto range = space->second->upper_bound(address);
      if (range != space->second->begin() && (--range)->second.end > address)
        mapping = range->second.mapping;
    }
    return profile_.InternLocation({mapping, address, false, {}});
  }

  profile::LabelSetId LabelsOf(const PerfSample& sample) {
    labels_.clear();
    const auto add_text = [&](std::string_view key, uint32_t tid) {
      const auto comm = comm_of_tid_.find(tid);
      if (comm != comm_of_tid_.end() && !comm->second.empty())
        labels_.push_back(profile_.TextLabel(key, base::ToUtf8(comm->second)));
      else if (tid == 0)
        labels_.push_back(profile_.TextLabel(key, "swapper"));
    };
    add_text(profile::kLabelProcess, sample.pid);
    add_text(profile::kLabelThread, sample.tid);
    labels_.push_back(profile_.NumberLabel(profile::kLabelPid, static_cast<int32_t>(sample.pid)));
    labels_.push_back(profile_.NumberLabel(profile::kLabelTid, static_cast<int32_t>(sample.tid)));
    return profile_.InternLabels(labels_);
  }

  const PerfData& recording_;
  Profile profile_;
  PerfEventSamples samples_;
  std::unordered_map<std::string, std::string> build_id_of_path_;
  std::map<std::tuple<std::string, std::string, uint64_t, uint64_t, uint64_t>, MappingId> mappings_;
  // Shared by a process and those that it forked, until one of them maps something.
  std::unordered_map<uint32_t, std::shared_ptr<AddressSpace>> spaces_;
  uint64_t ranges_ = 0;
  std::unordered_map<uint32_t, std::string> comm_of_tid_;

  std::vector<LocationId> stack_;
  std::vector<profile::Label> labels_;
};

}  // namespace

Result<Profile> DecodePerfData(std::string_view bytes) {
  const base::MemorySource source(std::as_bytes(std::span(bytes)));
  const auto recording = PerfData::Open(source);
  if (!recording.ok()) return recording.error().Context("perf.data");
  return Decoder(*recording).Run().Context("perf.data");
}

bool IsOfPerfData(const Profile& profile) {
  return std::ranges::any_of(profile.header().comments, [&](profile::StringId comment) {
    return profile.String(comment) == kComment;
  });
}

}  // namespace vesta::wire
