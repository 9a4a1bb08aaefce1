#include "ui/ui_assets.h"

// The assembler reads the files (below VESTA_UI, a path from ui/CMakeLists.txt): no source is
// generated, and nothing has to be escaped.
#define VESTA_EMBED(name, file)                                                    \
  asm(".pushsection .rodata\n"                                                     \
      ".globl vesta_ui_" #name "_begin\nvesta_ui_" #name                           \
      "_begin:\n"                                                                  \
      ".incbin \"" VESTA_UI "/" file                                               \
      "\"\n"                                                                       \
      ".globl vesta_ui_" #name "_end\nvesta_ui_" #name                             \
      "_end:\n"                                                                    \
      ".byte 0\n"                                                                  \
      ".popsection\n");                                                            \
  extern "C" {                                                                     \
  extern const char vesta_ui_##name##_begin[];                                     \
  extern const char vesta_ui_##name##_end[];                                       \
  }                                                                                \
  static std::string_view Embedded_##name() {                                      \
    return {vesta_ui_##name##_begin,                                               \
            static_cast<size_t>(vesta_ui_##name##_end - vesta_ui_##name##_begin)}; \
  }

VESTA_EMBED(page_script, "page.js")
VESTA_EMBED(page_style, "page.css")
VESTA_EMBED(live_script, "live.js")
VESTA_EMBED(live_style, "live.css")

namespace vesta::ui {

std::string_view FlamePageScript() { return Embedded_page_script(); }
std::string_view FlamePageStyle() { return Embedded_page_style(); }
std::string_view LivePageScript() { return Embedded_live_script(); }
std::string_view LivePageStyle() { return Embedded_live_style(); }

}  // namespace vesta::ui
