// Pages of index files that were unpacked a moment ago.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace vesta::store::index {

// Bounded by bytes, least recently used out first.
// Owner: one for all volumes of a store (whoever opens them); any thread may use it.
class PageCache {
 public:
  explicit PageCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // A number for each file, so that pages of several do not mix.
  uint64_t NewFile();
  // nullptr = not there.
  std::shared_ptr<const void> Find(uint64_t file, uint64_t page);
  void Insert(uint64_t file, uint64_t page, std::shared_ptr<const void> value, size_t bytes);
  void DropFile(uint64_t file);
  size_t memory_bytes() const;

 private:
  struct Key {
    uint64_t file;
    uint64_t page;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    Key key;
    std::shared_ptr<const void> value;
    size_t bytes;
  };

  size_t bytes_max_;
  mutable std::mutex mutex_;
  uint64_t files_ = 0;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> places_;
};

}  // namespace vesta::store::index
