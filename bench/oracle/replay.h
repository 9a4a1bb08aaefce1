// What each process had mapped when a sample was taken, replayed from a recording's events, and the
// files that lie behind it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/base/byte_source.h"
#include "src/object/elf_file.h"
#include "src/wire/perf_data.h"

namespace vesta::oracle {

// A file that code was mapped from, or the vDSO.
struct ImageFile {
  std::string path;
  std::vector<std::byte> vdso;               // its bytes, when it is the vDSO
  std::shared_ptr<base::ByteSource> source;  // null: generated code, or no longer the same file
  int fd = -1;                               // of the source, when it is a file
  std::optional<object::ElfFile> elf;
};

// Shape: one per path and inode; numbers count from 0.
class ImageFiles {
 public:
  uint32_t ImageOf(const wire::PerfMapping& mapping);
  const ImageFile& image(uint32_t number) const { return *images_[number]; }
  size_t count() const { return images_.size(); }

 private:
  using Key = std::tuple<std::string, uint64_t, uint32_t, uint32_t>;
  std::map<Key, uint32_t> number_of_;
  std::vector<std::unique_ptr<ImageFile>> images_;
};

struct MappedCode {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  uint32_t image = 0;
};

struct ReplayedProcess {
  std::string comm;
  std::vector<MappedCode> code;  // executable, sorted, apart from each other
  uint64_t version = 0;          // no two states of any process have the same one
};

class Replay {
 public:
  explicit Replay(ImageFiles& images) : images_(images) {}

  void Apply(const wire::PerfMapping& mapping);
  void Apply(const wire::PerfComm& comm);
  void Apply(const wire::PerfFork& fork);
  const ReplayedProcess& process(uint32_t pid) { return processes_[pid]; }

 private:
  ImageFiles& images_;
  std::unordered_map<uint32_t, ReplayedProcess> processes_;
  uint64_t version_next_ = 1;
};

}  // namespace vesta::oracle
