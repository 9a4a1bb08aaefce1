// A call tree as one HTML file.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/flame/stack_tree.h"
#include "src/page/page_data.h"

namespace vesta::page {

// What ui/ was built into; as HtmlPageParts.
struct PageAssets {
  std::string_view script;
  std::string_view style;
};

// Errors: as EncodePageData.
base::Result<std::string> RenderTreePage(const flame::StackTree& tree, const PageMeta& meta,
                                         const PageAssets& assets);

}  // namespace vesta::page
