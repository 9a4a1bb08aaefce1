// What vesta knows about one language runtime (CPython, V8, ...): everything about it lives behind
// this interface in one folder below here, so that a new one is added without touching the rest.
//
// A runtime is four functions:
//   detect   is this image the runtime, or does it carry it?
//   prepare  what must the kernel's walker know about this process?
//   step     the BPF program that goes from one frame to the next: loaded into a tail-call slot of
//            its own when a process first needs it, given prepare's bytes
//   name     what are these frames called?
// The first three run when a process appears, the last one soon after the samples: names of
// generated code and of script frames must be asked for within 250 ms, since objects move and die.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/object/elf_file.h"
#include "src/symbolize/symbol.h"

namespace vesta::agent::runtime {

// One incarnation of a process. pid: of the initial pid namespace.
struct ProcessKey {
  uint32_t pid = 0;
  uint64_t start_boot_ns = 0;  // CLOCK_BOOTTIME; 0 = unknown
  friend bool operator==(const ProcessKey&, const ProcessKey&) = default;
};

// What detect may look at.
struct ImageFacts {
  std::string_view path;                 // as the process sees it; empty for generated code
  bool is_generated = false;             // executable memory without a file
  const object::ElfFile* elf = nullptr;  // null for generated code and what is no ELF file
};

struct KernelPart {
  std::string step_program;       // name of the BPF program; empty = nothing for the kernel to do
  std::vector<std::byte> config;  // its settings for this process
};

// Owner: the thread that names frames.
class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual std::string_view name() const = 0;

  // The runtime's version where the image is its own; empty text = yes, and no version is known.
  virtual std::optional<std::string> Detect(const ImageFacts& image) const = 0;

  // Errors: Unsupported for a version that the runtime's folder does not know: its frames stay
  //         native ones, and that is counted.
  virtual base::Result<KernelPart> Prepare(const ProcessKey& process) = 0;

  // Shape:  frames as the walker sent them; the result has one Symbol per frame, empty = no name,
  //         or the object behind the frame is no longer the same.
  // Errors: NotFound when nothing tells names (any more), Permission, Exhausted beyond a limit of
  //         ours, Corrupt.
  virtual base::Result<std::vector<symbolize::Symbol>> Name(const ProcessKey& process,
                                                            std::span<const uint64_t> frames) = 0;

  // The process is gone, or runs another program.
  virtual void Forget(uint32_t pid) = 0;
};

}  // namespace vesta::agent::runtime
