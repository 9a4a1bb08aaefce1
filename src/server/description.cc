#include "src/server/description.h"

// The assembler reads the file (VESTA_OPENAPI: a path from CMakeLists.txt), as in ui/ui_assets.cc.
asm(".pushsection .rodata\n"
    ".globl vesta_openapi_begin\n"
    "vesta_openapi_begin:\n"
    ".incbin \"" VESTA_OPENAPI
    "\"\n"
    ".globl vesta_openapi_end\n"
    "vesta_openapi_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char vesta_openapi_begin[];
extern const char vesta_openapi_end[];
}

namespace vesta::server {

std::string_view OpenApiDescription() {
  return {vesta_openapi_begin, static_cast<size_t>(vesta_openapi_end - vesta_openapi_begin)};
}

}  // namespace vesta::server
