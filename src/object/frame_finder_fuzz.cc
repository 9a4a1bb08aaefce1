// Rules of every register from call frame information that nobody vouches for, applied to a frame.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/object/elf_image_for_test.h"
#include "src/object/frame_finder.h"
#include "src/object/frame_rules.h"

namespace {

using namespace vesta::object;

constexpr uint64_t kCode = 0x10000;
constexpr uint64_t kFrameVaddr = 0x8000;

// Bytes that live as long as whoever reads them.
class OwningSource final : public vesta::base::ByteSource {
 public:
  explicit OwningSource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  vesta::base::Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    return vesta::base::MemorySource(bytes_).ReadAt(offset, out);
  }

 private:
  std::vector<std::byte> bytes_;
};

// A good file around foreign bytes: .eh_frame, plain or compressed .debug_frame, or .eh_frame_hdr
// with .eh_frame behind it.
std::vector<std::byte> FileAround(std::span<const uint8_t> bytes, uint8_t choice) {
  ElfImage image;
  const bool is_debug_frame = choice == 2 || choice == 3;
  const std::string_view names(is_debug_frame ? "\0.debug_frame" : "\0.eh_frame\0\0\0", 14);
  const uint64_t names_offset = image.AddText(names);
  const uint64_t frame = image.Add(std::vector<uint8_t>(bytes.begin(), bytes.end()));
  Elf64_Phdr code = Segment(PT_LOAD, PF_R | PF_X, names_offset, kCode, 0x4000);
  code.p_filesz = names.size();
  std::vector<Elf64_Phdr> segments = {code,
                                      Segment(PT_LOAD, PF_R, frame, kFrameVaddr, bytes.size())};
  if (choice == 4) segments.push_back(Segment(PT_GNU_EH_FRAME, PF_R, frame, kFrameVaddr, 64));
  image.SetSegments(segments);
  if (choice != 4) {
    Elf64_Shdr header = SectionHeader(1, SHT_PROGBITS, frame, bytes.size());
    header.sh_addr = is_debug_frame ? 0 : kFrameVaddr;
    if (choice == 3) header.sh_flags = SHF_COMPRESSED;
    image.SetSections({SectionHeader(0, SHT_NULL, 0, 0), header,
                       SectionHeader(0, SHT_STRTAB, names_offset, names.size())});
    image.header().e_shstrndx = 2;
  }
  return image.bytes();
}

}  // namespace

// The first byte chooses what the others are: a whole file, or a section in a good one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t choice = data[0] % 5;
  const std::span<const uint8_t> rest(data + 1, size - 1);
  std::vector<std::byte> file;
  if (choice == 0) {
    const auto bytes = std::as_bytes(rest);
    file.assign(bytes.begin(), bytes.end());
  } else {
    file = FileAround(rest, choice);
  }
  const auto source = std::make_shared<OwningSource>(std::move(file));
  const auto elf = ElfFile::Parse(*source);
  if (!elf.ok()) return 0;
  auto finder = FrameFinder::Open(*elf, source);
  if (!finder.ok()) return 0;
  FrameRegisters registers;
  for (uint64_t column = 0; column < 17; ++column) registers.Set(column, 0x7000 + 16 * column);
  const FrameMemory memory = [](uint64_t address, uint8_t) -> std::optional<uint64_t> {
    if (address < 0x6000 || address > 0x9000) return std::nullopt;
    return address + 8;
  };
  for (uint64_t offset = 0; offset < 0x400; offset += 7) {
    const auto found = (*finder)->RulesAt(kCode + offset);
    if (!found.has_value()) continue;
    FindCaller((*finder)->architecture(), found->rules, found->return_column, registers, memory);
  }
  return 0;
}
