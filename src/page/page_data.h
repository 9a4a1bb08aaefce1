// A call tree as the bytes that the page reads.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/flame/stack_tree.h"

namespace vesta::page {

struct PageMeta {
  std::string title;
  std::vector<std::string> notes =
      {};                 // what a reader must know: lost samples, incomplete stacks, ...
  bool inverted = false;  // flame::CallersOf: a node's self is what came in by the path to it
};

// Shape:  docs/formats/page_data.md:
//           "VSTP" version u32, then sections {tag, size_bytes u32, payload}
//           META JSON | STRS strings | FUNC functions | TREE shape | SELF per type and side | LINE
// Units:  values may be rounded to a multiple of a power of two where they need more than 53 bits.
// Cost:   one pass over the tree per column.
// Errors: InvalidInput for a tree without value types or with more than 1,000; Exhausted when a
//         section would need more than 32 bits.
base::Result<std::string> EncodePageData(const flame::StackTree& tree, const PageMeta& meta);

// Nodes below this depth are counted in their ancestor there, and a note says so.
inline constexpr uint32_t kPageDepthMax = 65000;

}  // namespace vesta::page
