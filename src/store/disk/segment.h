// Sealed rows and their roll-up, as they lie on disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

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
  void RemoveLater() const { is_doomed_ = true; }

 private:
  const std::string path_;
  mutable std::atomic<bool> is_doomed_{false};
};

// An index file in memory, by mapping. Store files are ours alone and immutable, so a mapping is
// safe as long as nobody truncates them from outside.
class MappedIndex {
 public:
  // Errors: as of open(2); Corrupt as IndexFile says.
  static base::Result<std::shared_ptr<const MappedIndex>> Open(
      std::shared_ptr<const StoredPath> file, index::PageCache* cache);
  ~MappedIndex();
  MappedIndex(const MappedIndex&) = delete;
  MappedIndex& operator=(const MappedIndex&) = delete;

  const index::IndexFile& file() const { return *file_; }
  const StoredPath& stored() const { return *stored_; }

 private:
  MappedIndex() = default;
  std::shared_ptr<const StoredPath> stored_;
  std::span<const std::byte> bytes_;
  std::optional<index::IndexFile> file_;
};

// Shape: index is missing only when its file was damaged, rows when retention or damage took them.
// Owner: immutable and shared by all who read.
struct Segment {
  ManifestSegment entry;
  std::shared_ptr<const StoredPath> rows;
  std::shared_ptr<const MappedIndex> index;
};

}  // namespace vesta::store
