#include "src/page/tree_page.h"

#include "src/page/html_page.h"

namespace vesta::page {

base::Result<std::string> RenderTreePage(const flame::StackTree& tree, const PageMeta& meta,
                                         const PageAssets& assets) {
  ASSIGN_OR_RETURN(const std::string data, EncodePageData(tree, meta));
  return RenderHtmlPage(
      {.title = meta.title, .page_data = data, .script = assets.script, .style = assets.style});
}

}  // namespace vesta::page
