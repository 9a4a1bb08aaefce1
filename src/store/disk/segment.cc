#include "src/store/disk/segment.h"

#include <utility>

#include "src/base/byte_source.h"
#include "src/store/disk/files.h"

namespace vesta::store {

StoredPath::~StoredPath() {
  // What stays because of an error is removed when the store is opened the next time.
  if (!is_doomed_) return;
  (void)RemoveAll(path_).ok();
  *counter_ -= bytes_;
}

void StoredPath::RemoveLater(uint64_t bytes, std::atomic<uint64_t>* counter) const {
  if (is_doomed_.exchange(true)) return;
  bytes_ = bytes;
  counter_ = counter;
  *counter_ += bytes;
}

base::Result<std::shared_ptr<const MappedIndex>> MappedIndex::Open(
    std::shared_ptr<const StoredPath> file, index::PageCache* cache) {
  ASSIGN_OR_RETURN(std::unique_ptr<const base::ByteSource> source,
                   base::FileSource::Open(file->path()));
  auto opened = index::IndexFile::Open(std::move(source), cache);
  if (!opened.ok()) return std::move(opened).error().Context(file->path());
  return std::shared_ptr<const MappedIndex>(
      new MappedIndex(std::move(file), std::move(opened).value()));
}

}  // namespace vesta::store
