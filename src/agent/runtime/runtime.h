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

// One program that a process ran. pid: of the initial pid namespace.
struct ProcessKey {
  uint32_t pid = 0;
  uint64_t start_boot_ns = 0;  // of the process, CLOCK_BOOTTIME; 0 = unknown
  uint64_t exec_mono_ns = 0;   // when it executed this program, where we saw that; 0 = unknown
  friend bool operator==(const ProcessKey&, const ProcessKey&) = default;
};

// What detect may look at.
struct ImageFacts {
  std::string_view path;                 // as the process sees it; empty for generated code
  bool is_generated = false;             // executable memory without a file
  const object::ElfFile* elf = nullptr;  // null for generated code and what is no ELF file
};

// What one frame was called from a time until the next one's, where there is a next: generated code
// moves, and its place is used again.
struct FrameEra {
  uint64_t from_mono_ns = 0;
  symbolize::Symbol symbol;  // empty = it had no name
};

// By time, neighbours differ; empty = never had a name. The first also tells of all times before
// it: some runtimes write names down only later.
using FrameNames = std::vector<FrameEra>;

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

  // Detect said yes to this image of the process.

  // Errors: Unsupported for a version that the runtime's folder does not know: its frames stay
  //         native ones, and that is counted.
  virtual base::Result<KernelPart> Prepare(const ProcessKey& process, const ImageFacts& image) = 0;

  // These frames were sampled a moment ago: looks at what tells their names while it is there, so
  // that Name can say it when the process has gone on or is gone.
  // Cost: some tens of milliseconds at most; what is left over waits for the next call.
  virtual void Remember(const ProcessKey& process, std::span<const uint64_t> frames) = 0;

  // Shape:  frames as the walker sent them, sorted; the result has one FrameNames per frame.
  // Errors: NotFound when nothing tells names (any more), Permission, Exhausted beyond a limit of
  //         ours, Corrupt.
  virtual base::Result<std::vector<FrameNames>> Name(const ProcessKey& process,
                                                     std::span<const uint64_t> frames) = 0;

  // The process is gone, or runs another program.
  virtual void Forget(uint32_t pid) = 0;
};

}  // namespace vesta::agent::runtime
