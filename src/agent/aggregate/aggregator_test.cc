#include "src/agent/aggregate/aggregator.h"

#include <gtest/gtest.h>

namespace vesta::agent::aggregate {
namespace {

constexpr size_t kPlenty = 64u << 20;

std::vector<profile::Frame> StackOf(std::initializer_list<uint64_t> addresses) {
  std::vector<profile::Frame> frames;
  for (const uint64_t address : addresses) {
    frames.push_back({address, profile::ImageId(1), profile::FrameKind::kNative, false});
  }
  return frames;
}

TEST(AggregatorTest, SumsEqualSamplesOfOneThread) {
  Aggregator aggregator(kPlenty);
  const ThreadId thread = aggregator.InternThread(0, 10, 11, "worker");
  aggregator.Add(thread, StackOf({1, 2}), ABI_STOP_ROOT, 1);
  aggregator.Add(thread, StackOf({1, 2}), ABI_STOP_ROOT, 3);
  ASSERT_EQ(aggregator.rows().size(), 1u);
  EXPECT_EQ(aggregator.rows()[0].value, 4u);
  EXPECT_EQ(aggregator.rows()[0].count, 2u);
  EXPECT_EQ(aggregator.thread(aggregator.rows()[0].thread).name, "worker");
}

TEST(AggregatorTest, KeepsApartThreadsRenamesIncarnationsAndStopReasons) {
  Aggregator aggregator(kPlenty);
  const ThreadId thread = aggregator.InternThread(0, 10, 11, "worker");
  EXPECT_NE(thread, aggregator.InternThread(0, 10, 12, "worker"));
  EXPECT_NE(thread, aggregator.InternThread(0, 10, 11, "renamed"));
  EXPECT_NE(thread, aggregator.InternThread(1, 10, 11, "worker"));
  EXPECT_EQ(thread, aggregator.InternThread(0, 10, 11, "worker"));
  aggregator.Add(thread, StackOf({1}), ABI_STOP_ROOT, 1);
  aggregator.Add(thread, StackOf({1}), ABI_STOP_READ_FAULT, 1);
  EXPECT_EQ(aggregator.rows().size(), 2u);
  EXPECT_EQ(aggregator.book().kept_by_stop_reason[ABI_STOP_READ_FAULT], 1u);
}

TEST(AggregatorTest, MarksTheImagesOfItsStacks) {
  Aggregator aggregator(kPlenty);
  const ThreadId thread = aggregator.InternThread(0, 1, 1, "t");
  const profile::Frame leaf{0x10, profile::ImageId(2), profile::FrameKind::kNative, true};
  const profile::Frame caller{0x20, profile::ImageId(4), profile::FrameKind::kNative, false};
  aggregator.Add(thread, std::vector{leaf, caller}, ABI_STOP_ROOT, 1);
  std::vector<bool> needed(6);
  aggregator.MarkImages(needed);
  EXPECT_EQ(needed, (std::vector<bool>{false, false, true, false, true, false}));
  aggregator.Clear();
  needed.assign(6, false);
  aggregator.MarkImages(needed);
  EXPECT_EQ(needed, std::vector<bool>(6));
}

TEST(AggregatorTest, BookBalancesWhenMemoryIsShort) {
  Aggregator aggregator(kPlenty);
  const ThreadId thread = aggregator.InternThread(0, 1, 1, "t");
  aggregator.Add(thread, StackOf({1}), ABI_STOP_ROOT, 1);
  aggregator.SetMemoryLimit(aggregator.memory_bytes());
  for (uint64_t i = 2; i < 100; ++i) aggregator.Add(thread, StackOf({i}), ABI_STOP_ROOT, 1);
  aggregator.Add(thread, StackOf({1}), ABI_STOP_ROOT, 1);  // a known stack needs no memory
  const AggregatorBook& book = aggregator.book();
  EXPECT_EQ(book.received, 100u);
  EXPECT_EQ(book.received, book.kept + book.dropped_memory);
  EXPECT_EQ(book.dropped_memory, 98u);
  EXPECT_EQ(aggregator.rows()[0].value, 2u);
}

TEST(AggregatorTest, ThreadChurnStaysUnderTheLimit) {
  Aggregator aggregator(1u << 20);
  for (uint32_t tid = 1; tid <= 50'000; ++tid) {
    const ThreadId thread = aggregator.InternThread(0, 1, tid, "short");
    aggregator.Add(thread, StackOf({1}), ABI_STOP_ROOT, 1);
  }
  // Vectors double, so the last one that fits may go over by its own size.
  EXPECT_LE(aggregator.memory_bytes(), 3u << 19);
  EXPECT_EQ(aggregator.InternThread(0, 1, 50'001, "short"), kNoRoomForThread);
  EXPECT_EQ(aggregator.InternThread(0, 1, 1, "short"), ThreadId(0)) << "known ones go on";
  const AggregatorBook& book = aggregator.book();
  EXPECT_EQ(book.received, 50'000u);
  EXPECT_GT(book.dropped_memory, 0u);
  EXPECT_EQ(book.received, book.kept + book.dropped_memory);
}

TEST(AggregatorTest, ClearForgetsRowsAndKeepsTheBook) {
  Aggregator aggregator(kPlenty);
  aggregator.Add(aggregator.InternThread(0, 1, 1, "t"), StackOf({1}), ABI_STOP_ROOT, 1);
  aggregator.Clear();
  EXPECT_TRUE(aggregator.rows().empty());
  EXPECT_EQ(aggregator.book().kept, 1u);
  aggregator.Add(aggregator.InternThread(0, 1, 1, "t"), StackOf({1}), ABI_STOP_ROOT, 1);
  EXPECT_EQ(aggregator.rows().size(), 1u);
}

TEST(AggregatorTest, KeepsTimesWhereTheyMatterAndThereIsRoom) {
  Aggregator aggregator(1 << 20);
  const ThreadId thread = aggregator.InternThread(0, 1, 1, "t");
  aggregator.Add(thread, StackOf({1}), ABI_STOP_ROOT, 1);
  aggregator.Add(thread, StackOf({2}), ABI_STOP_ROOT, 3, 100);
  aggregator.Add(thread, StackOf({2}), ABI_STOP_ROOT, 4, 200);
  ASSERT_EQ(aggregator.times().size(), 2u);
  EXPECT_EQ(aggregator.times()[1].row, 1u);
  EXPECT_EQ(aggregator.times()[1].value, 4u);
  EXPECT_EQ(aggregator.times()[1].time_mono_ns, 200u);
  EXPECT_EQ(aggregator.rows()[1].value, 7u);
  for (uint64_t time = 1; time < 100'000; ++time) {
    aggregator.Add(thread, StackOf({2}), ABI_STOP_ROOT, 1, time);
  }
  EXPECT_LE(aggregator.memory_bytes(), 1u << 19);
  EXPECT_EQ(aggregator.times().size() + aggregator.book().times_dropped, 100'001u);
  EXPECT_GT(aggregator.book().times_dropped, 0u);
  EXPECT_EQ(aggregator.book().kept, 100'002u);  // no sample is lost for its time
  aggregator.Clear();
  EXPECT_TRUE(aggregator.times().empty());
}

TEST(AggregatorTest, IsCrowdedBeforeAnythingIsDroppedAndRoomyAfterClear) {
  Aggregator few_stacks(1 << 20);
  const ThreadId thread = few_stacks.InternThread(0, 1, 1, "t");
  while (!few_stacks.IsCrowded()) few_stacks.Add(thread, StackOf({1}), ABI_STOP_ROOT, 1, 100);
  EXPECT_EQ(few_stacks.book().times_dropped, 0u);
  EXPECT_GT(few_stacks.times().size(), 1000u);

  Aggregator many_stacks(1 << 20);
  const ThreadId other = many_stacks.InternThread(0, 1, 1, "t");
  for (uint64_t i = 0; !many_stacks.IsCrowded(); ++i) {
    many_stacks.Add(other, StackOf({i, 1}), ABI_STOP_ROOT, 1);
  }
  EXPECT_EQ(many_stacks.book().dropped_memory, 0u);
  many_stacks.Clear();
  EXPECT_LE(many_stacks.memory_bytes(), size_t{1 << 18});
  EXPECT_FALSE(many_stacks.IsCrowded());
}

}  // namespace
}  // namespace vesta::agent::aggregate
