#include "bench/oracle/replay.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace vesta::oracle {
namespace {

constexpr char kVdso[] = "[vdso]";

// Every program of this kernel has the same one.
std::vector<std::byte> ReadOwnVdso() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(kVdso) == std::string::npos) continue;
    char* rest = nullptr;
    const uint64_t start = std::strtoull(line.c_str(), &rest, 16);
    const uint64_t end = std::strtoull(rest + 1, nullptr, 16);
    const auto* bytes = reinterpret_cast<const std::byte*>(start);
    return {bytes, bytes + (end - start)};
  }
  return {};
}

bool IsSameFile(int fd, const wire::PerfMapping& mapping) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return false;
  // Some file systems show another device to stat() than to the kernel.
  return mapping.inode == 0 || status.st_ino == mapping.inode;
}

std::unique_ptr<ImageFile> OpenImage(const wire::PerfMapping& mapping) {
  auto image = std::make_unique<ImageFile>();
  image->path = mapping.path;
  if (mapping.path == kVdso) {
    image->vdso = ReadOwnVdso();
    image->source = std::make_unique<base::MemorySource>(image->vdso);
  } else if (!mapping.path.empty() && mapping.path[0] == '/' && mapping.path[1] != '/') {
    auto file = base::FileSource::Open(mapping.path);
    if (!file.ok() || !IsSameFile((*file)->fd(), mapping)) return image;
    image->fd = (*file)->fd();
    image->source = std::move(*file);
  } else {
    return image;
  }
  auto elf = object::ElfFile::Parse(*image->source);
  if (elf.ok()) image->elf = std::move(*elf);
  return image;
}

// Cuts [start, end) out of the list.
void Carve(std::vector<MappedCode>& code, uint64_t start, uint64_t end) {
  std::vector<MappedCode> kept;
  kept.reserve(code.size() + 2);
  for (const MappedCode& part : code) {
    if (part.end <= start || part.start >= end) {
      kept.push_back(part);
      continue;
    }
    if (part.start < start) kept.push_back({part.start, start, part.file_offset, part.image});
    if (part.end > end) {
      kept.push_back({end, part.end, part.file_offset + (end - part.start), part.image});
    }
  }
  code = std::move(kept);
}

}  // namespace

uint32_t ImageFiles::ImageOf(const wire::PerfMapping& mapping) {
  const Key key(mapping.path, mapping.inode, mapping.device_major, mapping.device_minor);
  const auto [place, is_new] = number_of_.emplace(key, images_.size());
  if (is_new) images_.push_back(OpenImage(mapping));
  return place->second;
}

void Replay::Apply(const wire::PerfMapping& mapping) {
  ReplayedProcess& process = processes_[mapping.pid];
  const size_t count_before = process.code.size();
  Carve(process.code, mapping.start, mapping.end);
  if (mapping.executable && mapping.end > mapping.start) {
    const MappedCode added{mapping.start, mapping.end, mapping.file_offset,
                           images_.ImageOf(mapping)};
    const auto place = std::upper_bound(
        process.code.begin(), process.code.end(), added,
        [](const MappedCode& a, const MappedCode& b) { return a.start < b.start; });
    process.code.insert(place, added);
  }
  if (mapping.executable || process.code.size() != count_before) {
    process.version = version_next_++;
  }
}

void Replay::Apply(const wire::PerfComm& comm) {
  ReplayedProcess& process = processes_[comm.pid];
  if (comm.pid == comm.tid) process.comm = comm.comm;
  if (!comm.is_exec) return;
  process.code.clear();
  process.version = version_next_++;
}

void Replay::Apply(const wire::PerfFork& fork) {
  if (fork.pid == fork.parent_pid) return;  // a thread
  processes_[fork.pid] = processes_[fork.parent_pid];
}

}  // namespace vesta::oracle
