// Names and lines of generated code from the jit-PID.dump files that runtimes write on request
// (node --perf-prof, the JVM with perf's agent, LLVM). Its frames are native ones, so that the
// kernel has nothing to do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "src/agent/runtime/code_file_runtime.h"

namespace vesta::agent::runtime {

// A process that writes such a file maps its first page executable, so that profilers see where it
// lies: Detect knows that image by its name, Prepare gets its path. The file is opened as
// OpenProcessFile says, and must be the process's own by the pid in its name: one that a process
// inherited by a fork is its parent's.
// Each record carries its time: of functions that lay at one address each gets the samples of its
// own time. (Where the times are those of the processor's counter, the records count as
// written when the file was last written before the look that found them.)
// Source: linux tools/perf/Documentation/jitdump-specification.txt
class JitDumpRuntime final : public CodeFileRuntime {
 public:
  explicit JitDumpRuntime(std::string proc_root = "/proc", CodeFileLimits limits = {});

  std::string_view name() const override { return "jitdump"; }
  std::optional<std::string> Detect(const ImageFacts& image) const override;
  base::Result<KernelPart> Prepare(const ProcessKey& process, const ImageFacts& image) override;
  void Forget(uint32_t pid) override;

 private:
  struct Place {
    ProcessKey process;
    std::string path;
  };

  base::Result<ProcessFile> Open(const ProcessKey& process) override;
  std::unique_ptr<CodeFile> Make(size_t kept_bytes_max, uint64_t since_mono_ns) override;

  std::unordered_map<uint32_t, Place> places_;  // by pid
};

}  // namespace vesta::agent::runtime
