// The images whose call frame information walks in user space needed last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "src/base/result.h"
#include "src/object/frame_finder.h"

namespace vesta::agent::unwind {

// Owner: agent thread.
// Cost:  at most images_max images and, checked now and then, bytes_max bytes; those used least
//        recently leave first.
class FrameFinderCache {
 public:
  using Opener =
      std::function<base::Result<std::unique_ptr<object::FrameFinder>>(uint32_t image_id)>;
  struct Limits {
    size_t images_max = 16;
    size_t bytes_max = 4u << 20;
  };

  FrameFinderCache(Opener opener, const Limits& limits)
      : opener_(std::move(opener)), limits_(limits) {}

  // Null when the image cannot be read; that, too, is remembered. Valid until the next call.
  object::FrameFinder* Find(uint32_t image_id);

  // The number stands for another image from now on.
  void Forget(uint32_t image_id);

  size_t memory_bytes() const;
  uint64_t opened_count() const { return opened_count_; }

 private:
  struct Entry {
    uint32_t image_id;
    std::unique_ptr<object::FrameFinder> finder;
  };
  void Trim();

  Opener opener_;
  Limits limits_;
  std::list<Entry> entries_;  // most recently used first
  uint64_t opened_count_ = 0;
  uint32_t finds_until_trim_ = 0;
};

}  // namespace vesta::agent::unwind
