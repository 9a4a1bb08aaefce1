// What the kernel's perf side-band tells about processes, free of perf's own types.
// All times are CLOCK_MONOTONIC nanoseconds; pids are those of the initial pid namespace.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace vesta::agent::process {

// An executable mapping appeared (mmap, or mprotect that made one executable).
struct MmapEvent {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t start = 0;
  uint64_t size_bytes = 0;
  uint64_t file_offset = 0;
  uint64_t device_major = 0;
  uint64_t device_minor = 0;
  uint64_t inode = 0;
  uint64_t inode_generation = 0;
  std::string path;  // as the process sees it; "//anon", "[vdso]", "/memfd:x (deleted)", ...
};

// A thread was renamed, or (is_exec) the process has just executed another program: its mappings
// so far are gone.
struct CommEvent {
  uint32_t pid = 0;
  uint32_t tid = 0;
  bool is_exec = false;
  std::string comm;
};

struct ForkEvent {  // also for a new thread: then pid == parent_pid
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t tid = 0;
  uint32_t parent_tid = 0;
};

struct ExitEvent {  // of a thread; the process is gone when tid == pid has exited
  uint32_t pid = 0;
  uint32_t tid = 0;
};

// The kernel could not deliver `count` events: what we know of processes may be stale.
struct LostEvents {
  uint64_t count = 0;
};

struct ProcessEvent {
  uint64_t time_mono_ns = 0;
  std::variant<MmapEvent, CommEvent, ForkEvent, ExitEvent, LostEvents> what;
};

}  // namespace vesta::agent::process
