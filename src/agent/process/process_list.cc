#include "src/agent/process/process_list.h"

#include <utility>

namespace vesta::agent::process {

ProcessList::ProcessList(const Limits& limits)
    : limits_(limits), mappings_left_(limits.mappings_total_max) {}

Process* ProcessList::Get(uint32_t pid) {
  const auto found = newest_.find(pid);
  return found == newest_.end() ? nullptr : &found->second;
}

const Process* ProcessList::Find(uint32_t pid) const {
  const auto found = newest_.find(pid);
  return found == newest_.end() ? nullptr : &found->second;
}

void ProcessList::ForgetTasks() {
  for (auto& [pid, process] : newest_) process.task = process.previous_task = TaskId();
  for (auto& [serial, process] : retired_) process.task = process.previous_task = TaskId();
}

Process* ProcessList::Add(uint32_t pid) {
  if (newest_.size() >= limits_.processes_max) return nullptr;
  Process& process =
      newest_.try_emplace(pid, pid, limits_.mappings_max, mappings_left_).first->second;
  process.serial = serial_next_++;
  NoteChange(pid);
  return &process;
}

void ProcessList::MarkExited(Process& process, uint64_t time_mono_ns) {
  process.exited = true;
  NoteChange(process.pid);
  departed_.push_back({process.pid, process.serial, time_mono_ns + limits_.exit_grace_ns});
}

void ProcessList::Retire(Process& process, uint64_t now_mono_ns) {
  if (!process.exited) MarkExited(process, now_mono_ns);
  const uint32_t pid = process.pid;
  const uint64_t serial = process.serial;
  retired_.insert_or_assign(serial, std::move(process));
  newest_.erase(pid);
}

void ProcessList::DropDeparted(uint64_t now_mono_ns) {
  while (!departed_.empty() && departed_.front().drop_mono_ns <= now_mono_ns) {
    const Departed gone = departed_.front();
    departed_.pop_front();
    retired_.erase(gone.serial);
    const auto found = newest_.find(gone.pid);
    if (found != newest_.end() && found->second.serial == gone.serial && found->second.exited) {
      newest_.erase(found);
    }
  }
}

void ProcessList::BoundDeparted() {
  if (departed_.size() > limits_.exited_max) DropDeparted(departed_.front().drop_mono_ns);
}

Process* ProcessList::ParentOf(const Process& process) {
  if (process.parent_pid == 0) return nullptr;
  Process* parent = Get(process.parent_pid);
  if (parent != nullptr && parent->serial == process.parent_serial) return parent;
  const auto retired = retired_.find(process.parent_serial);
  return retired == retired_.end() ? nullptr : &retired->second;
}

std::vector<uint32_t> ProcessList::TakeChanged() {
  std::vector<uint32_t> pids(changed_.begin(), changed_.end());
  changed_.clear();
  return pids;
}

}  // namespace vesta::agent::process
