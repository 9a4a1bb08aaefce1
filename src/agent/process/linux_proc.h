// The real /proc.
#pragma once

#include <string>
#include <vector>

#include "src/agent/process/proc_view.h"

namespace vesta::agent::process {

// Files that a process maps are opened through /proc/PID/map_files (the very inode: works when it
// is deleted, in memory, or in another mount namespace), else by path inside the process's own
// root, and then only accepted when device and inode are those of the mapping.
//
// A hostile process must not be able to hold up the agent: only regular files are opened, and their
// type is checked before they are (no FIFO is waited for, no device is touched). Paths are looked
// up with the process's root as "/" also for symbolic links, and only in the kernel's own cache, so
// that they start no automounter. A file on a network file system whose server is gone can still
// block a read, as it blocks the programs that run from it.
// Files are kept open on copies of their mounts, so that these can be unmounted (their devices stay
// in use until the file is closed).
class LinuxProc final : public ProcView {
 public:
  // Where the proc file system of the initial pid namespace is mounted.
  explicit LinuxProc(std::string proc_root = "/proc");

  uint64_t NowMonoNs() const override;
  uint64_t TickNs() const override { return tick_ns_; }
  base::Result<std::vector<uint32_t>> ListPids() const override;
  base::Result<std::string> Read(uint32_t pid, ProcFile file) const override;
  base::Result<std::string> ReadExe(uint32_t pid) const override;
  base::Result<FileIdentity> StatMapped(uint32_t pid, const MappedFile& file) const override;
  base::Result<OpenedFile> OpenMapped(uint32_t pid, const MappedFile& file) const override;
  base::Result<void> ReadMemory(uint32_t pid, uint64_t address,
                                std::span<std::byte> out) const override;
  base::Result<std::string> ReadVdso() const override;

 private:
  std::string PidPath(uint32_t pid, const char* name) const;
  std::string MapFilesPath(uint32_t pid, const MappedFile& file) const;
  std::string RootPath(uint32_t pid) const;
  uint32_t OtherThread(uint32_t pid) const;
  base::Result<FileIdentity> StatMappedBy(uint32_t tid, const MappedFile& file) const;
  base::Result<OpenedFile> OpenMappedBy(uint32_t tid, const MappedFile& file) const;

  std::string root_;
  uint64_t tick_ns_;
  mutable uint64_t copy_next_mono_ns_ = 0;  // see Reopen
};

}  // namespace vesta::agent::process
