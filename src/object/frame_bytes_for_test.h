// Call frame information for tests, put together by hand, and a small file around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/object/elf_image_for_test.h"

namespace vesta::object {

inline constexpr uint64_t kCode = 0x10000;      // where the code of every test file lies
inline constexpr uint64_t kCodeBytes = 0x4000;  // and how much there is
inline constexpr uint64_t kFrameVaddr = 0x8000;

using Bytes = std::vector<uint8_t>;

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline Bytes Le(uint64_t value, size_t size) {
  Bytes bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  return bytes;
}

inline Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

// Builds the bytes of a section of call frame information.
class FrameBytes {
 public:
  struct CommonOptions {
    uint8_t version = 1;
    std::string augmentation = "zR";
    Bytes augmentation_bytes = {0x1b};  // pcrel sdata4
    // CFA = rsp + 8, return address at CFA - 8, as every compiler begins.
    Bytes instructions = {0x0c, 7, 8, 0x90, 1};
    bool is_64_bit = false;
  };

  // Returns the offset of the entry.
  size_t AddCommon() { return AddCommon(CommonOptions{}); }
  size_t AddCommon(const CommonOptions& options) {
    Bytes body = {options.version};
    body = body + Text(options.augmentation) + Bytes{0};
    if (options.version == 4) body = body + Bytes{8, 0};
    body = body + Bytes{1, 0x78, 16};  // code alignment 1, data alignment -8, return column
    if (!options.augmentation.empty() && options.augmentation[0] == 'z') {
      body.push_back(static_cast<uint8_t>(options.augmentation_bytes.size()));
      body = body + options.augmentation_bytes;
    }
    last_common_ = AddEntry(Le(0, 4), body + options.instructions, options.is_64_bit);
    return last_common_;
  }

  // An FDE of the last CIE, which must have the augmentation "zR..." with pcrel sdata4.
  void AddFde(uint64_t start, uint64_t size, const Bytes& instructions) {
    AddFdeOf(last_common_, start, size, instructions);
  }
  void AddFdeOf(size_t common, uint64_t start, uint64_t size, const Bytes& instructions) {
    const size_t id_offset = bytes_.size() + 4;
    const uint64_t place = kFrameVaddr + id_offset + 4;
    AddEntry(Le(id_offset - common, 4),
             Le(start - place, 4) + Le(size, 4) + Bytes{0} + instructions, false);
  }
  size_t AddEntry(const Bytes& id, const Bytes& body, bool is_64_bit) {
    const size_t offset = bytes_.size();
    const uint64_t length = id.size() + body.size();
    bytes_ = bytes_ + (is_64_bit ? Le(0xffffffff, 4) + Le(length, 8) : Le(length, 4)) + id + body;
    return offset;
  }
  void AddRaw(const Bytes& bytes) { bytes_ = bytes_ + bytes; }
  size_t size() const { return bytes_.size(); }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  size_t last_common_ = 0;
};

// One entry of .debug_frame.
struct DebugEntry {
  uint64_t start = 0;
  uint64_t size = 0;
  Bytes instructions;
};
inline Bytes DebugFrameOf(const std::vector<DebugEntry>& entries) {
  FrameBytes frames;
  frames.AddEntry(Le(~uint64_t{0}, 4), Bytes{4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1}, false);
  for (const DebugEntry& entry : entries) {
    frames.AddEntry(Le(0, 4), Le(entry.start, 8) + Le(entry.size, 8) + entry.instructions, false);
  }
  return frames.bytes();
}

struct FileOptions {
  std::string section_name = ".eh_frame";
  uint64_t section_flags = 0;
  Bytes debug_frame;  // beside the section; none when empty
  uint64_t debug_frame_flags = 0;
  bool has_sections = true;
  bool has_header = false;  // .eh_frame_hdr
  bool has_interpreter = true;
  uint64_t entry_vaddr = 0;
  Bytes code;
  uint16_t machine = EM_X86_64;
};

inline std::vector<std::byte> FileWith(const Bytes& section, const FileOptions& options = {}) {
  ElfImage image;
  image.header().e_machine = options.machine;
  image.header().e_entry = options.entry_vaddr;
  const uint64_t code_offset = image.Add(options.code.empty() ? Bytes(16) : options.code);
  const uint64_t names = image.AddText(std::string_view("\0", 1));
  image.AddText(options.section_name + std::string(1, '\0'));
  image.AddText(std::string_view(".debug_frame", 13));
  const uint64_t debug_frame = image.Add(options.debug_frame);
  // .eh_frame_hdr lies 16 bytes before the section: version, pcrel sdata4, omitted, omitted.
  const uint64_t header = image.Add(Bytes{1, 0x1b, 0xff, 0xff} + Le(12, 4) + Bytes(8));
  const uint64_t frame = image.Add(section);
  Elf64_Phdr code = Segment(PT_LOAD, PF_R | PF_X, code_offset, kCode, kCodeBytes);
  code.p_filesz = options.code.empty() ? 16 : options.code.size();
  std::vector<Elf64_Phdr> segments = {
      code, Segment(PT_LOAD, PF_R, header, kFrameVaddr - 16, 16 + section.size())};
  if (options.has_header) {
    segments.push_back(Segment(PT_GNU_EH_FRAME, PF_R, header, kFrameVaddr - 16, 16));
  }
  if (options.has_interpreter) segments.push_back(Segment(PT_INTERP, PF_R, 0, 0, 4));
  image.SetSegments(segments);
  if (options.has_sections) {
    Elf64_Shdr shdr = SectionHeader(1, SHT_PROGBITS, frame, section.size());
    shdr.sh_addr = kFrameVaddr;
    shdr.sh_flags = options.section_flags;
    const size_t second_name = options.section_name.size() + 2;
    std::vector<Elf64_Shdr> sections = {SectionHeader(0, SHT_NULL, 0, 0), shdr,
                                        SectionHeader(0, SHT_STRTAB, names, second_name + 13)};
    if (!options.debug_frame.empty()) {
      sections.push_back(SectionHeader(static_cast<uint32_t>(second_name), SHT_PROGBITS,
                                       debug_frame, options.debug_frame.size()));
      sections.back().sh_flags = options.debug_frame_flags;
    }
    image.SetSections(sections);
    image.header().e_shstrndx = 2;
  }
  return image.bytes();
}

}  // namespace vesta::object
