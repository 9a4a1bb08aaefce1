#include "src/store/disk/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "src/base/descriptor.h"
#include "src/store/disk/files.h"

namespace vesta::store {

StoredPath::~StoredPath() {
  // What stays because of an error is removed when the store is opened the next time.
  if (is_doomed_) (void)RemoveAll(path_).ok();
}

base::Result<std::shared_ptr<const MappedIndex>> MappedIndex::Open(
    std::shared_ptr<const StoredPath> file, index::PageCache* cache) {
  const std::string& path = file->path();
  const base::Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (descriptor.fd() < 0 || ::fstat(descriptor.fd(), &status) != 0) {
    return base::ErrnoError("opening " + path, errno);
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return base::Error(base::ErrorCode::kCorrupt, path + ": empty");
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.fd(), 0);
  if (bytes == MAP_FAILED) return base::ErrnoError("mapping " + path, errno);
  std::shared_ptr<MappedIndex> mapped(new MappedIndex);
  mapped->stored_ = std::move(file);
  mapped->bytes_ = {static_cast<const std::byte*>(bytes), size};
  auto opened = index::IndexFile::Open(mapped->bytes_, cache);
  if (!opened.ok()) return std::move(opened).error().Context(path);
  mapped->file_.emplace(std::move(opened).value());
  return std::shared_ptr<const MappedIndex>(std::move(mapped));
}

MappedIndex::~MappedIndex() {
  file_.reset();
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace vesta::store
