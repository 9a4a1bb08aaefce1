// Walks a copied stack with elfutils: code that shares nothing with ours.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/oracle/replay.h"

namespace vesta::oracle {

struct ElfutilsWalk {
  // Leaf first; a return address less one, an interrupted address exact. Addresses of the process.
  std::vector<uint64_t> addresses;
  bool reached_end = false;  // no error: the outermost frame has no caller
  std::string error;
  bool left_copy = false;  // the last frame's caller lies behind the end of the copied stack
};

// Owner: one thread; the images outlive it.
// Cost:  the files of a process are opened when its mappings have changed.
class ElfutilsWalker {
 public:
  explicit ElfutilsWalker(const ImageFiles& images);
  ~ElfutilsWalker();
  ElfutilsWalker(const ElfutilsWalker&) = delete;
  ElfutilsWalker& operator=(const ElfutilsWalker&) = delete;

  ElfutilsWalk Walk(const ReplayedProcess& process, const wire::PerfSample& sample);

  // The symbol at an address of a process, from its file's symbol tables; empty when there is none.
  std::string NameOf(const ReplayedProcess& process, uint64_t address);

  // Whether a file's call frame information covers an address. Where it does not, elfutils tries
  // the frame pointer: a guess, which skips the callers of functions that have not set it up.
  bool HasRule(const ReplayedProcess& process, uint64_t address);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vesta::oracle
