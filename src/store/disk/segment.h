// Sealed rows and their roll-up, as they lie on disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "src/base/result.h"
#include "src/store/disk/manifest.h"
#include "src/store/index/index_file.h"
#include "src/store/index/page_cache.h"
#include "src/store/store.h"

namespace vesta::store {

// A file, or a folder with all that is in it, that may have to go while somebody still reads it: it
// is removed when the last one who holds this is done.
class StoredPath {
 public:
  explicit StoredPath(std::string path) : path_(std::move(path)) {}
  ~StoredPath();
  StoredPath(const StoredPath&) = delete;
  StoredPath& operator=(const StoredPath&) = delete;

  const std::string& path() const { return path_; }
  // The counter has the bytes until they are gone.
  void RemoveLater(uint64_t bytes, std::atomic<uint64_t>* counter) const;

 private:
  const std::string path_;
  mutable uint64_t bytes_ = 0;
  mutable std::atomic<uint64_t>* counter_ = nullptr;
  mutable std::atomic<bool> is_doomed_{false};
};

// An index file that is open: it can be read until this goes, also after it was renamed or removed.
// It is not mapped: a file that is cut from outside, or a sector that cannot be read, must be an
// error and no SIGBUS.
class MappedIndex {
 public:
  // Errors: as of open(2), and as IndexFile says.
  static base::Result<std::shared_ptr<const MappedIndex>> Open(
      std::shared_ptr<const StoredPath> file, index::PageCache* cache);
  MappedIndex(const MappedIndex&) = delete;
  MappedIndex& operator=(const MappedIndex&) = delete;

  const index::IndexFile& file() const { return file_; }
  const StoredPath& stored() const { return *stored_; }

 private:
  MappedIndex(std::shared_ptr<const StoredPath> stored, index::IndexFile file)
      : stored_(std::move(stored)), file_(std::move(file)) {}
  const std::shared_ptr<const StoredPath> stored_;
  const index::IndexFile file_;
};

// Shape: index is missing only when its file was damaged, rows when retention or damage took them.
// Owner: immutable and shared by all who read.
struct Segment {
  ManifestSegment entry;
  std::shared_ptr<const StoredPath> rows;
  std::shared_ptr<const MappedIndex> index;
};

}  // namespace vesta::store
