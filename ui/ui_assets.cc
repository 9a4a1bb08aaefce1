#include "ui/ui_assets.h"

// The assembler reads the files (VESTA_UI_SCRIPT, VESTA_UI_STYLE: paths from ui/CMakeLists.txt):
// no source is generated, and nothing has to be escaped.
#define VESTA_EMBED(name, path)      \
  asm(".pushsection .rodata\n"       \
      ".globl " name "_begin\n" name \
      "_begin:\n"                    \
      ".incbin \"" path              \
      "\"\n"                         \
      ".globl " name "_end\n" name   \
      "_end:\n"                      \
      ".byte 0\n"                    \
      ".popsection\n")

VESTA_EMBED("vesta_ui_script", VESTA_UI_SCRIPT);
VESTA_EMBED("vesta_ui_style", VESTA_UI_STYLE);

extern "C" {
extern const char vesta_ui_script_begin[];
extern const char vesta_ui_script_end[];
extern const char vesta_ui_style_begin[];
extern const char vesta_ui_style_end[];
}

namespace vesta::ui {

std::string_view FlamePageScript() {
  return {vesta_ui_script_begin, static_cast<size_t>(vesta_ui_script_end - vesta_ui_script_begin)};
}

std::string_view FlamePageStyle() {
  return {vesta_ui_style_begin, static_cast<size_t>(vesta_ui_style_end - vesta_ui_style_begin)};
}

}  // namespace vesta::ui
