#include "src/cli/top_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace vesta::cli {
namespace {

winsize TerminalSize() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

}  // namespace

flame::TopOrder OrderOf(const Settings& settings) {
  return settings.sort == SortBy::kTotal ? flame::TopOrder::kTotal : flame::TopOrder::kSelf;
}

flame::TopRenderOptions RenderOptionsOf(const Settings& settings) {
  flame::TopRenderOptions render;
  render.rows_max = settings.rows;
  render.width_columns = TerminalSize().ws_col;
  return render;
}

size_t TerminalLines() { return TerminalSize().ws_row; }

}  // namespace vesta::cli
