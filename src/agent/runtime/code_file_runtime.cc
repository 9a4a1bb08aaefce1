#include "src/agent/runtime/code_file_runtime.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vesta::agent::runtime {
namespace {

using base::ErrorCode;
using base::Result;

constexpr size_t kFilesMax = 128;  // each keeps a descriptor

}  // namespace

CodeFileRuntime::CodeFileRuntime(std::string proc_root, CodeFileLimits limits)
    : proc_root_(std::move(proc_root)), limits_(limits), since_mono_ns_(NowMonoNs()) {}

CodeFile& CodeFileRuntime::Find(const ProcessKey& process) {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& known) { return known.process == process; });
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    return *known_.front().file;
  }
  return *known_.emplace_front(Known{process, Make(limits_.kept_bytes_max, since_mono_ns_)}).file;
}

// Of the process that was found last.
Result<void> CodeFileRuntime::Refresh(CodeFile& file, uint64_t bytes_max) {
  const uint64_t looked_mono_ns = NowMonoNs();
  auto opened = Open(known_.front().process);
  // The process is gone; what it wrote last counts as well.
  if (!opened.ok() && file.has_file()) opened = LookAgain(file.source());
  if (!opened.ok()) {
    if (opened.error().code() != ErrorCode::kNotFound) ++book_.files_refused;
    return std::move(opened).error();
  }
  file.Take(std::move(opened).value(), looked_mono_ns);
  return file.ReadAdded(bytes_max);
}

size_t CodeFileRuntime::memory_bytes() const {
  size_t bytes = 0;
  for (const Known& known : known_) bytes += known.file->memory_bytes();
  return bytes;
}

void CodeFileRuntime::Shed() {
  size_t kept_bytes = 0;
  size_t count = 0;
  for (auto known = known_.begin(); known != known_.end();) {
    kept_bytes += known->file->memory_bytes();
    // The one that was just read stays, whatever its size.
    const bool goes =
        known != known_.begin() && (kept_bytes > limits_.kept_bytes_max || ++count >= kFilesMax);
    known = goes ? known_.erase(known) : std::next(known);
  }
}

void CodeFileRuntime::Remember(const ProcessKey& process, std::span<const uint64_t> frames) {
  CodeFile& file = Find(process);
  file.Want(frames);
  // No names now is no failure: there may be some when they are asked for.
  const bool is_read = Refresh(file, limits_.remember_bytes_max).ok();
  if (!file.has_file()) {
    known_.pop_front();
    return;
  }
  if (is_read) file.ReadNames(frames);
  Shed();
}

Result<std::vector<FrameNames>> CodeFileRuntime::Name(const ProcessKey& process,
                                                      std::span<const uint64_t> frames) {
  CodeFile& file = Find(process);
  file.Want(frames);
  if (auto refreshed = Refresh(file, limits_.name_bytes_max); !refreshed.ok() && !file.has_file()) {
    known_.pop_front();
    return std::move(refreshed).error();
  }
  file.ReadForgotten(frames, limits_);
  auto names = file.NamesOf(frames);
  Shed();
  return names;
}

void CodeFileRuntime::Forget(uint32_t pid) {
  known_.remove_if([pid](const Known& known) { return known.process.pid == pid; });
}

}  // namespace vesta::agent::runtime
