// What every printed top table takes from the user's options and the terminal.
#pragma once

#include <cstddef>

#include "src/cli/settings/options.h"
#include "src/flame/top_render.h"
#include "src/flame/top_table.h"

namespace vesta::cli {

flame::TopOrder OrderOf(const Settings& settings);

// Rows as asked for, names cut to the width of the terminal on standard output, if it is one.
flame::TopRenderOptions RenderOptionsOf(const Settings& settings);

// Lines of the terminal on standard output; 0 = it is none.
size_t TerminalLines();

}  // namespace vesta::cli
