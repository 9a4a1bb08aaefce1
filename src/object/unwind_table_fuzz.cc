#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "src/base/check.h"
#include "src/object/elf_image_for_test.h"
#include "src/object/unwind_table.h"

namespace {

using vesta::base::MemorySource;
using vesta::object::ElfFile;

constexpr uint64_t kCode = 0x10000;
constexpr uint64_t kFrameVaddr = 0x8000;

// A good file around foreign call frame information, so that the fuzzer does not spend its time on
// the headers.
std::vector<std::byte> FileAround(std::span<const uint8_t> section, bool is_debug_frame,
                                  bool is_arm64) {
  using namespace vesta::object;
  ElfImage image;
  if (is_arm64) image.header().e_machine = EM_AARCH64;
  const std::string_view names(is_debug_frame ? "\0.debug_frame" : "\0.eh_frame\0\0\0", 14);
  const uint64_t names_offset = image.AddText(names);
  const uint64_t frame = image.Add(std::vector<uint8_t>(section.begin(), section.end()));
  Elf64_Phdr code = Segment(PT_LOAD, PF_R | PF_X, names_offset, kCode, 0x4000);
  code.p_filesz = names.size();
  image.SetSegments({code, Segment(PT_LOAD, PF_R, frame, kFrameVaddr, section.size())});
  Elf64_Shdr header = SectionHeader(1, SHT_PROGBITS, frame, section.size());
  header.sh_addr = kFrameVaddr;
  image.SetSections({SectionHeader(0, SHT_NULL, 0, 0), header,
                     SectionHeader(0, SHT_STRTAB, names_offset, names.size())});
  image.header().e_shstrndx = 2;
  return image.bytes();
}

void CheckTable(const std::vector<uint32_t>& words) {
  if (words.empty()) return;
  CHECK(words.size() % ABI_TABLE_BLOCK_WORDS == 0);
  abi_table_header header;
  std::memcpy(&header, words.data(), sizeof(header));
  CHECK(header.magic == ABI_TABLE_MAGIC);
  CHECK(header.rows_word == header.index_word + header.page_count + 1);
  CHECK(header.rules_word == header.rows_word + header.row_count);
  CHECK(header.rules_word + header.rule_count * ABI_RULE_WORDS <= words.size());
  const auto* index = words.data() + header.index_word;
  const auto* rows = words.data() + header.rows_word;
  CHECK(index[0] == 0 && index[header.page_count] == header.row_count);
  constexpr uint32_t kAddressMask = (1u << ABI_ROW_ADDRESS_BITS) - 1;
  for (uint32_t page = 0; page < header.page_count; ++page) {
    CHECK(index[page] <= index[page + 1]);
    for (uint32_t row = index[page] + 1; row < index[page + 1]; ++row) {
      CHECK((rows[row - 1] & kAddressMask) < (rows[row] & kAddressMask));
    }
    const uint64_t address = (uint64_t{header.first_page} + page) << ABI_TABLE_PAGE_SHIFT;
    const auto found = vesta::object::LookupRow(words, address + kAddressMask);
    CHECK(found.has_value() == (index[page + 1] > 0));
    CHECK(!found.has_value() || found->kind != ABI_ROW_RULE || found->rule.has_value());
  }
}

}  // namespace

// The first byte chooses: a whole file, or a section in a good one of either machine, with or
// without overrides.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t choice = data[0];
  const std::span<const uint8_t> rest(data + 1, size - 1);
  std::vector<std::byte> file;
  if (choice % 4 == 0) {
    const auto bytes = std::as_bytes(rest);
    file.assign(bytes.begin(), bytes.end());
  } else {
    file = FileAround(rest, choice % 4 == 2, (choice & 4) != 0);
  }
  const MemorySource source(file);
  const auto elf = ElfFile::Parse(source);
  if (!elf.ok()) return 0;
  std::vector<vesta::object::RowRange> overrides;
  if (choice % 4 == 3) {
    overrides = {{kCode + 0x10, kCode + 0x20, 1u << ABI_ROW_OPERAND_SHIFT},
                 {kCode + 0x18, kCode + 0x1100, 2u << ABI_ROW_OPERAND_SHIFT}};
  }
  const auto table = vesta::object::BuildUnwindTable(*elf, source, overrides);
  if (table.ok()) CheckTable(table->words);
  return 0;
}
