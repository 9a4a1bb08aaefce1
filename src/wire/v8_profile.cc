#include "src/wire/v8_profile.h"

#include <algorithm>
#include <span>

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using profile::LocationId;
using profile::MappingId;
using profile::Profile;
using profile::StringId;

Error NodeError(uint32_t node, const std::string& what) {
  return Error(ErrorCode::kCorrupt,
               "no V8 CPU profile: nodes[" + std::to_string(node) + "] " + what);
}

}  // namespace

LocationId V8Places::LocationOf(const V8Frame& frame, int64_t line) {
  const MappingId script = ScriptOf(frame.url);
  profile::Function function;
  function.name = frame.name;
  if (frame.name == StringId{}) {
    std::string name = "(anonymous)";
    const std::string_view file = profile::MappingShortName(profile_, script);
    if (!file.empty()) name += " " + std::string(file);
    if (!file.empty() && frame.line > 0)
      name += ":" + std::to_string(frame.line) + ":" + std::to_string(frame.column);
    function.name = profile_.InternString(name);
  }
  function.system_name = function.name;
  if (script != profile::kNoMapping) function.file = profile_.mapping(script).path;
  function.start_line = frame.line;
  const profile::Line row{profile_.InternFunction(function), line, 0};
  return profile_.InternLocation({script, 0, false, {&row, 1}});
}

MappingId V8Places::ScriptOf(StringId url) {
  if (url == StringId{}) return profile::kNoMapping;
  const auto [entry, is_new] = scripts_.try_emplace(url.value(), profile::kNoMapping);
  if (is_new) {
    constexpr std::string_view kFile = "file://";
    std::string_view path = profile_.String(url);
    if (path.starts_with(kFile)) path.remove_prefix(kFile.size());
    profile::Mapping mapping;
    mapping.path = profile_.InternString(path);
    mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
    entry->second = profile_.AddMapping(mapping);
  }
  return entry->second;
}

// Deals what was sampled at a node out to its lines, by their ticks: whole numbers, nothing lost.
class V8Profile::Shares {
 public:
  Shares(const Node& node, int64_t count, std::span<const Ticks> ticks)
      : count_(count), time_ns_(node.time_ns) {
    for (const Ticks& row : ticks) ticks_ = profile::AddSaturating(ticks_, row.ticks);
    ticks_ = std::max(ticks_, node.hits);
  }
  template <typename Add>
  void Give(int64_t ticks, const Add& add) {
    part_ = profile::AddSaturating(part_, ticks);
    const int64_t count_upto = UpTo(count_);
    const int64_t time_upto = UpTo(time_ns_);
    add(count_upto - count_given_, time_upto - time_given_);
    count_given_ = count_upto;
    time_given_ = time_upto;
  }
  template <typename Add>
  void GiveRest(const Add& add) const {
    add(count_ - count_given_, time_ns_ - time_given_);
  }

 private:
  int64_t UpTo(int64_t total) const {
    return static_cast<int64_t>(static_cast<__int128>(total) * part_ / ticks_);
  }

  int64_t count_;
  int64_t time_ns_;
  int64_t ticks_ = 0;  // all of them, those without a line too
  int64_t part_ = 0;   // given so far
  int64_t count_given_ = 0;
  int64_t time_given_ = 0;
};

uint32_t V8Profile::AddNode(const V8Frame& frame) {
  Node node;
  node.frame = frame;
  nodes_.push_back(node);
  return static_cast<uint32_t>(nodes_.size() - 1);
}

// V8 counts ids from 1, so nearly all of them are found without hashing. An id may become small
// as nodes come; it stays where it was put.
Result<void> V8Profile::SetId(uint32_t node, uint64_t id) {
  const uint32_t other = Find(id);
  if (other != kNoNode) {
    return NodeError(node, "has the id " + std::to_string(id) + ", as nodes[" +
                               std::to_string(other) + "] does");
  }
  constexpr uint64_t kSlack = 1024;
  if (id >= 2 * nodes_.size() + kSlack) {
    large_ids_.emplace(id, node);
    return {};
  }
  if (id >= small_ids_.size()) small_ids_.resize(id + 1, kNoNode);
  small_ids_[id] = node;
  return {};
}

uint32_t V8Profile::Find(uint64_t id) const {
  if (id < small_ids_.size() && small_ids_[id] != kNoNode) return small_ids_[id];
  if (large_ids_.empty()) return kNoNode;
  const auto entry = large_ids_.find(id);
  return entry == large_ids_.end() ? kNoNode : entry->second;
}

Result<void> V8Profile::Link() {
  const auto link = [&](uint32_t child, uint32_t parent) -> Result<void> {
    if (nodes_[child].parent != kNoNode && nodes_[child].parent != parent)
      return NodeError(child, "has two parents");
    nodes_[child].parent = parent;
    return {};
  };
  for (const auto& [node, id] : child_ids_) {
    const uint32_t child = Find(id);
    if (child == kNoNode)
      return NodeError(node, "has the child " + std::to_string(id) + ", which is no node");
    RETURN_IF_ERROR(link(child, node));
  }
  for (const auto& [node, id] : parent_ids_) {
    const uint32_t parent = Find(id);
    if (parent == kNoNode)
      return NodeError(node, "has the parent " + std::to_string(id) + ", which is no node");
    RETURN_IF_ERROR(link(node, parent));
  }
  child_ids_.clear();
  parent_ids_.clear();
  return {};
}

// Each node is walked over once: up to a known one, and back down.
Result<std::vector<uint32_t>> V8Profile::Depths() const {
  constexpr uint32_t kOnTheWay = UINT32_MAX;
  std::vector<uint32_t> depths(nodes_.size());  // 0 = not seen
  std::vector<uint32_t> way;
  for (uint32_t first = 0; first < nodes_.size(); ++first) {
    uint32_t at = first;
    for (; at != kNoNode && depths[at] == 0; at = nodes_[at].parent) {
      depths[at] = kOnTheWay;
      way.push_back(at);
    }
    if (at != kNoNode && depths[at] == kOnTheWay) return NodeError(at, "is its own ancestor");
    uint32_t depth = at == kNoNode ? 0 : depths[at];
    for (; !way.empty(); way.pop_back()) depths[way.back()] = ++depth;
  }
  return depths;
}

void V8Profile::AddUpSamples(int64_t end_ns) {
  if (samples_.empty()) return;
  if (!sorted_) {
    std::ranges::stable_sort(samples_, {}, &Sample::time_ns);
  }
  // Times of foreign files: differences may be beyond 63 bits.
  const auto between = [](int64_t from, int64_t to) {
    int64_t difference = 0;
    if (__builtin_sub_overflow(to, from, &difference)) return int64_t{INT64_MAX};
    return difference;
  };
  for (size_t i = 0; i < samples_.size(); ++i) {
    Node& node = nodes_[samples_[i].node];
    ++node.samples;
    int64_t lasts = 0;
    if (i + 1 < samples_.size()) {
      lasts = between(samples_[i].time_ns, samples_[i + 1].time_ns);
    } else if (end_ns > samples_[i].time_ns) {
      lasts = between(samples_[i].time_ns, end_ns);
    } else if (i > 0) {
      lasts = between(samples_[0].time_ns, samples_[i].time_ns) / static_cast<int64_t>(i);
    }
    node.time_ns = profile::AddSaturating(node.time_ns, lasts);
  }
}

// Before any of the stacks takes memory.
Result<void> V8Profile::TakeDepths(StackBudget& budget) const {
  ASSIGN_OR_RETURN(const std::vector<uint32_t> depths, Depths());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (IsSampled(nodes_[i])) RETURN_IF_ERROR(budget.Take(depths[i]));
  }
  for (const Ticks& ticks : ticks_) RETURN_IF_ERROR(budget.Take(depths[ticks.node]));
  return {};
}

Result<void> V8Profile::AddToProfile(Profile& profile, V8Places& places, profile::LabelSetId labels,
                                     bool with_time, int64_t end_ns, StackBudget& budget) {
  AddUpSamples(end_ns);
  RETURN_IF_ERROR(TakeDepths(budget));
  std::ranges::stable_sort(ticks_, {}, &Ticks::node);
  const StringId root_name = profile.InternString("(root)");
  const auto is_root = [&](const Node& node) {
    return node.parent == kNoNode && node.frame.name == root_name;
  };
  std::vector<LocationId> locations(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!is_root(nodes_[i])) locations[i] = places.LocationOf(nodes_[i].frame, 0);
  }
  std::vector<LocationId> stack;
  auto ticks_end = ticks_.cbegin();
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const auto ticks_begin = ticks_end;
    while (ticks_end != ticks_.cend() && ticks_end->node == i) ++ticks_end;
    if (!IsSampled(nodes_[i])) continue;
    stack.clear();
    for (uint32_t at = i; at != kNoNode; at = nodes_[at].parent) {
      if (!is_root(nodes_[at])) stack.push_back(locations[at]);
    }
    const auto add = [&](int64_t count, int64_t time_ns) {
      if (count == 0 && time_ns == 0) return;
      const int64_t values[] = {count, time_ns};
      profile.AddSample(profile.InternStack(stack), labels, {values, with_time ? size_t{2} : 1});
    };
    Shares shares(nodes_[i], CountOf(nodes_[i]), {ticks_begin, ticks_end});
    if (!stack.empty()) {
      for (auto at = ticks_begin; at != ticks_end; ++at) {
        stack[0] = places.LocationOf(nodes_[i].frame, at->line);
        shares.Give(at->ticks, add);
      }
      stack[0] = locations[i];
    }
    shares.GiveRest(add);
  }
  return {};
}

}  // namespace vesta::wire
