// A profile, or two of them side by side, as one tree of calls: what every picture is drawn from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::flame {

enum class FunctionKind : uint8_t {
  kProcess,  // no code: the process (or another label) that the stacks below belong to
  kNative,   // of a known image
  kKernel,
  kUnnamed,  // an address without a name
  kOther,    // of no known image, or the frame of a sample without frames
};
enum class Inlined : uint8_t { kNever, kSometimes, kAlways };

// Shape: strings are indices of StackTree::strings, 0 = unknown.
struct TreeFunction {
  uint32_t name = 0;
  uint32_t image = 0;       // path of the binary
  uint32_t file = 0;        // source file
  uint32_t start_line = 0;  // 0 = unknown
  FunctionKind kind = FunctionKind::kOther;
  Inlined inlined = Inlined::kNever;
};

struct TreeValueType {
  std::string type;
  std::string unit;
  // Per side: what one sample stands for, so that noise can be told (SampleWorth); 0 = unknown or
  // not sampled.
  std::vector<double> per_sample;
};

struct TreeSide {
  std::string name;
  int64_t time_unix_ns = 0;  // 0 = unknown
  int64_t duration_ns = 0;   // 0 = unknown
};

// Values of one line of a function.
// Shape: self and total by column, as StackTree::self; a sample counts once however often the line
//        is on its stack.
struct TreeLine {
  uint32_t function = 0;
  uint32_t line = 0;  // > 0
};

// Shape: columns in preorder; node 0 is the root, "all", whose depth is 0. A node's parent is the
//        last one before it that is one less deep. Siblings are in alphabetical order, each
//        function once. Functions are sorted by (name, image, file, kind), and those of one name
//        and image that is not "" differ by kind only; function 0 is the root.
//        A value column is (value type, side): self[type * sides.size() + side], never negative.
//        Strings are valid UTF-8, each there once; strings[0] is "".
// Units: of the value type.
struct StackTree {
  std::vector<TreeSide> sides;  // 1, or 2: before and after
  std::vector<TreeValueType> value_types;
  size_t value_type = 0;  // to show when nobody chose one
  std::vector<std::string> strings;
  std::vector<TreeFunction> functions;
  std::vector<uint32_t> depth;
  std::vector<uint32_t> function;
  std::vector<std::vector<int64_t>> self;
  std::vector<TreeLine> lines;  // sorted by function, then line
  std::vector<std::vector<int64_t>> line_self;
  std::vector<std::vector<int64_t>> line_total;

  size_t node_count() const { return depth.size(); }
  size_t column(size_t type, size_t side) const { return type * sides.size() + side; }
  const std::string& name(uint32_t id) const { return strings[functions[id].name]; }
  const std::string& image(uint32_t id) const { return strings[functions[id].image]; }
};

struct TreeInput {
  const profile::Profile* profile = nullptr;
  std::string name;  // of the side, for people: the file
};

struct StackTreeOptions {
  // Labels that become frames below the root, in this order; samples without one have none.
  std::vector<std::string> root_labels = {std::string(profile::kLabelProcess)};
  size_t nodes_max = size_t{1} << 24;  // less with more than 16 columns
};

// Shape: one input, or two: before and after. All sample types of one profile; of two those that
//        both have, by type and unit. One profile that is a difference already (negative values, or
//        pprof's label "pprof::base") gives two sides: negative or labelled is before. A binary
//        whose path only one of two profiles has is taken for the other's only one of that file
//        name, so that two versions of a program can be compared.
//        Names as folded output has them (src/profile/frame_name.h); inlined functions are nodes.
//        Samples whose values are all 0 are left out.
// Cost:  frames below what a stack shares with the one before it, then nodes; no recursion.
// Errors: InvalidInput when two profiles share no sample type or one of them is a difference;
//         Exhausted beyond options.nodes_max.
base::Result<StackTree> MakeStackTree(std::span<const TreeInput> inputs,
                                      const StackTreeOptions& options = {});

// What a cut tree calls the child that stands for what its parent lost.
inline constexpr std::string_view kRestName = "[rest]";

// Leaves the largest nodes, by the value type to show first (of two sides, by their shares). A
// child called kRestName stands for all that its parent lost, so that self + children == total in
// each column. Functions and lines of what is gone go, too.
// Shape: nodes_max >= 2; at most so many nodes remain, the rests included.
void CutTree(size_t nodes_max, StackTree& tree);

// The columns that a cut weighs nodes by.
std::vector<size_t> WeighedColumns(const StackTree& tree);

// The value of each node and all below it.
std::vector<int64_t> NodeTotals(const StackTree& tree, size_t column);

// By function or group of functions; a sample counts once in the total, recursion or not.
struct FunctionSums {
  std::vector<int64_t> self;
  std::vector<int64_t> total;
};
FunctionSums SumFunctions(const StackTree& tree, size_t column);
// Shape: the group of each function, < group_count; a function of another number is in none.
FunctionSums SumGroups(const StackTree& tree, size_t column, std::span<const uint32_t> group_of,
                       size_t group_count);

}  // namespace vesta::flame
