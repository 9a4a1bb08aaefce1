#include "src/agent/runtime/generated_code_runtime.h"

#include <utility>

namespace vesta::agent::runtime {
namespace {

using base::Result;

CodeFileLimits HalfOf(CodeFileLimits limits) {
  limits.kept_bytes_max /= 2;
  return limits;
}

}  // namespace

GeneratedCodeRuntime::GeneratedCodeRuntime(std::string proc_root, CodeFileLimits limits)
    : jitdump_(proc_root, HalfOf(limits)), perf_map_(std::move(proc_root), HalfOf(limits)) {}

std::optional<std::string> GeneratedCodeRuntime::Detect(const ImageFacts& image) const {
  auto version = jitdump_.Detect(image);
  return version ? version : perf_map_.Detect(image);
}

Result<KernelPart> GeneratedCodeRuntime::Prepare(const ProcessKey& process,
                                                 const ImageFacts& image) {
  if (jitdump_.Detect(image)) return jitdump_.Prepare(process, image);
  return perf_map_.Prepare(process, image);
}

void GeneratedCodeRuntime::Remember(const ProcessKey& process, std::span<const uint64_t> frames) {
  jitdump_.Remember(process, frames);
  perf_map_.Remember(process, frames);
}

Result<std::vector<FrameNames>> GeneratedCodeRuntime::Name(const ProcessKey& process,
                                                           std::span<const uint64_t> frames) {
  auto dumped = jitdump_.Name(process, frames);
  auto mapped = perf_map_.Name(process, frames);
  if (!dumped.ok()) return mapped;
  if (!mapped.ok()) return dumped;
  for (size_t i = 0; i < frames.size(); ++i) {
    if ((*dumped)[i].empty()) (*dumped)[i] = std::move((*mapped)[i]);
  }
  return dumped;
}

void GeneratedCodeRuntime::Forget(uint32_t pid) {
  jitdump_.Forget(pid);
  perf_map_.Forget(pid);
}

}  // namespace vesta::agent::runtime
