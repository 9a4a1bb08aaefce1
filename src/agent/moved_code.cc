#include "src/agent/moved_code.h"

#include <algorithm>

namespace vesta::agent {

bool MovedCode::Concerns(aggregate::NodeId stack) const {
  if (eras_.empty()) return false;
  const aggregate::StackTrie& stacks = aggregator_.stacks();
  for (aggregate::NodeId node = stack; node != aggregate::StackTrie::kRoot;
       node = stacks.parent(node)) {
    if (eras_.count(node.value()) != 0) return true;
  }
  return false;
}

profile::LocationId MovedCode::LocationAt(uint32_t node, uint64_t time_mono_ns,
                                          profile::LocationId otherwise) const {
  const auto found = eras_.find(node);
  if (found == eras_.end()) return otherwise;
  const Eras& eras = *found->second;
  const auto next =
      std::upper_bound(eras.begin(), eras.end(), time_mono_ns,
                       [](uint64_t time, const Era& era) { return time < era.from_mono_ns; });
  return next == eras.begin() ? next->location : std::prev(next)->location;
}

void MovedCode::SortTimes() {
  first_part_.assign(aggregator_.rows().size() + 1, 0);
  for (const aggregate::TimedValue& each : aggregator_.times()) ++first_part_[each.row + 1];
  for (size_t row = 1; row < first_part_.size(); ++row) first_part_[row] += first_part_[row - 1];
  parts_.resize(aggregator_.times().size());
  std::vector<uint32_t> next(first_part_.begin(), first_part_.end() - 1);
  for (const aggregate::TimedValue& each : aggregator_.times()) {
    parts_[next[each.row]++] = {each.time_mono_ns, each.value, 1};
  }
}

std::vector<MovedCode::Part> MovedCode::PartsOf(uint32_t row) {
  if (first_part_.empty()) SortTimes();
  std::vector<Part> parts(parts_.begin() + first_part_[row], parts_.begin() + first_part_[row + 1]);
  uint64_t without_time = aggregator_.rows()[row].value;
  Part last{~uint64_t{0}, 0, aggregator_.rows()[row].count - parts.size()};
  for (const Part& part : parts) {
    without_time -= std::min(without_time, part.value);
    last.time_mono_ns = part.time_mono_ns;
  }
  last.value = without_time;
  if (without_time != 0) parts.push_back(last);
  return parts;
}

}  // namespace vesta::agent
