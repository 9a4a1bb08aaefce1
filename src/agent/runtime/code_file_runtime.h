// What the runtimes have in common whose processes write the names of their code to a file.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "src/agent/runtime/code_file.h"
#include "src/agent/runtime/runtime.h"

namespace vesta::agent::runtime {

// Keeps one CodeFile per process. Frames are addresses of the process.
class CodeFileRuntime : public Runtime {
 public:
  void Remember(const ProcessKey& process, std::span<const uint64_t> frames) override;
  // After the process is gone, its file still serves when it was remembered before.
  base::Result<std::vector<FrameNames>> Name(const ProcessKey& process,
                                             std::span<const uint64_t> frames) override;
  void Forget(uint32_t pid) override;

  const CodeFileBook& book() const { return book_; }
  size_t memory_bytes() const;

 protected:
  CodeFileRuntime(std::string proc_root, CodeFileLimits limits);

  virtual base::Result<ProcessFile> Open(const ProcessKey& process) = 0;
  virtual std::unique_ptr<CodeFile> Make(size_t kept_bytes_max, uint64_t since_mono_ns) = 0;

  const std::string& proc_root() const { return proc_root_; }
  CodeFileBook& mutable_book() { return book_; }

 private:
  struct Known {
    ProcessKey process;
    std::unique_ptr<CodeFile> file;
  };

  CodeFile& Find(const ProcessKey& process);
  base::Result<void> Refresh(CodeFile& file, uint64_t bytes_max);
  void Shed();

  std::string proc_root_;
  CodeFileLimits limits_;
  uint64_t since_mono_ns_;
  CodeFileBook book_;
  std::list<Known> known_;  // the one asked for last comes first
};

}  // namespace vesta::agent::runtime
