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
  std::string module;  // empty = the kernel itself; "bpf" = a BPF program
  // Module: offset from its base. Kernel: address as linked, so that it is the same on every boot
  // and fits the vmlinux file: x86-64 links the start of its text at 0xffffffff81000000. Where no
  // base is known (BPF programs, trampolines), the address itself.
  uint64_t image_address = 0;
  Symbol symbol;  // empty = no function there
};

// Owner:  any thread; const after Parse.
// Cost:   8 bytes per function plus its name: a few MB, built on construction.
class KernelSymbolizer {
 public:
  // Text of /proc/kallsyms and /proc/modules (empty on a kernel without modules).
  // Errors: Permission when all addresses are zero (kptr_restrict), with the remedy in the message;
  //         Corrupt when nothing could be read.
  static base::Result<std::unique_ptr<KernelSymbolizer>> Parse(std::string_view kallsyms,
                                                               std::string_view modules);
  virtual ~KernelSymbolizer() = default;
  virtual KernelLocation Resolve(uint64_t address) const = 0;
  virtual size_t function_count() const = 0;
  virtual size_t memory_bytes() const = 0;
};

}  // namespace vesta::symbolize
