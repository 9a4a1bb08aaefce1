#include "src/object/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "src/object/elf_image_for_test.h"

namespace vesta::object {
namespace {

using base::ErrorCode;
using base::FileSource;
using base::MemorySource;

constexpr std::string_view kGnuNote("\x04\0\0\0\x03\0\0\0\x03\0\0\0GNU\0\xab\x01\xcd\0", 20);
constexpr std::string_view kGoNote("\x04\0\0\0\x05\0\0\0\x04\0\0\0Go\0\0a/b-c\0\0\0", 24);
constexpr std::string_view kNames("\0.text\0.shstrtab\0", 17);

std::vector<std::byte> SmallElf() {
  ElfImage image;
  const uint64_t note = image.AddText(kGnuNote);
  image.AddText(kGoNote);
  const uint64_t names = image.AddText(kNames);
  const uint64_t code = image.AddText("code");
  image.SetSegments(
      {Segment(PT_LOAD, PF_R, 0, 0, 100), Segment(PT_LOAD, PF_R | PF_X, code, 0x1000 + code, 4),
       Segment(PT_NOTE, PF_R, note, note, kGnuNote.size() + kGoNote.size()),
       Segment(PT_INTERP, PF_R, code, code, 1), Segment(PT_GNU_EH_FRAME, PF_R, 8, 0x20, 12)});
  image.SetSections({SectionHeader(0, SHT_NULL, 0, 0), SectionHeader(1, SHT_PROGBITS, code, 4),
                     SectionHeader(7, SHT_STRTAB, names, kNames.size())});
  image.header().e_shstrndx = 2;
  return image.bytes();
}

TEST(ElfFileTest, ReadsHeadersSegmentsSectionsAndNotes) {
  const auto bytes = SmallElf();
  const auto elf = ElfFile::Parse(MemorySource(bytes));
  ASSERT_TRUE(elf.ok()) << elf.error().message();
  EXPECT_EQ(elf->machine(), Machine::kX86_64);
  EXPECT_EQ(elf->type(), ET_DYN);
  EXPECT_EQ(elf->entry_vaddr(), 0x1010u);
  EXPECT_TRUE(elf->has_interpreter());
  ASSERT_EQ(elf->load_segments().size(), 2u);
  EXPECT_TRUE(elf->load_segments()[1].executable);
  EXPECT_EQ(elf->gnu_build_id(), "ab01cd");
  EXPECT_EQ(elf->go_build_id(), "a/b-c");
  ASSERT_NE(elf->FindSection(".text"), nullptr);
  EXPECT_EQ(elf->FindSection(".text"), &elf->sections()[1]);
  EXPECT_EQ(elf->FindSection(".text")->size_bytes, 4u);
  EXPECT_EQ(elf->FindSection(".data"), nullptr);
  ASSERT_TRUE(elf->eh_frame_header().has_value());
  EXPECT_EQ(elf->eh_frame_header()->vaddr, 0x20u);
  EXPECT_EQ(*ImageIdentity(*elf, MemorySource(bytes)), "gnu:ab01cd");
}

TEST(ElfFileTest, SegmentsServeWithoutSectionHeaders) {
  auto bytes = SmallElf();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (const uint64_t dangling : {uint64_t{0}, uint64_t{1} << 40}) {
    header.e_shoff = dangling;
    std::memcpy(bytes.data(), &header, sizeof(header));
    const auto elf = ElfFile::Parse(MemorySource(bytes));
    ASSERT_TRUE(elf.ok());
    EXPECT_TRUE(elf->sections().empty());
    EXPECT_EQ(elf->gnu_build_id(), "ab01cd");
  }
}

TEST(ElfFileTest, ReadsExtendedNumbersFromSectionHeaderZero) {
  ElfImage image;
  const uint64_t names = image.AddText(kNames);
  image.SetSegments({Segment(PT_LOAD, PF_R | PF_X, 0, 0, 64)});
  Elf64_Shdr zero = SectionHeader(0, SHT_NULL, 0, 3);
  zero.sh_info = 1;
  zero.sh_link = 2;
  image.SetSections({zero, SectionHeader(1, SHT_PROGBITS, 0, 4),
                     SectionHeader(7, SHT_STRTAB, names, kNames.size())});
  image.header().e_shnum = 0;
  image.header().e_phnum = PN_XNUM;
  image.header().e_shstrndx = SHN_XINDEX;
  const auto elf = ElfFile::Parse(MemorySource(image.bytes()));
  ASSERT_TRUE(elf.ok());
  EXPECT_EQ(elf->load_segments().size(), 1u);
  EXPECT_NE(elf->FindSection(".shstrtab"), nullptr);
}

TEST(ElfFileTest, SectionOutsideTheFileKeepsItsNumberButHasNoBytes) {
  ElfImage image;
  const uint64_t names = image.AddText(kNames);
  image.SetSections({SectionHeader(0, SHT_NULL, 0, 0),
                     SectionHeader(1, SHT_PROGBITS, 64, ~0ull - 8),
                     SectionHeader(7, SHT_STRTAB, names, kNames.size())});
  image.header().e_shstrndx = 2;
  const auto elf = ElfFile::Parse(MemorySource(image.bytes()));
  ASSERT_TRUE(elf.ok());
  ASSERT_EQ(elf->sections().size(), 3u);
  EXPECT_EQ(elf->FindSection(".text"), &elf->sections()[1]);
  EXPECT_EQ(elf->sections()[1].size_bytes, 0u);
}

TEST(ElfFileTest, NamesInAHugeSharedTableAreReadOneByOne) {
  ElfImage image;
  std::string table(200 << 10, 'x');
  table.replace(100 << 10, 6, std::string_view("\0.text", 6));
  table[(100 << 10) + 6] = '\0';
  const uint64_t names = image.AddText(table);
  image.SetSections({SectionHeader(0, SHT_NULL, 0, 0),
                     SectionHeader((100 << 10) + 1, SHT_PROGBITS, 0, 4),
                     SectionHeader(5, SHT_STRTAB, names, table.size())});
  image.header().e_shstrndx = 2;
  const auto elf = ElfFile::Parse(MemorySource(image.bytes()));
  ASSERT_TRUE(elf.ok());
  EXPECT_NE(elf->FindSection(".text"), nullptr);
  EXPECT_EQ(elf->sections()[2].name.size(), 64u);
}

TEST(ElfFileTest, RefusesWhatItCannotServe) {
  const auto good = SmallElf();
  const struct {
    size_t position;
    uint8_t value;
    ErrorCode code;
  } cases[] = {{0, 'X', ErrorCode::kCorrupt},
               {EI_CLASS, ELFCLASS32, ErrorCode::kUnsupported},
               {EI_DATA, ELFDATA2MSB, ErrorCode::kUnsupported},
               {offsetof(Elf64_Ehdr, e_phentsize), 32, ErrorCode::kCorrupt},
               {offsetof(Elf64_Ehdr, e_phoff) + 6, 1, ErrorCode::kCorrupt}};
  for (const auto& c : cases) {
    auto bytes = good;
    bytes[c.position] = static_cast<std::byte>(c.value);
    const auto elf = ElfFile::Parse(MemorySource(bytes));
    ASSERT_FALSE(elf.ok()) << c.position;
    EXPECT_EQ(elf.error().code(), c.code) << c.position;
  }
}

TEST(ElfFileTest, EveryTruncationIsAnErrorOrAFileWithinItsBounds) {
  const auto good = SmallElf();
  for (size_t size = 0; size < good.size(); ++size) {
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
    const auto elf = ElfFile::Parse(MemorySource(cut));
    if (!elf.ok()) continue;
    for (const auto& segment : elf->load_segments()) {
      if (segment.file_size_bytes == 0) continue;
      EXPECT_LE(segment.file_offset + segment.file_size_bytes, size);
    }
    for (const auto& section : elf->sections()) {
      EXPECT_LE(section.size_bytes, size);
    }
  }
}

TEST(ElfFileTest, EveryFlippedByteIsSurvived) {
  const auto good = SmallElf();
  for (size_t position = 0; position < good.size(); ++position) {
    auto bytes = good;
    bytes[position] ^= std::byte{0xff};
    const MemorySource source(bytes);
    const auto elf = ElfFile::Parse(source);
    if (!elf.ok()) continue;
    EXPECT_TRUE(ImageIdentity(*elf, source).ok());
  }
}

TEST(ElfFileTest, MapsBetweenAddressesAndOffsets) {
  ElfImage image;
  image.Add(std::vector<char>(0x5000));
  // As lld lays it out: the code begins in the file page in which the read-only part ends.
  image.SetSegments({Segment(PT_LOAD, PF_R, 0, 0, 0x1800),
                     Segment(PT_LOAD, PF_R | PF_X, 0x1800, 0x2800, 0x1000),
                     Segment(PT_LOAD, PF_R | PF_W, 0x2800, 0x4800, 0x100)});
  const auto elf = ElfFile::Parse(MemorySource(image.bytes()));
  ASSERT_TRUE(elf.ok());
  EXPECT_EQ(elf->FileOffsetOf(0x1700), 0x1700u);
  EXPECT_EQ(elf->FileOffsetOf(0x2800), 0x1800u);
  EXPECT_FALSE(elf->FileOffsetOf(0x2000).has_value());
  EXPECT_FALSE(elf->FileOffsetOf(0x4900).has_value());
  EXPECT_EQ(elf->VaddrOf(0x0), 0x0u);
  EXPECT_EQ(elf->VaddrOf(0x1000), 0x2000u);
  EXPECT_EQ(elf->VaddrOf(0x2000), 0x3000u);
  EXPECT_FALSE(elf->VaddrOf(0x9000).has_value());
}

TEST(ElfFileTest, IdentityWithoutBuildIdFollowsSizeHeadAndTail) {
  const auto identity_of = [](std::string_view tail) {
    ElfImage image;
    image.Add(std::vector<char>(300 << 10));
    image.AddText(tail);
    const MemorySource source(image.bytes());
    return *ImageIdentity(*ElfFile::Parse(source), source);
  };
  EXPECT_EQ(identity_of("a").substr(0, 5), "hash:");
  EXPECT_EQ(identity_of("a").size(), 5u + 32u);
  EXPECT_EQ(identity_of("a"), identity_of("a"));
  EXPECT_NE(identity_of("a"), identity_of("b"));
  EXPECT_NE(identity_of("a"), identity_of(std::string_view("\0a", 2)));
}

TEST(ElfFileTest, ReadsThisProgramAndItsLibc) {
  const auto self = FileSource::Open("/proc/self/exe");
  ASSERT_TRUE(self.ok());
  const auto elf = ElfFile::Parse(**self);
  ASSERT_TRUE(elf.ok()) << elf.error().message();
  EXPECT_NE(elf->FindSection(".eh_frame"), nullptr);
  EXPECT_TRUE(elf->has_interpreter());
  EXPECT_TRUE(elf->FileOffsetOf(elf->entry_vaddr()).has_value());
}

}  // namespace
}  // namespace vesta::object
