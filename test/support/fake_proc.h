// A made-up machine for tests: processes with mappings, files in several mount namespaces, a clock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/agent/process/proc_view.h"

namespace vesta::test {

namespace process = ::vesta::agent::process;

// Bytes that live as long as someone reads them.
class HeldSource final : public base::ByteSource {
 public:
  explicit HeldSource(std::string bytes)
      : bytes_(std::move(bytes)), source_(std::as_bytes(std::span(bytes_))) {}
  uint64_t size_bytes() const override { return source_.size_bytes(); }
  base::Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    return source_.ReadAt(offset, out);
  }

 private:
  std::string bytes_;
  base::MemorySource source_;
};

struct FakeFile {
  std::string bytes;
  process::FileIdentity identity;
  bool is_regular = true;
  bool is_readable = true;
  bool unlinked = false;
  bool holds_mount = false;
  std::string disk_path;  // of a real file with these bytes; empty = there is none
};
using FakeFilePtr = std::shared_ptr<FakeFile>;

struct FakeMapping {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  std::string path;  // as in maps
  FakeFilePtr file;  // null: none
};

struct FakeProcess {
  uint64_t start_ticks = 0;
  std::string comm = "program";
  char state = 'S';
  bool is_kernel_thread = false;
  uint32_t thread_count = 1;
  std::string exe = "/bin/program";
  std::string environ;
  std::string cgroup = "0::/\n";
  std::vector<FakeMapping> mappings;
  std::map<std::string, FakeFilePtr> root;  // files by path in this process's mount namespace
  std::map<uint64_t, std::string> memory;   // by address; what is not here cannot be read
};

class FakeProc final : public process::ProcView {
 public:
  std::map<uint32_t, FakeProcess> processes;
  std::map<std::string, FakeFilePtr> root;  // what the agent itself sees
  std::string vdso;
  uint64_t now_mono_ns = 1'000'000'000;

  // Called before each reading of a text of a process: lets a process vanish in the middle.
  std::function<void(uint32_t, process::ProcFile)> before_read;

  // How often the store asked and opened.
  mutable int stat_count = 0;
  mutable int open_count = 0;

  FakeFilePtr NewFile(std::string bytes) {
    auto file = std::make_shared<FakeFile>();
    file->identity = {0x801, next_inode_++, bytes.size(), 1, 1};
    file->bytes = std::move(bytes);
    return file;
  }

  uint64_t NowMonoNs() const override { return now_mono_ns; }
  uint64_t TickNs() const override { return 10'000'000; }

  base::Result<std::vector<uint32_t>> ListPids() const override {
    std::vector<uint32_t> pids;
    for (const auto& [pid, unused] : processes) pids.push_back(pid);
    return pids;
  }

  base::Result<std::string> Read(uint32_t pid, process::ProcFile file) const override {
    if (before_read) before_read(pid, file);
    const auto found = processes.find(pid);
    if (found == processes.end()) return Gone();
    const FakeProcess& process = found->second;
    switch (file) {
      case process::ProcFile::kStat:
        return StatText(pid, process);
      case process::ProcFile::kMaps:
        return MapsText(process);
      case process::ProcFile::kComm:
        return process.comm + "\n";
      case process::ProcFile::kEnviron:
        return process.environ;
      case process::ProcFile::kCgroup:
        return process.cgroup;
      case process::ProcFile::kCmdline:
      case process::ProcFile::kStatus:
        break;
    }
    return base::Error(base::ErrorCode::kUnsupported, "not made up");
  }

  base::Result<std::string> ReadExe(uint32_t pid) const override {
    const auto found = processes.find(pid);
    if (found == processes.end() || found->second.exe.empty()) return Gone();
    return found->second.exe;
  }

  base::Result<process::FileIdentity> StatMapped(uint32_t pid,
                                                 const process::MappedFile& file) const override {
    ++stat_count;
    const FakeFilePtr found = FindMapped(pid, file);
    if (found == nullptr) return Gone();
    return found->identity;
  }
  base::Result<process::OpenedFile> OpenMapped(uint32_t pid,
                                               const process::MappedFile& file) const override {
    return OpenFile(FindMapped(pid, file));
  }

  base::Result<void> ReadMemory(uint32_t pid, uint64_t address,
                                std::span<std::byte> out) const override {
    const auto found = processes.find(pid);
    if (found == processes.end()) return Gone();
    for (const auto& [start, bytes] : found->second.memory) {
      if (address < start || address - start > bytes.size()) continue;
      return base::MemorySource(std::as_bytes(std::span(bytes))).ReadAt(address - start, out);
    }
    return Gone();
  }

  base::Result<std::string> ReadVdso() const override {
    if (vdso.empty()) return base::Error(base::ErrorCode::kUnsupported, "none");
    return vdso;
  }

 private:
  static base::Error Gone() { return base::Error(base::ErrorCode::kNotFound, "gone"); }

  static FakeFilePtr FindByPath(const std::map<std::string, FakeFilePtr>& files,
                                const process::MappedFile& file) {
    const auto found = files.find(file.path);
    if (found == files.end()) return nullptr;
    const bool same = file.inode == 0 || found->second->identity.inode == file.inode;
    return same ? found->second : nullptr;
  }

  FakeFilePtr FindMapped(uint32_t pid, const process::MappedFile& file) const {
    if (pid == 0) return FindByPath(root, file);
    const auto found = processes.find(pid);
    if (found == processes.end()) return nullptr;
    for (const FakeMapping& mapping : found->second.mappings) {
      if (mapping.start != file.start || mapping.end != file.end) continue;
      if (mapping.file == nullptr || file.inode == 0 ||
          mapping.file->identity.inode == file.inode) {
        return mapping.file;
      }
    }
    return FindByPath(found->second.root, file);
  }

  base::Result<process::OpenedFile> OpenFile(const FakeFilePtr& file) const {
    ++open_count;
    if (file == nullptr) return Gone();
    if (!file->is_regular) {
      return base::Error(base::ErrorCode::kInvalidInput, "it is not a regular file");
    }
    if (!file->is_readable) {
      return base::Error(base::ErrorCode::kPermission, "opening it: Permission denied");
    }
    if (!file->disk_path.empty()) {
      auto source = base::FileSource::Open(file->disk_path);
      if (!source.ok()) return std::move(source).error();
      return process::OpenedFile{std::move(source).value(), file->identity, file->unlinked,
                                 file->holds_mount};
    }
    return process::OpenedFile{std::make_shared<HeldSource>(file->bytes), file->identity,
                               file->unlinked, file->holds_mount};
  }

  static std::string StatText(uint32_t pid, const FakeProcess& process) {
    return std::to_string(pid) + " (" + process.comm + ") " + process.state + " 1 1 1 0 -1 " +
           (process.is_kernel_thread ? "2129984" : "4194304") + " 0 0 0 0 0 0 0 0 20 0 " +
           std::to_string(process.thread_count) + " 0 " + std::to_string(process.start_ticks) +
           " 0 0\n";
  }

  static std::string MapsText(const FakeProcess& process) {
    std::string text;
    for (const FakeMapping& mapping : process.mappings) {
      char line[128];
      std::snprintf(line, sizeof(line), "%llx-%llx r-xp %08llx 08:01 %llu   ",
                    static_cast<unsigned long long>(mapping.start),
                    static_cast<unsigned long long>(mapping.end),
                    static_cast<unsigned long long>(mapping.file_offset),
                    static_cast<unsigned long long>(
                        mapping.file == nullptr ? 0 : mapping.file->identity.inode));
      text += line + mapping.path + "\n";
    }
    return text;
  }

  uint64_t next_inode_ = 100;
};

}  // namespace vesta::test
