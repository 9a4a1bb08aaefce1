#include "src/agent/unwind/frame_finder_cache.h"

#include <gtest/gtest.h>

#include <vector>

#include "src/object/frame_bytes_for_test.h"
#include "src/object/owning_source_for_test.h"

namespace vesta::agent::unwind {
namespace {

class FrameFinderCacheTest : public testing::Test {
 protected:
  FrameFinderCache::Opener Opener() {
    return [this](uint32_t image_id) -> base::Result<std::unique_ptr<object::FrameFinder>> {
      opened_.push_back(image_id);
      if (image_id == kMissing) return base::Error(base::ErrorCode::kNotFound, "gone");
      object::FrameBytes frames;
      frames.AddCommon();
      frames.AddFde(object::kCode, 0x80, {});
      const auto file = std::make_shared<object::OwningSource>(object::FileWith(frames.bytes()));
      ASSIGN_OR_RETURN(const auto elf, object::ElfFile::Parse(*file));
      return object::FrameFinder::Open(elf, file);
    };
  }
  static constexpr uint32_t kMissing = 99;
  std::vector<uint32_t> opened_;
};

TEST_F(FrameFinderCacheTest, WhatWasUsedLastStays) {
  FrameFinderCache cache(Opener(), {.images_max = 2, .bytes_max = 1 << 20});
  ASSERT_NE(cache.Find(1), nullptr);
  EXPECT_TRUE(cache.Find(1)->RulesAt(object::kCode + 8).has_value());
  cache.Find(2);
  cache.Find(1);
  cache.Find(3);  // 2 leaves
  cache.Find(1);
  EXPECT_EQ(opened_, (std::vector<uint32_t>{1, 2, 3}));
  cache.Find(2);
  EXPECT_EQ(opened_, (std::vector<uint32_t>{1, 2, 3, 2}));
}

TEST_F(FrameFinderCacheTest, ImageThatCannotBeReadIsNotTriedAgainAndAgain) {
  FrameFinderCache cache(Opener(), {});
  EXPECT_EQ(cache.Find(kMissing), nullptr);
  EXPECT_EQ(cache.Find(kMissing), nullptr);
  EXPECT_EQ(opened_.size(), 1u);
}

TEST_F(FrameFinderCacheTest, BytesAreBoundedButTheCurrentImageStays) {
  FrameFinderCache cache(Opener(), {.images_max = 16, .bytes_max = 1});
  for (uint32_t image = 1; image <= 3; ++image) {
    ASSERT_NE(cache.Find(image), nullptr);
    EXPECT_TRUE(cache.Find(image)->RulesAt(object::kCode).has_value());
  }
  const size_t one = cache.memory_bytes();
  FrameFinderCache roomy(Opener(), {});
  for (uint32_t image = 1; image <= 3; ++image) roomy.Find(image)->RulesAt(object::kCode);
  EXPECT_EQ(roomy.memory_bytes(), 3 * one);
}

TEST_F(FrameFinderCacheTest, NumberThatIsGivenToAnotherImageIsOpenedAgain) {
  FrameFinderCache cache(Opener(), {});
  cache.Find(1);
  cache.Forget(1);
  EXPECT_EQ(cache.memory_bytes(), 0u);
  cache.Find(1);
  EXPECT_EQ(opened_.size(), 2u);
}

}  // namespace
}  // namespace vesta::agent::unwind
