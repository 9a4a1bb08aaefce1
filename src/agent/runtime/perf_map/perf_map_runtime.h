// Names of generated code from the perf-PID.map files that runtimes write on request: the first
// and simplest runtime. Its frames are native ones, so that the kernel has nothing to do.
#pragma once

#include <memory>
#include <string>

#include "src/agent/runtime/code_file_runtime.h"

namespace vesta::agent::runtime {

// Reads /proc/PID/root/tmp/perf-N.map, where N is the pid as the process itself knows it; see
// OpenProcessFile for whose files are read.
// The lines carry no time. A line that was there at the first look counts as there from the start,
// a later one from when the file was last written before the look that found it: with a look every
// 250 ms, samples of at most 250 ms get the name of the function that was there before or after.
// Source: linux tools/perf/Documentation/jit-interface.txt
class PerfMapRuntime final : public CodeFileRuntime {
 public:
  explicit PerfMapRuntime(std::string proc_root = "/proc", CodeFileLimits limits = {});

  std::string_view name() const override { return "perf-map"; }
  std::optional<std::string> Detect(const ImageFacts& image) const override;
  base::Result<KernelPart> Prepare(const ProcessKey& process, const ImageFacts& image) override;

 private:
  base::Result<ProcessFile> Open(const ProcessKey& process) override;
  std::unique_ptr<CodeFile> Make(size_t kept_bytes_max, uint64_t since_mono_ns) override;
};

}  // namespace vesta::agent::runtime
