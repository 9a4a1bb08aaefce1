#include "src/flame/stack_tree.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "src/flame/frame_table.h"
#include "src/flame/function_trie.h"
#include "src/flame/sample_worth.h"
#include "src/flame/tree_builder.h"

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
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

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
      continue;
    }
    const bool is_sampled = types[type] == profile.header().period_type;
    SampleWorth worth;
    if (count_type != types.end()) {
      const auto counted = static_cast<size_t>(count_type - types.begin());
      for (size_t i = 0; i < profile.sample_count(); ++i) {
        const auto values = profile.sample_values(i);
        worth.Add(values[type], values[counted]);
      }
    }
    const bool is_told = is_sampled && profile.header().period > 0;
    result[type] = is_told && !worth.is_mixed() ? static_cast<double>(profile.header().period)
                                                : worth.PerSample(is_sampled);
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

std::vector<std::string_view> PathsOf(const Profile& profile) {
  std::vector<std::string_view> paths;
  for (uint32_t i = 0; i < profile.mapping_count(); ++i)
    paths.push_back(profile.String(profile.mapping(profile::MappingId{i}).path));
  return paths;
}

// Adds the samples of profiles to a tree.
class ProfilePaths {
 public:
  ProfilePaths(const StackTreeOptions& options, TreeBuilder& tree)
      : options_(options), tree_(tree) {}

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
      if (tree_.is_too_large()) return tree_.TooLarge();
      for (size_t type = 0; type < types.size(); ++type) {
        const int64_t value = values[types[type]];
        tree_.Add(node, column_of(i, type, value), value);
      }
    }
    return {};
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
        known = tree_.Child(known, frames.PlaceOfLabel(label));
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
      node = tree_.Child(node, frames.PlaceOf(stack[stack.size() - 1 - i]));
      path_[i + 1] = node;
    }
    open_ = stack;
    if (stack.empty()) node = tree_.Child(chain, tree_.frames().PlaceOfNoStack());
    end = {chain, node};
    return node;
  }

  const StackTreeOptions& options_;
  TreeBuilder& tree_;
  // Of the profile being added.
  std::vector<uint32_t> chains_;      // by LabelSetId
  std::vector<End> ends_;             // by StackId
  std::span<const LocationId> open_;  // the stack that path_ belongs to
  std::vector<uint32_t> path_;        // its nodes, from the labels' on
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
                                 TreeBuilder& builder, ProfilePaths& paths) {
  ProfileFrames frames(profile, builder.frames(), {});
  return paths.AddProfile(profile, types, frames, [&](size_t sample, size_t type, int64_t value) {
    const bool before = value < 0 || IsBase(profile, profile.sample_labels(sample));
    return type * 2 + (before ? kBefore : kAfter);
  });
}

base::Result<void> AddSides(std::span<const TreeInput> inputs, const TypeIndices& types,
                            TreeBuilder& builder, ProfilePaths& paths) {
  for (size_t side = 0; side < inputs.size(); ++side) {
    ImageAliases aliases;
    if (side == kBefore && inputs.size() == 2)
      aliases = MatchImages(PathsOf(*inputs[kBefore].profile), PathsOf(*inputs[kAfter].profile));
    ProfileFrames frames(*inputs[side].profile, builder.frames(), std::move(aliases));
    RETURN_IF_ERROR(paths.AddProfile(
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
  TreeBuilder builder(tree.sides.size() * tree.value_types.size(), options.nodes_max);
  ProfilePaths paths(options, builder);
  if (is_difference) {
    RETURN_IF_ERROR(AddDifference(*inputs[0].profile, types[0], builder, paths));
  } else {
    RETURN_IF_ERROR(AddSides(inputs, types, builder, paths));
  }
  RETURN_IF_ERROR(builder.Finish({}, tree));
  return tree;
}

void CutTree(size_t nodes_max, StackTree& tree) {
  if (tree.node_count() <= nodes_max) return;
  FunctionTrie trie(tree.self.size());
  std::vector<uint32_t> path;  // by depth
  for (size_t node = 0; node < tree.node_count(); ++node) {
    path.resize(tree.depth[node]);
    const uint32_t at = path.empty() ? 0 : trie.Child(path.back(), tree.function[node]);
    for (size_t column = 0; column < tree.self.size(); ++column)
      trie.Add(at, column, tree.self[column][node]);
    path.push_back(at);
  }
  std::vector<TreeFunction> functions = std::move(tree.functions);
  std::vector<std::string> strings = std::move(tree.strings);
  const uint32_t rest = AddRestFunction(functions, strings);
  trie.Cut(nodes_max, WeighedColumns(tree), rest);
  const std::vector<uint32_t> rank = trie.Write(std::move(functions), std::move(strings), tree);
  size_t lines = 0;
  for (size_t i = 0; i < tree.lines.size(); ++i) {
    const uint32_t function = rank[tree.lines[i].function];
    if (function == kNoFunction) continue;
    tree.lines[lines] = {function, tree.lines[i].line};
    for (size_t column = 0; column < tree.line_self.size(); ++column) {
      tree.line_self[column][lines] = tree.line_self[column][i];
      tree.line_total[column][lines] = tree.line_total[column][i];
    }
    ++lines;
  }
  tree.lines.resize(lines);
  for (auto& column : tree.line_self) column.resize(lines);
  for (auto& column : tree.line_total) column.resize(lines);
}

std::vector<size_t> WeighedColumns(const StackTree& tree) {
  std::vector<size_t> columns;
  for (size_t side = 0; side < tree.sides.size() && !tree.value_types.empty(); ++side)
    columns.push_back(tree.column(tree.value_type, side));
  return columns;
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
