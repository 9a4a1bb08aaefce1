// Against the kernel's own maps, without any program.
#include "src/agent/source/kernel_maps.h"

#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

namespace vesta::agent::source {
namespace {

constexpr uint32_t kSlots = 8;
constexpr uint32_t kMappingsMax = 512;

std::vector<uint32_t> Table(size_t block_count, uint32_t filling) {
  return std::vector<uint32_t>(block_count * ABI_TABLE_BLOCK_WORDS, filling);
}

class KernelMapsTest : public testing::Test {
 protected:
  void SetUp() override {
    LIBBPF_OPTS(bpf_map_create_opts, shared, .map_flags = BPF_F_MMAPABLE);
    fds_.mappings = bpf_map_create(BPF_MAP_TYPE_ARRAY, "mappings", sizeof(uint32_t),
                                   sizeof(abi_mapping), kMappingsMax, &shared);
    if (fds_.mappings < 0 && (errno == EPERM || errno == EACCES)) {
      GTEST_SKIP() << "needs to be root, or CAP_BPF: bpf(2) is refused";
    }
    LIBBPF_OPTS(bpf_map_create_opts, inner, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
    const int pattern = bpf_map_create(BPF_MAP_TYPE_ARRAY, "pattern", sizeof(uint32_t),
                                       ABI_TABLE_BLOCK_BYTES, 1, &inner);
    LIBBPF_OPTS(bpf_map_create_opts, outer, .inner_map_fd = static_cast<uint32_t>(pattern));
    fds_.tables = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "tables", sizeof(uint32_t),
                                 sizeof(uint32_t), kSlots, &outer);
    ::close(pattern);
    LIBBPF_OPTS(bpf_map_create_opts, on_need, .map_flags = BPF_F_NO_PREALLOC);
    fds_.processes = bpf_map_create(BPF_MAP_TYPE_HASH, "processes", sizeof(uint32_t),
                                    sizeof(abi_process), 2, &on_need);
    auto opened = KernelMaps::Open(fds_, kMappingsMax, kSlots);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    maps_ = std::move(opened).value();
  }
  void TearDown() override {
    maps_.reset();
    for (const int fd : {fds_.mappings, fds_.tables, fds_.processes}) {
      if (fd >= 0) ::close(fd);
    }
  }

  // The first word of the table that the walker would find in a slot; empty when there is none.
  std::optional<uint32_t> SeenByWalker(uint32_t slot) {
    uint32_t id = 0;
    if (bpf_map_lookup_elem(fds_.tables, &slot, &id) != 0) return std::nullopt;
    const int fd = bpf_map_get_fd_by_id(id);
    if (fd < 0) return std::nullopt;
    std::vector<uint32_t> block(ABI_TABLE_BLOCK_WORDS);
    const uint32_t first = 0;
    const int status = bpf_map_lookup_elem(fd, &first, block.data());
    ::close(fd);
    return status == 0 ? std::optional(block[0]) : std::nullopt;
  }

  KernelMaps::Descriptors fds_;
  std::unique_ptr<KernelMaps> maps_;
};

TEST_F(KernelMapsTest, TablesAreSeenOncePublishedUntilRemoved) {
  const uint64_t empty_bytes = maps_->memory_bytes();
  ASSERT_TRUE(maps_->StoreTable(3, Table(2, 33)).ok());
  ASSERT_TRUE(maps_->StoreTable(4, Table(1, 44)).ok());
  EXPECT_EQ(SeenByWalker(3), std::nullopt);
  EXPECT_EQ(maps_->Table(3).size(), 2 * ABI_TABLE_BLOCK_WORDS) << "we can read it at once";
  ASSERT_TRUE(maps_->Publish().ok());
  EXPECT_EQ(SeenByWalker(3), 33u);
  EXPECT_EQ(SeenByWalker(4), 44u);
  EXPECT_EQ(SeenByWalker(5), std::nullopt);
  EXPECT_EQ(maps_->memory_bytes(), empty_bytes + 3 * ABI_TABLE_BLOCK_BYTES);
  maps_->RemoveTable(3);
  EXPECT_EQ(SeenByWalker(3), std::nullopt);
  EXPECT_TRUE(maps_->Table(3).empty());
  EXPECT_EQ(maps_->Table(4)[0], 44u);
  maps_->RemoveTable(4);
  EXPECT_EQ(maps_->memory_bytes(), empty_bytes);
}

TEST_F(KernelMapsTest, ANewTableInASlotReplacesTheOld) {
  ASSERT_TRUE(maps_->StoreTable(3, Table(1, 1)).ok());
  ASSERT_TRUE(maps_->StoreTable(3, Table(2, 2)).ok());
  ASSERT_TRUE(maps_->Publish().ok());
  EXPECT_EQ(SeenByWalker(3), 2u);
  ASSERT_TRUE(maps_->StoreTable(3, Table(1, 3)).ok());
  EXPECT_EQ(SeenByWalker(3), std::nullopt) << "none rather than one of another image";
  ASSERT_TRUE(maps_->Publish().ok());
  EXPECT_EQ(SeenByWalker(3), 3u);
}

TEST_F(KernelMapsTest, WhatIsRemovedBeforeItIsPublishedIsNeverSeen) {
  ASSERT_TRUE(maps_->StoreTable(3, Table(1, 1)).ok());
  maps_->RemoveTable(3);
  EXPECT_TRUE(maps_->Publish().ok());
  EXPECT_EQ(SeenByWalker(3), std::nullopt);
}

TEST_F(KernelMapsTest, MappingsAreSharedWithTheWalker) {
  ASSERT_EQ(maps_->mappings().size(), kMappingsMax);
  const uint32_t last = kMappingsMax - 1;
  maps_->mappings()[last].start = 0x7f0000001000;
  abi_mapping seen{};
  ASSERT_EQ(bpf_map_lookup_elem(fds_.mappings, &last, &seen), 0);
  EXPECT_EQ(seen.start, 0x7f0000001000u);
}

TEST_F(KernelMapsTest, AProcessBeyondTheLimitIsRefused) {
  const abi_process process{};
  EXPECT_TRUE(maps_->SetProcess(1, process).ok());
  EXPECT_TRUE(maps_->SetProcess(2, process).ok());
  EXPECT_FALSE(maps_->SetProcess(3, process).ok());
  maps_->RemoveProcess(1);
  EXPECT_TRUE(maps_->SetProcess(3, process).ok());
}

}  // namespace
}  // namespace vesta::agent::source
