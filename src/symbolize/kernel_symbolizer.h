// Names kernel addresses from /proc/kallsyms, and tells which module they belong to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/symbolize/symbol.h"

namespace vesta::symbolize {

struct KernelLocation {
  std::string module;        // empty = the kernel itself
  uint64_t image_address = 0;  // module: offset from its base; kernel: address as linked
  Symbol symbol;
};

// Cost: an index of 8 bytes per symbol plus their names, a few MB, built on construction.
class KernelSymbolizer {
 public:
  // Text of /proc/kallsyms and /proc/modules. Errors: Permission when all addresses are zero
  // (kptr_restrict), with the remedy in the message; Corrupt when nothing could be read.
  static base::Result<std::unique_ptr<KernelSymbolizer>> Parse(std::string_view kallsyms,
                                                               std::string_view modules);
  virtual ~KernelSymbolizer() = default;
  virtual KernelLocation Resolve(uint64_t address) const = 0;
};

}  // namespace vesta::symbolize
