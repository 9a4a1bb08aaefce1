#include "src/agent/unwind/process_publisher.h"

#include <gtest/gtest.h>

#include "src/agent/unwind/fake_kernel_tables.h"

namespace vesta::agent::unwind {
namespace {

std::vector<abi_mapping> MappingsAt(uint64_t start, size_t count) {
  std::vector<abi_mapping> mappings;
  for (size_t i = 0; i < count; ++i) {
    mappings.push_back({start + i * 0x1000, start + (i + 1) * 0x1000, start, 1, 1});
  }
  return mappings;
}

TEST(ProcessPublisherTest, ANewExtentIsWrittenBeforeTheProcessPointsAtIt) {
  FakeKernelTables kernel;
  ProcessPublisher publisher(kernel);
  ASSERT_TRUE(publisher.Publish(10, {77, 2}, MappingsAt(0x1000, 3)).ok());
  const abi_process old = kernel.processes.at(10);
  EXPECT_EQ(old.exec_id, 2u);
  EXPECT_EQ(old.start_boot_ns, 77u);
  ASSERT_TRUE(publisher.Publish(10, {77, 3}, MappingsAt(0x9000, 2)).ok());
  EXPECT_EQ(kernel.mappings()[old.mapping_first].start, 0x1000u)
      << "a walk that still reads the old extent must find it whole";
  EXPECT_EQ(publisher.Mappings(10).size(), 2u);
  EXPECT_EQ(publisher.Mappings(10)[0].start, 0x9000u);
}

TEST(ProcessPublisherTest, KnowsOnlyTheVeryIncarnation) {
  FakeKernelTables kernel;
  ProcessPublisher publisher(kernel);
  ASSERT_TRUE(publisher.Publish(10, {77, 2}, MappingsAt(0x1000, 1)).ok());
  EXPECT_TRUE(publisher.Knows(10, {77, 2}));
  EXPECT_FALSE(publisher.Knows(10, {77, 3}));
  EXPECT_FALSE(publisher.Knows(10, {78, 2}));
  ASSERT_TRUE(publisher.Publish(11, {0, 2}, MappingsAt(0x1000, 1)).ok());
  EXPECT_TRUE(publisher.Knows(11, {99, 2})) << "a start that is not known exactly fits all";
  EXPECT_FALSE(publisher.Knows(11, {99, 3}));
  publisher.Remove(11);
  publisher.Remove(10);
  EXPECT_FALSE(publisher.Knows(10, {77, 2}));
  EXPECT_TRUE(kernel.processes.empty());
  EXPECT_TRUE(publisher.Mappings(10).empty());
}

TEST(ProcessPublisherTest, NoRoomLeavesTheProcessUnknownAndIsCounted) {
  FakeKernelTables kernel(4, 64);
  ProcessPublisher publisher(kernel);
  for (uint32_t pid = 1; pid <= 4; ++pid) {
    ASSERT_TRUE(publisher.Publish(pid, {pid, 1}, MappingsAt(0x1000, 16)).ok());
  }
  EXPECT_FALSE(publisher.Publish(4, {4, 1}, MappingsAt(0x1000, 9)).ok());
  EXPECT_EQ(publisher.book().refused_no_room, 1u);
  EXPECT_EQ(kernel.processes.count(4), 0u) << "better unknown than with stale mappings";
}

TEST(ProcessPublisherTest, OneProcessDoesNotTakeTheRoomOfAll) {
  FakeKernelTables kernel(4, 64);
  ProcessPublisher publisher(kernel);
  ASSERT_TRUE(publisher.Publish(1, {1, 1}, MappingsAt(0x1000, 3)).ok());
  EXPECT_FALSE(publisher.Publish(1, {1, 1}, MappingsAt(0x1000, 17)).ok());
  EXPECT_EQ(publisher.book().refused_too_many, 1u);
  EXPECT_EQ(publisher.book().refused_no_room, 0u);
  EXPECT_EQ(kernel.processes.count(1), 0u);
  EXPECT_TRUE(publisher.Publish(1, {1, 1}, MappingsAt(0x1000, 16)).ok());
}

TEST(ProcessPublisherTest, StackCopiesCanBeStoppedPerProcess) {
  FakeKernelTables kernel;
  ProcessPublisher publisher(kernel);
  ASSERT_TRUE(publisher.Publish(10, {77, 2}, MappingsAt(0x1000, 1)).ok());
  publisher.AllowStackCopies(10, false);
  EXPECT_EQ(kernel.processes.at(10).flags, uint32_t{ABI_PROCESS_NO_STACK_COPY});
  publisher.AllowRuleCopies(10, false);
  publisher.AllowStackCopies(10, true);
  EXPECT_EQ(kernel.processes.at(10).flags, uint32_t{ABI_PROCESS_NO_RULE_COPY});
  publisher.AllowRuleCopies(10, true);
  EXPECT_EQ(kernel.processes.at(10).flags, 0u);
}

}  // namespace
}  // namespace vesta::agent::unwind
