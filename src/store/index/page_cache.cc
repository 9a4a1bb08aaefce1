#include "src/store/index/page_cache.h"

#include <utility>

#include "src/profile/id_index.h"

namespace vesta::store::index {

size_t PageCache::KeyHash::operator()(const Key& key) const {
  return profile::HashWord(key.file, key.page);
}

uint64_t PageCache::NewFile() {
  const std::lock_guard lock(mutex_);
  return files_++;
}

std::shared_ptr<const void> PageCache::Find(uint64_t file, uint64_t page) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find({file, page});
  if (place == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->value;
}

void PageCache::Insert(uint64_t file, uint64_t page, std::shared_ptr<const void> value,
                       size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > bytes_max_ || places_.contains({file, page})) return;
  entries_.push_front({{file, page}, std::move(value), bytes});
  places_[{file, page}] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > bytes_max_) {
    bytes_ -= entries_.back().bytes;
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

void PageCache::DropFile(uint64_t file) {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->key.file != file) {
      ++entry;
      continue;
    }
    bytes_ -= entry->bytes;
    places_.erase(entry->key);
    entry = entries_.erase(entry);
  }
}

size_t PageCache::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace vesta::store::index
