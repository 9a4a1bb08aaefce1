// Stacks through generated code whose place was used for one function after the other: which
// function a frame is depends on when it was sampled.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "src/agent/aggregate/aggregator.h"
#include "src/profile/profile.h"

namespace vesta::agent {

// Shape: nodes are those of the aggregator's stacks, rows its rows.
// Owner: one thread; the aggregator does not change meanwhile.
// Cost:  one pass over the aggregator's times on first need.
class MovedCode {
 public:
  struct Era {
    uint64_t from_mono_ns = 0;  // the first also holds before that
    profile::LocationId location;
  };
  using Eras = std::vector<Era>;  // by time, not empty

  explicit MovedCode(const aggregate::Aggregator& aggregator) : aggregator_(aggregator) {}

  void Add(uint32_t node, std::shared_ptr<const Eras> eras) { eras_[node] = std::move(eras); }

  // Whether a frame of the stack is such code.
  bool Concerns(aggregate::NodeId stack) const;

  // What the frame was at that time; `otherwise` where the node is no such code.
  profile::LocationId LocationAt(uint32_t node, uint64_t time_mono_ns,
                                 profile::LocationId otherwise) const;

  // The row's value by the times of its samples. Samples without a time are one part with the
  // row's last time, or the largest number when none of them has one.
  struct Part {
    uint64_t time_mono_ns = 0;
    uint64_t value = 0;
    uint64_t count = 1;  // samples
  };
  std::vector<Part> PartsOf(uint32_t row);

 private:
  void SortTimes();

  const aggregate::Aggregator& aggregator_;
  std::map<uint32_t, std::shared_ptr<const Eras>> eras_;  // by node
  std::vector<uint32_t> first_part_;                      // by row, and one more
  std::vector<Part> parts_;
};

}  // namespace vesta::agent
