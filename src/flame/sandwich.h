// Some functions in the middle: who calls them, and what they call, each as a tree.
#pragma once

#include <vector>

#include "src/flame/stack_tree.h"

namespace vesta::flame {

// Shape: `wanted` by function. Below the root stand the wanted functions, and below each its
// callers,
//        or what it calls. Of nested calls of wanted functions only the topmost counts, so the
//        root's total is what passes through any of them, each sample once. Self of callers is what
//        came in by this whole path. Functions keep their names and descriptions; lines are those
//        of the tree.
// Source: as the page's view of one function (ui/src/model/sandwich.ts).
StackTree CallersOf(const StackTree& tree, const std::vector<bool>& wanted);
StackTree CalleesOf(const StackTree& tree, const std::vector<bool>& wanted);

}  // namespace vesta::flame
