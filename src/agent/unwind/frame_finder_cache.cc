#include "src/agent/unwind/frame_finder_cache.h"

#include <algorithm>
#include <utility>

namespace vesta::agent::unwind {
namespace {

// Finders grow as they are used; adding up what they hold costs more than a look-up.
constexpr uint32_t kFindsPerTrim = 256;

}  // namespace

object::FrameFinder* FrameFinderCache::Find(uint32_t image_id) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.image_id == image_id; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    auto opened = opener_(image_id);
    ++opened_count_;
    entries_.push_front({image_id, opened.ok() ? std::move(opened).value() : nullptr});
    finds_until_trim_ = 0;
  }
  if (finds_until_trim_-- == 0) Trim();
  return entries_.front().finder.get();
}

void FrameFinderCache::Forget(uint32_t image_id) {
  entries_.remove_if([&](const Entry& entry) { return entry.image_id == image_id; });
}

size_t FrameFinderCache::memory_bytes() const {
  size_t bytes = 0;
  for (const Entry& entry : entries_) {
    bytes += sizeof(Entry) + (entry.finder != nullptr ? entry.finder->memory_bytes() : 0);
  }
  return bytes;
}

void FrameFinderCache::Trim() {
  finds_until_trim_ = kFindsPerTrim;
  while (entries_.size() > 1 &&
         (entries_.size() > limits_.images_max || memory_bytes() > limits_.bytes_max)) {
    entries_.pop_back();
  }
}

}  // namespace vesta::agent::unwind
