#include "src/agent/process/maps_parser.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <vector>

namespace vesta::agent::process {
namespace {

std::vector<MapsEntry> ParseAll(std::string_view text, uint64_t* damaged = nullptr) {
  MapsParser parser(text);
  std::vector<MapsEntry> entries;
  while (auto entry = parser.Next()) entries.push_back(*entry);
  if (damaged != nullptr) *damaged = parser.damaged_line_count();
  return entries;
}

TEST(MapsParserTest, ReadsEveryFieldOfAFileMapping) {
  const auto entries =
      ParseAll("7fd860000000-7fd860155000 r-xp 00026000 fd:1e 4242 /usr/lib/libc.so.6\n");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].start, 0x7fd860000000u);
  EXPECT_EQ(entries[0].end, 0x7fd860155000u);
  EXPECT_EQ(entries[0].file_offset, 0x26000u);
  EXPECT_EQ(entries[0].device, makedev(0xfd, 0x1e));
  EXPECT_EQ(entries[0].inode, 4242u);
  EXPECT_EQ(entries[0].path, "/usr/lib/libc.so.6");
  EXPECT_FALSE(entries[0].deleted);
}

TEST(MapsParserTest, KeepsOnlyExecutableMappings) {
  const auto entries = ParseAll(
      "1000-2000 r--p 00000000 08:01 7                          /bin/a\n"
      "2000-3000 r-xp 00001000 08:01 7                          /bin/a\n"
      "3000-4000 rw-p 00000000 00:00 0                          [heap]\n"
      "5000-6000 rwxp 00000000 00:00 0 \n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].start, 0x2000u);
  EXPECT_EQ(entries[1].start, 0x5000u);
  EXPECT_EQ(entries[1].kind, MappingKind::kAnonymous);
}

TEST(MapsParserTest, TellsFilesFromGeneratedCodeByName) {
  struct Case {
    const char* written;
    const char* path;
    bool deleted;
    MappingKind kind;
  };
  const Case cases[] = {
      {"/a b  c", "/a b  c", false, MappingKind::kFile},
      {"/new\\012line", "/new\nline", false, MappingKind::kFile},
      {"/back\\slash", "/back\\slash", false, MappingKind::kFile},
      {"/usr/bin/x (deleted)", "/usr/bin/x", true, MappingKind::kFile},
      {"/memfd:jit code (deleted)", "/memfd:jit code", true, MappingKind::kFile},
      {"/dev/zero (deleted)", "/dev/zero", true, MappingKind::kAnonymous},
      {"/SYSV00000000 (deleted)", "/SYSV00000000", true, MappingKind::kAnonymous},
      {"/anon_hugepage (deleted)", "/anon_hugepage", true, MappingKind::kAnonymous},
      {"anon_inode:[io_uring]", "anon_inode:[io_uring]", false, MappingKind::kAnonymous},
      {"//anon", "//anon", false, MappingKind::kAnonymous},
      {"[anon:v8 code]", "[anon:v8 code]", false, MappingKind::kAnonymous},
      {"[uprobes]", "[uprobes]", false, MappingKind::kAnonymous},
      {"[stack]", "[stack]", false, MappingKind::kAnonymous},
      {"", "", false, MappingKind::kAnonymous},
      {"[vdso]", "[vdso]", false, MappingKind::kVdso},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.written);
    const auto entries =
        ParseAll(std::string("1000-2000 r-xp 00000000 08:01 7      ") + c.written + "\n");
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].path, c.path);
    EXPECT_EQ(entries[0].deleted, c.deleted);
    EXPECT_EQ(entries[0].kind, c.kind);
  }
}

TEST(MapsParserTest, SkipsAndCountsDamagedLines) {
  const char* const damaged_lines[] = {
      "x",
      "1000",
      "1000-",
      "1000-2000",
      "1000-2000 r-x",
      "2000-1000 r-xp 00000000 08:01 7 /a",
      "1000-1000 r-xp 00000000 08:01 7 /a",
      "1000-2000 r-xp zz 08:01 7 /a",
      "1000-2000 r-xp 00000000 08 7 /a",
      "1000-2000 r-xp 00000000 08:01",
      "11112222333344445-2000 r-xp 00000000 08:01 7 /a",
      "1000-2000 r-xp 00000000 08:01 99999999999999999999 /a",
  };
  for (const char* line : damaged_lines) {
    SCOPED_TRACE(line);
    uint64_t damaged = 0;
    const auto entries =
        ParseAll(std::string(line) + "\n1000-2000 r-xp 00000000 08:01 7 /good\n", &damaged);
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].path, "/good");
    EXPECT_EQ(damaged, 1u);
  }
}

TEST(MapsParserTest, KnowsTheFileThatLiesRightBelowAMapping) {
  MapsParser parser(
      "1000-2000 r--p 00000000 08:01 7  /bin/a\n"
      "2000-4000 r-xp 00000000 00:00 0 \n"
      "4000-5000 rw-p 00000000 00:00 0 \n"
      "5000-6000 r-xp 00000000 00:00 0 \n"
      "7000-8000 r-xp 00000000 00:00 0 \n"
      "8000-9000 r-xp 00000000 00:00 0  [vdso]\n"
      "9000-a000 r-xp 00003000 08:01 9  /lib/b (deleted)\n"
      "a000-b000 r-xp 00000000 00:00 0 \n");
  EXPECT_FALSE(parser.FileBelow().has_value());
  for (const uint64_t start : {0x2000u, 0x5000u}) {
    ASSERT_EQ(parser.Next()->start, start);
    ASSERT_TRUE(parser.FileBelow().has_value());
    EXPECT_EQ(parser.FileBelow()->path, "/bin/a");
    EXPECT_EQ(parser.FileBelow()->start, 0x1000u);
    EXPECT_EQ(parser.FileBelow()->inode, 7u);
  }
  for (const uint64_t start : {0x7000u, 0x8000u, 0x9000u}) {
    ASSERT_EQ(parser.Next()->start, start);
    EXPECT_FALSE(parser.FileBelow().has_value()) << "there is a gap";
  }
  ASSERT_EQ(parser.Next()->start, 0xa000u);
  EXPECT_EQ(parser.FileBelow()->path, "/lib/b");
  EXPECT_EQ(parser.FileBelow()->file_offset, 0x3000u);
}

TEST(MapsParserTest, EveryTruncationGivesAtMostTheWholeLines) {
  const std::string text =
      "1000-2000 r-xp 00001000 08:01 7  /bin/a\n"
      "3000-4000 r-xp 00000000 08:01 8  /bin/b (deleted)\n";
  const auto whole = ParseAll(text);
  for (size_t length = 0; length < text.size(); ++length) {
    const auto entries = ParseAll(std::string_view(text).substr(0, length));
    ASSERT_LE(entries.size(), whole.size()) << length;
    for (size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(entries[i].start, whole[i].start);
  }
}

}  // namespace
}  // namespace vesta::agent::process
