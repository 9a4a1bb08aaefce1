#include "src/flame/stack_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/flame/call_trie.h"
#include "src/flame/frame_table.h"

namespace vesta::flame {
namespace {

using profile::AddSaturating;
using profile::LabelSetId;
using profile::LocationId;
using profile::Profile;
using profile::StackId;
using profile::StringId;

constexpr size_t kBefore = 0;
constexpr size_t kAfter = 1;
// pprof marks the samples of the profile that was taken away.
constexpr std::string_view kLabelBase = "pprof::base";
constexpr size_t kColumnsCheap = 16;
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

int64_t Magnitude(int64_t value) {
  return value < 0 ? -std::max(value, -std::numeric_limits<int64_t>::max()) : value;
}

void Add(int64_t& sum, int64_t value) { sum = AddSaturating(sum, value); }

bool IsBase(const Profile& profile, LabelSetId labels) {
  return std::ranges::any_of(profile.labels(labels), [&](const profile::Label& label) {
    return !label.is_number() && profile.String(label.key) == kLabelBase;
  });
}

bool HasNegative(const Profile& profile) {
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    if (std::ranges::any_of(profile.sample_values(i), [](int64_t value) { return value < 0; }))
      return true;
  }
  return false;
}

bool IsDifference(const Profile& profile) {
  std::vector<bool> is_base(profile.label_set_count());
  for (uint32_t i = 0; i < is_base.size(); ++i) is_base[i] = IsBase(profile, LabelSetId{i});
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    if (is_base[profile.sample_labels(i).value()]) return true;
  }
  return HasNegative(profile);
}

// What one sample stands for in each sample type; 0 = unknown.
std::vector<double> ValuesPerSample(const Profile& profile) {
  const auto types = profile.sample_types();
  std::vector<double> result(types.size());
  const auto is_count = [&](const profile::ValueType& type) {
    return profile.String(type.type) == "samples" && profile.String(type.unit) == "count";
  };
  const auto count_type = std::ranges::find_if(types, is_count);
  for (size_t type = 0; type < types.size(); ++type) {
    if (is_count(types[type])) {
      result[type] = 1;
    } else if (types[type] == profile.header().period_type && profile.header().period > 0) {
      result[type] = static_cast<double>(profile.header().period);
    } else if (count_type != types.end()) {
      // Only when each sample has the same: a sum of waiting times has no noise of counts.
      const auto counted = static_cast<size_t>(count_type - types.begin());
      std::optional<double> each;
      bool is_same = true;
      for (size_t i = 0; i < profile.sample_count() && is_same; ++i) {
        const auto values = profile.sample_values(i);
        if (values[counted] == 0 && values[type] == 0) continue;
        const double ratio =
            static_cast<double>(values[type]) / static_cast<double>(values[counted]);
        is_same =
            ratio > 0 && std::isfinite(ratio) && std::abs(ratio / each.value_or(ratio) - 1) < 0.01;
        each = ratio;
      }
      if (is_same) result[type] = each.value_or(0);
    }
  }
  return result;
}

// Per side the sample type behind each value type of the tree.
using TypeIndices = std::vector<std::vector<size_t>>;

base::Result<TypeIndices> MatchTypes(std::span<const TreeInput> inputs) {
  std::vector<size_t> all(inputs[0].profile->sample_types().size());
  std::iota(all.begin(), all.end(), size_t{0});
  if (inputs.size() == 1) return TypeIndices{all};
  const auto key = [](const Profile& profile, size_t type) {
    const profile::ValueType& row = profile.sample_types()[type];
    return std::pair(profile.String(row.type), profile.String(row.unit));
  };
  const Profile& before = *inputs[kBefore].profile;
  const Profile& after = *inputs[kAfter].profile;
  TypeIndices shared(2);
  std::vector<bool> taken(after.sample_types().size());
  for (const size_t i : all) {
    for (size_t j = 0; j < taken.size(); ++j) {
      if (taken[j] || key(before, i) != key(after, j)) continue;
      taken[j] = true;
      shared[kBefore].push_back(i);
      shared[kAfter].push_back(j);
      break;
    }
  }
  if (!shared[kBefore].empty()) return shared;
  const auto list = [&](const Profile& profile) {
    std::string text;
    for (size_t i = 0; i < profile.sample_types().size(); ++i) {
      const auto [type, unit] = key(profile, i);
      text += (i == 0 ? "" : ", ") + std::string(type) + '/' + std::string(unit);
    }
    return text.empty() ? "none" : text;
  };
  return base::Error(base::ErrorCode::kInvalidInput,
                     "the two profiles share no sample type: before has " + list(before) +
                         ", after has " + list(after));
}

// Paths of binaries that only one profile has, where they can only mean one of the other.
// Shape: from the paths of `from` to those of `to`.
ProfileFrames::Aliases MatchImages(const Profile& from, const Profile& to) {
  using PathsByName = std::map<std::string_view, std::vector<std::string_view>>;
  const auto paths_of = [](const Profile& profile) {
    std::map<std::string_view, std::string_view> names;  // by path
    for (uint32_t i = 0; i < profile.mapping_count(); ++i) {
      const profile::MappingId id{i};
      const std::string_view path = profile.String(profile.mapping(id).path);
      if (!path.empty()) names.emplace(path, profile::MappingShortName(profile, id));
    }
    return names;
  };
  const auto from_names = paths_of(from);
  const auto to_names = paths_of(to);
  const auto only_in = [](const auto& mine, const auto& others) {
    PathsByName result;
    for (const auto& [path, name] : mine) {
      if (!others.contains(path)) result[name].push_back(path);
    }
    return result;
  };
  const PathsByName candidates = only_in(to_names, from_names);
  ProfileFrames::Aliases aliases;
  for (const auto& [name, paths] : only_in(from_names, to_names)) {
    const auto match = candidates.find(name);
    if (paths.size() == 1 && match != candidates.end() && match->second.size() == 1)
      aliases.emplace(paths[0], match->second[0]);
  }
  return aliases;
}

// Samples as paths of places, the values at their ends: the tree before its nodes are merged by
// function.
class PlaceTrie {
 public:
  PlaceTrie(size_t columns, const StackTreeOptions& options)
      : options_(options),
        columns_(columns),
        nodes_max_(options.nodes_max / std::max(columns, kColumnsCheap) * kColumnsCheap),
        values_(columns) {}

  // Adds all samples of a profile; `column_of(sample, type, value)` says where a value belongs.
  template <typename ColumnOf>
  base::Result<void> AddProfile(const Profile& profile, std::span<const size_t> types,
                                ProfileFrames& frames, const ColumnOf& column_of) {
    chains_.assign(profile.label_set_count(), kNone);
    ends_.assign(profile.stack_count(), {});
    open_ = {};
    path_.assign(1, kNone);
    for (size_t i = 0; i < profile.sample_count(); ++i) {
      const auto values = profile.sample_values(i);
      if (std::ranges::all_of(types, [&](size_t type) { return values[type] == 0; })) continue;
      const uint32_t node = Walk(profile, i, frames);
      if (trie_.size() > nodes_max_) return TooLarge();
      for (size_t type = 0; type < types.size(); ++type) {
        const int64_t value = values[types[type]];
        Add(values_[node * columns_ + column_of(i, type, value)], Magnitude(value));
      }
    }
    return {};
  }

  base::Error TooLarge() const {
    return base::Error(base::ErrorCode::kExhausted, "the call tree would have more than " +
                                                        std::to_string(nodes_max_) + " nodes");
  }

  const CallTrie& trie() const { return trie_; }
  size_t nodes_max() const { return nodes_max_; }
  std::span<const int64_t> values(size_t node) const {
    return {values_.data() + node * columns_, columns_};
  }

 private:
  struct End {  // where a stack ended last time, and below which labels
    uint32_t chain = kNone;
    uint32_t node = kNone;
  };

  // The node of the sample's labels.
  uint32_t ChainOf(const Profile& profile, LabelSetId labels, ProfileFrames& frames) {
    uint32_t& known = chains_[labels.value()];
    if (known != kNone) return known;
    known = 0;
    for (const std::string& key : options_.root_labels) {
      for (const profile::Label& label : profile.labels(labels)) {
        if (profile.String(label.key) != key) continue;
        known = trie_.Child(known, frames.PlaceOfLabel(label));
        break;
      }
    }
    return known;
  }

  uint32_t Walk(const Profile& profile, size_t sample, ProfileFrames& frames) {
    const uint32_t chain = ChainOf(profile, profile.sample_labels(sample), frames);
    const StackId id = profile.sample_stack(sample);
    End& end = ends_[id.value()];
    if (end.chain == chain) return end.node;
    const auto stack = profile.stack(id);
    size_t shared = 0;
    if (chain == path_[0]) {
      const size_t shared_max = std::min(stack.size(), open_.size());
      const LocationId* mine = stack.data() + stack.size();
      const LocationId* theirs = open_.data() + open_.size();
      while (shared < shared_max && *--mine == *--theirs) ++shared;
    }
    path_.resize(stack.size() + 1);
    path_[0] = chain;
    uint32_t node = path_[shared];
    for (size_t i = shared; i < stack.size(); ++i) {
      node = trie_.Child(node, frames.PlaceOf(stack[stack.size() - 1 - i]));
      path_[i + 1] = node;
    }
    open_ = stack;
    if (stack.empty()) node = trie_.Child(chain, frames.PlaceOfNoStack());
    values_.resize(trie_.size() * columns_);
    end = {chain, node};
    return node;
  }

  const StackTreeOptions& options_;
  const size_t columns_;
  const size_t nodes_max_;
  CallTrie trie_;
  std::vector<int64_t> values_;  // node by node
  // Of the profile being added.
  std::vector<uint32_t> chains_;      // by LabelSetId
  std::vector<End> ends_;             // by StackId
  std::span<const LocationId> open_;  // the stack that path_ belongs to
  std::vector<uint32_t> path_;        // its nodes, from the labels' on
};

// Children of each node as lists, and the walk over all nodes in preorder.
class Links {
 public:
  explicit Links(size_t nodes) : first_(nodes, kNone), next_(nodes, kNone) {}

  void PushFront(uint32_t parent, uint32_t node) {
    next_[node] = first_[parent];
    first_[parent] = node;
  }

  // enter(node, depth) going down, leave(node) coming back; the root included.
  template <typename Enter, typename Leave>
  void Walk(const CallTrie& trie, const Enter& enter, const Leave& leave) const {
    uint32_t node = 0;
    uint32_t depth = 0;
    enter(node, depth);
    while (true) {
      if (first_[node] != kNone) {
        node = first_[node];
        enter(node, ++depth);
        continue;
      }
      while (node != 0 && next_[node] == kNone) {
        leave(node);
        node = trie.parent(node);
        --depth;
      }
      if (node == 0) break;
      leave(node);
      node = next_[node];
      enter(node, depth);
    }
    leave(0);
  }

 private:
  std::vector<uint32_t> first_;
  std::vector<uint32_t> next_;
};

// Makes the columns of the tree out of the paths.
class Finisher {
 public:
  Finisher(const PlaceTrie& places, FrameTable& table, StackTree& tree)
      : places_(places),
        table_(table),
        tree_(tree),
        columns_(tree.sides.size() * tree.value_types.size()) {}

  base::Result<void> Run() {
    RankFunctions();
    RETURN_IF_ERROR(MergeByFunction());
    WriteNodes();
    if (!table_.lines().empty()) WriteLines();
    tree_.strings = std::move(table_.strings());
    tree_.functions = std::move(functions_);
    return {};
  }

 private:
  void RankFunctions() {
    const auto& rows = table_.functions();
    const auto& strings = table_.strings();
    std::vector<uint32_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin() + 1, order.end(), [&](uint32_t a, uint32_t b) {
      const TreeFunction& x = rows[a];
      const TreeFunction& y = rows[b];
      return std::tie(strings[x.name], strings[x.image], strings[x.file], x.kind) <
             std::tie(strings[y.name], strings[y.image], strings[y.file], y.kind);
    });
    rank_.resize(rows.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      rank_[order[i]] = i;
      functions_.push_back(rows[order[i]]);
    }
  }

  base::Result<void> MergeByFunction() {
    const CallTrie& trie = places_.trie();
    // A few bytes can name a place of many frames again and again.
    size_t steps_left = places_.nodes_max() * 16;
    std::vector<uint32_t> merged(trie.size());
    sums_.resize(columns_);
    for (uint32_t node = 1; node < trie.size(); ++node) {
      const auto place = table_.place(trie.item(node));
      if (place.size() > steps_left) return places_.TooLarge();
      steps_left -= place.size();
      uint32_t at = merged[trie.parent(node)];
      for (const PlaceFrame& frame : place) at = nodes_.Child(at, rank_[frame.function]);
      if (nodes_.size() > places_.nodes_max()) return places_.TooLarge();
      merged[node] = at;
      const auto values = places_.values(node);
      for (size_t column = 0; column < columns_; ++column) {
        sums_[column].resize(nodes_.size());
        Add(sums_[column][at], values[column]);
      }
    }
    for (auto& column : sums_) column.resize(nodes_.size());
    return {};
  }

  void WriteNodes() {
    // Pushed from the last function to the first, so that each list of children ends up in order.
    std::vector<uint32_t> starts(functions_.size() + 1);
    for (uint32_t node = 1; node < nodes_.size(); ++node) ++starts[nodes_.item(node) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<uint32_t> by_function(nodes_.size() - 1);
    for (uint32_t node = 1; node < nodes_.size(); ++node)
      by_function[starts[nodes_.item(node)]++] = node;
    Links links(nodes_.size());
    for (size_t i = by_function.size(); i-- > 0;)
      links.PushFront(nodes_.parent(by_function[i]), by_function[i]);

    tree_.depth.reserve(nodes_.size());
    tree_.function.reserve(nodes_.size());
    tree_.self.resize(columns_);
    for (auto& column : tree_.self) column.reserve(nodes_.size());
    links.Walk(
        nodes_,
        [&](uint32_t node, uint32_t depth) {
          tree_.depth.push_back(depth);
          tree_.function.push_back(nodes_.item(node));
          for (size_t column = 0; column < columns_; ++column)
            tree_.self[column].push_back(sums_[column][node]);
        },
        [](uint32_t) {});
  }

  // A line's total needs the place tree: the merged one does not know lines.
  void WriteLines() {
    const CallTrie& trie = places_.trie();
    const auto& rows = table_.lines();
    std::vector<uint32_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto key = [&](uint32_t row) {
      return std::pair(rank_[rows[row].function], rows[row].line);
    };
    std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    std::vector<uint32_t> position(rows.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      position[order[i]] = i;
      tree_.lines.push_back({key(order[i]).first, key(order[i]).second});
    }
    tree_.line_self.assign(columns_, std::vector<int64_t>(rows.size()));
    tree_.line_total = tree_.line_self;

    std::vector<int64_t> totals(trie.size() * columns_);
    Links links(trie.size());
    for (uint32_t node = static_cast<uint32_t>(trie.size()); node-- > 1;) {
      links.PushFront(trie.parent(node), node);
      for (size_t column = 0; column < columns_; ++column) {
        int64_t& total = totals[node * columns_ + column];
        Add(total, places_.values(node)[column]);
        Add(totals[trie.parent(node) * columns_ + column], total);
      }
    }
    std::vector<uint32_t> open(rows.size());  // how often a line is on the stack
    links.Walk(
        trie,
        [&](uint32_t node, uint32_t) {
          if (node == 0) return;
          const auto place = table_.place(trie.item(node));
          for (const PlaceFrame& frame : place) {
            if (frame.line == kNoLine || open[frame.line]++ != 0) continue;
            for (size_t column = 0; column < columns_; ++column)
              Add(tree_.line_total[column][position[frame.line]], totals[node * columns_ + column]);
          }
          if (place.back().line == kNoLine) return;
          for (size_t column = 0; column < columns_; ++column) {
            Add(tree_.line_self[column][position[place.back().line]], places_.values(node)[column]);
          }
        },
        [&](uint32_t node) {
          if (node == 0) return;
          for (const PlaceFrame& frame : table_.place(trie.item(node)))
            if (frame.line != kNoLine) --open[frame.line];
        });
  }

  const PlaceTrie& places_;
  FrameTable& table_;
  StackTree& tree_;
  const size_t columns_;
  std::vector<TreeFunction> functions_;  // in the order of their ranks
  std::vector<uint32_t> rank_;           // by function of table_
  CallTrie nodes_;                       // by rank
  std::vector<std::vector<int64_t>> sums_;
};

void DescribeValues(std::span<const TreeInput> inputs, const TypeIndices& types, StackTree& tree) {
  const Profile& shown = *inputs.back().profile;
  std::vector<std::vector<double>> per_sample;
  for (const TreeInput& input : inputs) per_sample.push_back(ValuesPerSample(*input.profile));
  const std::vector<size_t>& shown_types = types.back();
  for (size_t i = 0; i < shown_types.size(); ++i) {
    const profile::ValueType& row = shown.sample_types()[shown_types[i]];
    TreeValueType type{
        std::string(shown.String(row.type)), std::string(shown.String(row.unit)), {}};
    for (size_t side = 0; side < tree.sides.size(); ++side) {
      const size_t input = std::min(side, inputs.size() - 1);
      type.per_sample.push_back(per_sample[input][types[input][i]]);
    }
    tree.value_types.push_back(std::move(type));
  }
  if (shown_types.empty()) return;
  const auto chosen = std::ranges::find(shown_types, shown.DefaultSampleTypeIndex());
  const auto index = static_cast<size_t>(chosen - shown_types.begin());
  tree.value_type = std::min(index, shown_types.size() - 1);
}

base::Result<void> AddDifference(const Profile& profile, std::span<const size_t> types,
                                 FrameTable& table, PlaceTrie& places) {
  ProfileFrames frames(profile, table, {});
  return places.AddProfile(profile, types, frames, [&](size_t sample, size_t type, int64_t value) {
    const bool before = value < 0 || IsBase(profile, profile.sample_labels(sample));
    return type * 2 + (before ? kBefore : kAfter);
  });
}

base::Result<void> AddSides(std::span<const TreeInput> inputs, const TypeIndices& types,
                            FrameTable& table, PlaceTrie& places) {
  for (size_t side = 0; side < inputs.size(); ++side) {
    ProfileFrames::Aliases aliases;
    if (side == kBefore && inputs.size() == 2)
      aliases = MatchImages(*inputs[kBefore].profile, *inputs[kAfter].profile);
    ProfileFrames frames(*inputs[side].profile, table, std::move(aliases));
    RETURN_IF_ERROR(places.AddProfile(
        *inputs[side].profile, types[side], frames,
        [&](size_t, size_t type, int64_t) { return type * inputs.size() + side; }));
  }
  return {};
}

}  // namespace

base::Result<StackTree> MakeStackTree(std::span<const TreeInput> inputs,
                                      const StackTreeOptions& options) {
  CHECK(inputs.size() == 1 || inputs.size() == 2);
  StackTree tree;
  for (const TreeInput& input : inputs) {
    const profile::Header& header = input.profile->header();
    tree.sides.push_back({input.name, header.time_unix_ns, header.duration_ns});
    if (inputs.size() == 2 && HasNegative(*input.profile)) {
      return base::Error(
          base::ErrorCode::kInvalidInput,
          input.name + " has negative values, so it is a difference already: show it alone");
    }
  }
  const bool is_difference = inputs.size() == 1 && IsDifference(*inputs[0].profile);
  if (is_difference) {
    tree.sides.push_back(tree.sides[0]);
    tree.sides[kBefore].name = "before";
    tree.sides[kAfter].name = "after";
  }
  ASSIGN_OR_RETURN(const TypeIndices types, MatchTypes(inputs));
  DescribeValues(inputs, types, tree);
  FrameTable table;
  PlaceTrie places(tree.sides.size() * tree.value_types.size(), options);
  if (is_difference) {
    RETURN_IF_ERROR(AddDifference(*inputs[0].profile, types[0], table, places));
  } else {
    RETURN_IF_ERROR(AddSides(inputs, types, table, places));
  }
  RETURN_IF_ERROR(Finisher(places, table, tree).Run());
  return tree;
}

std::vector<int64_t> NodeTotals(const StackTree& tree, size_t column) {
  std::vector<int64_t> totals = tree.self[column];
  // open[d]: what the nodes of depth d behind this one, up to the next less deep one, add up to.
  std::vector<int64_t> open(2 + *std::ranges::max_element(tree.depth));
  for (size_t node = totals.size(); node-- > 0;) {
    const uint32_t depth = tree.depth[node];
    Add(totals[node], std::exchange(open[depth + 1], 0));
    Add(open[depth], totals[node]);
  }
  return totals;
}

FunctionSums SumFunctions(const StackTree& tree, size_t column) {
  std::vector<uint32_t> each(tree.functions.size());
  std::iota(each.begin(), each.end(), 0u);
  return SumGroups(tree, column, each, each.size());
}

FunctionSums SumGroups(const StackTree& tree, size_t column, std::span<const uint32_t> group_of,
                       size_t group_count) {
  FunctionSums sums;
  sums.self.resize(group_count);
  sums.total.resize(group_count);
  const std::vector<int64_t> totals = NodeTotals(tree, column);
  std::vector<uint32_t> path;               // groups, by depth
  std::vector<uint32_t> open(group_count);  // how often each is on the path
  for (size_t node = 0; node < totals.size(); ++node) {
    for (; path.size() > tree.depth[node]; path.pop_back())
      if (path.back() < group_count) --open[path.back()];
    const uint32_t group = group_of[tree.function[node]];
    path.push_back(group);
    if (group >= group_count) continue;
    Add(sums.self[group], tree.self[column][node]);
    if (open[group]++ == 0) Add(sums.total[group], totals[node]);
  }
  return sums;
}

}  // namespace vesta::flame
