// What this kernel and this machine allow, found out by trying, never by version numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vesta::agent::source {

enum class Importance : uint8_t {
  kNeeded,  // without it nothing can be recorded
  kBetter,  // without it recordings say less or cost more
};

enum class Presence : uint8_t {
  kYes,
  kNo,
  kNotTried,  // what it builds on is not there
};

struct Feature {
  std::string name;  // stable, for programs: "bpf", "cpu-clock"
  Importance importance = Importance::kNeeded;
  Presence presence = Presence::kNo;
  std::string meaning;  // what the user has of it
  std::string detail;   // what was found: a value, or the kernel's answer
  std::string remedy;   // empty when it is present; else what to do
};

struct Machine {
  std::string kernel_release;
  std::string architecture;
  uint32_t cpus_online = 0;
  std::vector<Feature> features;

  // Every needed feature is present.
  bool CanRecord() const;
};

// Cost: some ten short system calls and small BPF programs, about 50 ms; leaves nothing behind.
Machine ProbeMachine();

// Whether process numbers here are those that the kernel uses; not so in most containers.
bool SeesKernelPids();

}  // namespace vesta::agent::source
