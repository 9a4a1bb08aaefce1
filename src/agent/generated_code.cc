#include "src/agent/generated_code.h"

namespace vesta::agent {
namespace {

// A server forks workers, these perhaps helpers; a process that forks itself on and on has no end.
constexpr size_t kNamersMax = 5;

}  // namespace

std::vector<runtime::ProcessKey> NamersOf(const process::Image& image,
                                          const process::ImageStore& images) {
  std::vector<runtime::ProcessKey> namers;
  for (const process::Image* code = &image;; code = &images.image(code->forked_from)) {
    namers.push_back({code->owner_pid, code->owner_start_boot_ns, code->owner_exec_mono_ns});
    if (code->forked_from == profile::ImageId() || namers.size() >= kNamersMax) return namers;
  }
}

}  // namespace vesta::agent
