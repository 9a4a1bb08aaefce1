// Compares the unwind tables of real files with what elfutils says, at every place where a rule
// begins and inside it. Both are evaluated on made-up registers and memory, so that two ways to
// write the same rule are equal.
#include <gelf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "src/object/unwind_table.h"
#include "test/support/table_oracle.h"

namespace vesta::object {
namespace {

using base::FileSource;
using base::MemorySource;

struct FileCase {
  const char* path;
  size_t stride;
  // Places, three per rule.
  uint64_t unsupported_max;
  uint64_t unanswered_max = 0;
  // What makecontext() lets a function return to is a root for us; its rule says otherwise.
  uint64_t added_roots_max = 0;
};

class UnwindTableOracleTest : public testing::TestWithParam<FileCase> {};

TEST_P(UnwindTableOracleTest, AgreesWithElfutilsAtEveryRule) {
  const auto opened = FileSource::Open(GetParam().path);
  if (!opened.ok()) GTEST_SKIP() << GetParam().path << " is not on this machine";
  const FileSource& source = **opened;
  const auto elf = ElfFile::Parse(source);
  ASSERT_TRUE(elf.ok());
  const auto table = BuildUnwindTable(*elf, source);
  ASSERT_TRUE(table.ok()) << table.error().message();
  EXPECT_EQ(table->stats.fde_damaged_count, 0u);
  EXPECT_EQ(table->stats.fde_count, test::FunctionStarts(*elf, source).size());

  elf_version(EV_CURRENT);
  Elf* const elf_of_oracle = elf_begin(source.fd(), ELF_C_READ_MMAP, nullptr);
  ASSERT_NE(elf_of_oracle, nullptr);
  const test::TableComparison comparison =
      test::CompareTable(elf_of_oracle, *elf, source, table->words, GetParam().stride);
  elf_end(elf_of_oracle);
  EXPECT_GT(comparison.place_count, table->stats.fde_count / GetParam().stride);
  const auto added_roots = comparison.kinds.find("ours root, elfutils frame");
  const uint64_t added_root_count = added_roots == comparison.kinds.end() ? 0 : added_roots->second;
  EXPECT_EQ(comparison.difference_count, added_root_count) << comparison.first_difference;
  EXPECT_LE(added_root_count, GetParam().added_roots_max) << comparison.first_difference;
  EXPECT_LE(comparison.unsupported_count, GetParam().unsupported_max);
  EXPECT_LE(comparison.unanswered_count, GetParam().unanswered_max);
  RecordProperty("places", static_cast<int>(comparison.place_count));
}

INSTANTIATE_TEST_SUITE_P(
    RealFiles, UnwindTableOracleTest,
    testing::Values(FileCase{"/lib/x86_64-linux-gnu/libc.so.6", 1, 12, 0, 3},
                    FileCase{"/lib64/ld-linux-x86-64.so.2", 1, 6},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 1, 0},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 1, 12},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libgcrypt.so.20", 1, 12, 24},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libm.so.6", 1, 0},
                    FileCase{"/usr/bin/python3", 1, 0}, FileCase{"/usr/bin/node", 8, 12},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", 16, 0}));

// Packages libc6-arm64-cross and libstdc++6-arm64-cross.
INSTANTIATE_TEST_SUITE_P(
    RealArm64Files, UnwindTableOracleTest,
    testing::Values(FileCase{"/usr/aarch64-linux-gnu/lib/libc.so.6", 1, 0},
                    FileCase{"/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", 1, 0},
                    FileCase{"/usr/aarch64-linux-gnu/lib/libstdc++.so.6", 1, 0},
                    FileCase{"/usr/aarch64-linux-gnu/lib/libm.so.6", 1, 0},
                    FileCase{"/usr/aarch64-linux-gnu/lib/libgcc_s.so.1", 1, 0}));

// The vDSO has no file: its bytes are read where the kernel mapped them.
std::vector<std::byte> ReadOwnVdso() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("[vdso]") == std::string::npos) continue;
    const uint64_t start = std::strtoull(line.c_str(), nullptr, 16);
    const uint64_t end = std::strtoull(line.c_str() + line.find('-') + 1, nullptr, 16);
    const auto* bytes = reinterpret_cast<const std::byte*>(start);
    return {bytes, bytes + (end - start)};
  }
  return {};
}

TEST(UnwindTableVdsoTest, AgreesWithElfutils) {
  auto bytes = ReadOwnVdso();
  if (bytes.empty()) GTEST_SKIP() << "this kernel maps no vDSO";
  const MemorySource source(bytes);
  const auto elf = ElfFile::Parse(source);
  ASSERT_TRUE(elf.ok()) << elf.error().message();
  const auto table = BuildUnwindTable(*elf, source);
  ASSERT_TRUE(table.ok()) << table.error().message();
  EXPECT_GT(table->stats.fde_count, 0u);
  elf_version(EV_CURRENT);
  Elf* const elf_of_oracle = elf_memory(reinterpret_cast<char*>(bytes.data()), bytes.size());
  ASSERT_NE(elf_of_oracle, nullptr);
  const test::TableComparison comparison =
      test::CompareTable(elf_of_oracle, *elf, source, table->words, 1);
  elf_end(elf_of_oracle);
  EXPECT_GE(comparison.place_count, table->stats.fde_count);
  EXPECT_EQ(comparison.difference_count, 0u) << comparison.first_difference;
  EXPECT_EQ(comparison.unsupported_count + comparison.unanswered_count, 0u);
}

}  // namespace
}  // namespace vesta::object
