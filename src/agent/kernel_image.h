// The running kernel as an image: its names and its build id.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/symbolize/kernel_symbolizer.h"

namespace vesta::agent {

// Lower-case hex of the GNU build id in ELF notes such as /sys/kernel/notes; empty when there is
// none.
std::string BuildIdOfNotes(std::string_view notes);

struct KernelImage {
  std::unique_ptr<symbolize::KernelSymbolizer> names;  // null: see problem
  std::string build_id;
  std::string problem;  // why there are no names, with the remedy
};

// Cost: the kernel renders 100,000 lines of text for it, some 50 ms.
KernelImage ReadKernelImage();

// Of a module that is loaded; empty for what is none ("bpf"), or has no build id.
// Source: linux kernel/module/sysfs.c, add_notes_attrs()
std::string ModuleBuildId(std::string_view module, const std::string& sys_root = "/sys");

}  // namespace vesta::agent
