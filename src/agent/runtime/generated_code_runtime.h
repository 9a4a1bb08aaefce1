// Names generated code by whatever its process wrote down.
#pragma once

#include <string>

#include "src/agent/runtime/jitdump/jitdump_runtime.h"
#include "src/agent/runtime/perf_map/perf_map_runtime.h"
#include "src/agent/runtime/runtime.h"

namespace vesta::agent::runtime {

// What a jitdump file says counts most, since it has times and lines; what it does not name is
// asked of the perf map.
class GeneratedCodeRuntime final : public Runtime {
 public:
  // kept_bytes_max of the limits: of both together.
  explicit GeneratedCodeRuntime(std::string proc_root = "/proc", CodeFileLimits limits = {});

  std::string_view name() const override { return "generated code"; }
  std::optional<std::string> Detect(const ImageFacts& image) const override;
  base::Result<KernelPart> Prepare(const ProcessKey& process, const ImageFacts& image) override;
  void Remember(const ProcessKey& process, std::span<const uint64_t> frames) override;
  base::Result<std::vector<FrameNames>> Name(const ProcessKey& process,
                                             std::span<const uint64_t> frames) override;
  void Forget(uint32_t pid) override;

  const CodeFileBook& jitdump_book() const { return jitdump_.book(); }
  const CodeFileBook& perf_map_book() const { return perf_map_.book(); }
  size_t memory_bytes() const { return jitdump_.memory_bytes() + perf_map_.memory_bytes(); }

 private:
  JitDumpRuntime jitdump_;
  PerfMapRuntime perf_map_;
};

}  // namespace vesta::agent::runtime
