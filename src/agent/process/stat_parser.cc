#include "src/agent/process/stat_parser.h"

#include <charconv>
#include <optional>

namespace vesta::agent::process {
namespace {

constexpr uint64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD

// Numbers of the fields as proc(5) counts them.
constexpr int kStateField = 3;
constexpr int kFlagsField = 9;
constexpr int kThreadCountField = 20;
constexpr int kStartTimeField = 22;

template <typename Number>
std::optional<Number> ToNumber(std::string_view text) {
  Number number{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// Takes the next word off the text; empty at the end.
std::string_view TakeWord(std::string_view& text) {
  constexpr std::string_view kBlank = " \t\n";
  const size_t start = text.find_first_not_of(kBlank);
  if (start == std::string_view::npos) {
    text = {};
    return {};
  }
  const size_t end = text.find_first_of(kBlank, start);
  const std::string_view word = text.substr(start, end - start);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  return word;
}

base::Error Damaged(const char* what) {
  return base::Error(base::ErrorCode::kCorrupt, std::string("no ") + what + " where it should be");
}

// The words after "Name:" at the start of a line.
std::string_view LineOf(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.substr(0, name.size()) == name) return line.substr(name.size());
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return {};
}

}  // namespace

base::Result<ProcStat> ParseStat(std::string_view text) {
  const size_t name_start = text.find('(');
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_start >= name_end) return Damaged("name");
  ProcStat stat;
  stat.comm = text.substr(name_start + 1, name_end - name_start - 1);
  text.remove_prefix(name_end + 1);
  for (int field = kStateField; field <= kStartTimeField; ++field) {
    const std::string_view word = TakeWord(text);
    if (field == kStateField) {
      if (word.size() != 1) return Damaged("state");
      stat.state = word.front();
    } else if (field == kFlagsField) {
      const auto flags = ToNumber<uint64_t>(word);
      if (!flags) return Damaged("flags");
      stat.is_kernel_thread = (*flags & kKernelThreadFlag) != 0;
    } else if (field == kThreadCountField) {
      const auto count = ToNumber<uint32_t>(word);
      if (!count) return Damaged("thread count");
      stat.thread_count = *count;
    } else if (field == kStartTimeField) {
      const auto ticks = ToNumber<uint64_t>(word);
      if (!ticks) return Damaged("start time");
      stat.start_boot_ticks = *ticks;
    }
  }
  return stat;
}

base::Result<ProcStatus> ParseStatus(std::string_view text) {
  ProcStatus status;
  std::string_view uids = LineOf(text, "Uid:");
  const auto uid = ToNumber<uint32_t>(TakeWord(uids));
  if (!uid) return Damaged("uid");
  status.real_uid = *uid;
  // Outermost namespace first; kernels without pid namespaces have no such line.
  std::string_view pids = LineOf(text, "NSpid:");
  if (pids.empty()) pids = LineOf(text, "Pid:");
  std::string_view innermost;
  for (std::string_view word = TakeWord(pids); !word.empty(); word = TakeWord(pids)) {
    innermost = word;
  }
  const auto pid = ToNumber<uint32_t>(innermost);
  if (!pid) return Damaged("pid");
  status.namespace_pid = *pid;
  return status;
}

}  // namespace vesta::agent::process
