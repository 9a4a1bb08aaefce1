// Names of generated code from the perf-PID.map files that runtimes write on request: the first
// and simplest runtime. Its frames are native ones, so that the kernel has nothing to do.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "src/agent/runtime/runtime.h"
#include "src/object/perf_map.h"

namespace vesta::agent::runtime {

struct PerfMapLimits {
  uint64_t file_bytes_max = 64 << 20;
  // Of the files of all processes whose names are kept; the ones asked for longest ago go first.
  uint64_t kept_bytes_max = 96 << 20;
};

// Reads /proc/PID/root/tmp/perf-N.map, where N is the pid as the process itself knows it, never
// leaving that root. The file must be a regular one that belongs to the user of the process or to
// root, and must not be older than the process (the pid of another that left its file behind).
// Cost:   a look at the file's size and times per call; what was added since the last look is read,
//         the whole file only when it was written anew. About half of the file's size is kept.
// Source: linux tools/perf/Documentation/jit-interface.txt
class PerfMapRuntime final : public Runtime {
 public:
  explicit PerfMapRuntime(std::string proc_root = "/proc", PerfMapLimits limits = {});
  ~PerfMapRuntime() override;

  std::string_view name() const override { return "perf-map"; }
  std::optional<std::string> Detect(const ImageFacts& image) const override;
  base::Result<KernelPart> Prepare(const ProcessKey& process) override;
  // Frames are addresses of the process. After the process is gone, names that were read before
  // still serve.
  base::Result<std::vector<symbolize::Symbol>> Name(const ProcessKey& process,
                                                    std::span<const uint64_t> frames) override;
  void Forget(uint32_t pid) override;

 private:
  struct Known;  // the names of one process

  base::Result<void> Refresh(const ProcessKey& process, Known& known);
  Known& Find(const ProcessKey& process);
  void Shed();

  std::string proc_root_;
  PerfMapLimits limits_;
  std::list<Known> known_;  // the one asked for last comes first
};

}  // namespace vesta::agent::runtime
