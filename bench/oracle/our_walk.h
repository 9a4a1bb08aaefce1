// Walks a copied stack as the agent does: its tables, its walker.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "abi/sample.h"
#include "bench/oracle/replay.h"

namespace vesta::oracle {

struct OurWalk {
  std::vector<uint64_t> addresses;  // as in ElfutilsWalk
  abi_stop_reason reason = ABI_STOP_ROOT;
};

// Owner: one thread; the images outlive it.
// Cost:  an image's table is built when a process that maps it is first walked.
class OurWalker {
 public:
  explicit OurWalker(const ImageFiles& images);
  ~OurWalker();
  OurWalker(const OurWalker&) = delete;
  OurWalker& operator=(const OurWalker&) = delete;

  OurWalk Walk(const ReplayedProcess& process, const wire::PerfSample& sample);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vesta::oracle
