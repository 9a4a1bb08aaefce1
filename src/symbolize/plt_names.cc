#include "src/symbolize/plt_names.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "src/object/cached_reader.h"
#include "src/symbolize/symbol_scan.h"
#include "src/symbolize/symbol_table.h"

namespace vesta::symbolize {
namespace {

using base::ByteSource;
using base::Result;
using object::ElfFile;
using object::Section;

constexpr uint32_t kSectionRela = 4;
constexpr uint64_t kFlagExecutable = 4;
// Relocations that fill a slot. Of the last one the addend is the function that chooses.
struct SlotRelocations {
  uint32_t glob_dat;
  uint32_t jump_slot;
  uint32_t i_relative;
};
constexpr SlotRelocations kX86_64Relocations = {6, 7, 37};
constexpr SlotRelocations kArm64Relocations = {1025, 1026, 1032};
constexpr size_t kRelocationsPerChunk = 2048;
constexpr size_t kStubBytesMax = 16;

struct Relocation {
  uint64_t place = 0;
  uint64_t info = 0;
  uint64_t addend = 0;
};

// A slot of the global offset table that some address asks for.
struct Slot {
  uint64_t vaddr = 0;
  size_t address_index = 0;
};

const Section* PltSectionOf(const ElfFile& elf, uint64_t vaddr) {
  for (const Section& section : elf.sections()) {
    if ((section.flags & kFlagExecutable) != 0 && vaddr >= section.vaddr &&
        vaddr - section.vaddr < section.size_bytes &&
        (section.name.starts_with(".plt") || section.name == ".iplt")) {
      return &section;
    }
  }
  return nullptr;
}

bool IsJump(std::span<const std::byte> code, size_t at) {
  return at + 6 <= code.size() && code[at] == std::byte{0xff} && code[at + 1] == std::byte{0x25};
}

// Linkers leave the size of a stub out for static programs.
uint64_t StubBytes(const ElfFile& elf, const ByteSource& source, const Section& section) {
  if (section.entry_size_bytes == 8) return 8;
  if (section.entry_size_bytes != 0 || section.size_bytes < kStubBytesMax) return kStubBytesMax;
  const auto offset = elf.FileOffsetOf(section.vaddr);
  if (!offset) return kStubBytesMax;
  const auto code = source.Read(*offset, kStubBytesMax);
  return code.ok() && IsJump(*code, 0) && IsJump(*code, 8) ? 8 : kStubBytesMax;
}

// The slot that the arm64 stub around the address loads its target from: `adrp x16, page; ldr x17,
// [x16, n]`, between a landing pad, the jump, and padding, where there are any.
std::optional<uint64_t> SlotOfArm64(const ElfFile& elf, const ByteSource& source,
                                    const Section& section, uint64_t vaddr) {
  constexpr uint64_t kInstructionBytes = 4;
  constexpr uint64_t kStubInstructionsMax = 6;
  constexpr uint32_t kLandingPad = 0xd503245f;  // bti c
  uint64_t at = (vaddr - section.vaddr) / kInstructionBytes;
  for (uint64_t back = 0; back < kStubInstructionsMax; ++back) {
    const uint64_t place = section.vaddr + at * kInstructionBytes;
    const auto offset = elf.FileOffsetOf(place);
    if (!offset) return std::nullopt;
    const auto code = source.ReadObject<std::array<uint32_t, 2>>(*offset);
    if (!code.ok()) return std::nullopt;
    const auto [first, second] = *code;
    if (first == kLandingPad && back == 0) {
      ++at;
      continue;
    }
    if ((first & 0x9f00001f) == 0x90000010 && (second & 0xffc003ff) == 0xf9400211) {
      const uint32_t pages = (first >> 5 & 0x7ffff) << 2 | (first >> 29 & 3);
      const auto distance = static_cast<int64_t>(uint64_t{pages} << 43) >> 31;  // 21 bits, signed
      return (place & ~uint64_t{0xfff}) + static_cast<uint64_t>(distance) +
             (second >> 10 & 0xfff) * 8;
    }
    if (at-- == 0) return std::nullopt;
  }
  return std::nullopt;
}

// The slot that the x86-64 stub around the address jumps through: the operand of `jmp *n(%rip)`.
std::optional<uint64_t> SlotOfX86_64(const ElfFile& elf, const ByteSource& source,
                                     const Section& section, uint64_t vaddr) {
  const uint64_t stub_bytes = StubBytes(elf, source, section);
  const uint64_t stub = section.vaddr + (vaddr - section.vaddr) / stub_bytes * stub_bytes;
  const auto offset = elf.FileOffsetOf(stub);
  if (!offset) return std::nullopt;
  const auto code = source.Read(*offset, stub_bytes);
  if (!code.ok()) return std::nullopt;
  for (size_t at = 0; at < code->size(); ++at) {
    if (!IsJump(*code, at)) continue;
    int32_t distance;
    std::memcpy(&distance, code->data() + at + 2, sizeof(distance));
    return stub + at + 6 + static_cast<uint64_t>(int64_t{distance});
  }
  return std::nullopt;
}

// Name of one symbol of a table; empty when anything is out of place.
std::string SymbolName(const ElfFile& elf, const ByteSource& source, const Section& relocations,
                       uint64_t symbol) {
  if (relocations.link >= elf.sections().size()) return {};
  const Section& symbols = elf.sections()[relocations.link];
  const Section* names = StringTableOf(elf, symbols);
  if (names == nullptr || symbol >= symbols.size_bytes / sizeof(SymbolEntry)) return {};
  const auto entry =
      source.ReadObject<SymbolEntry>(symbols.file_offset + symbol * sizeof(SymbolEntry));
  if (!entry.ok() || entry->name == 0) return {};
  return object::CachedReader(source, names->file_offset, names->size_bytes)
      .ReadCString(entry->name, kSymbolNameBytesMax);
}

// A function chosen at load time goes by the name of the function that chooses.
Result<void> NameChosenFunctions(const ElfFile& elf, const ByteSource& source,
                                 std::vector<Slot> choosers, std::vector<std::string>& names) {
  std::sort(choosers.begin(), choosers.end(),
            [](const Slot& a, const Slot& b) { return a.vaddr < b.vaddr; });
  std::vector<uint64_t> addresses;
  for (const Slot& chooser : choosers) {
    if (addresses.empty() || addresses.back() != chooser.vaddr) addresses.push_back(chooser.vaddr);
  }
  ASSIGN_OR_RETURN(const auto found, ScanSymbolNames(elf, source, addresses));
  for (const Slot& chooser : choosers) {
    const auto at = std::lower_bound(addresses.begin(), addresses.end(), chooser.vaddr);
    names[chooser.address_index] = found[static_cast<size_t>(at - addresses.begin())];
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> NamePltStubs(const ElfFile& elf, const ByteSource& source,
                                              std::span<const uint64_t> addresses) {
  std::vector<std::string> names(addresses.size());
  const bool is_arm64 = elf.machine() == object::Machine::kArm64;
  if (!is_arm64 && elf.machine() != object::Machine::kX86_64) return names;
  const SlotRelocations types = is_arm64 ? kArm64Relocations : kX86_64Relocations;
  std::vector<Slot> slots;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Section* section = PltSectionOf(elf, addresses[i]);
    if (section == nullptr) continue;
    const auto slot = is_arm64 ? SlotOfArm64(elf, source, *section, addresses[i])
                               : SlotOfX86_64(elf, source, *section, addresses[i]);
    if (slot) slots.push_back({*slot, i});
  }
  if (slots.empty()) return names;
  const auto by_vaddr = [](const Slot& a, const Slot& b) { return a.vaddr < b.vaddr; };
  std::sort(slots.begin(), slots.end(), by_vaddr);
  std::vector<Slot> choosers;
  std::vector<Relocation> chunk;
  for (const Section& section : elf.sections()) {
    if (section.type != kSectionRela) continue;
    const uint64_t count = section.size_bytes / sizeof(Relocation);
    for (uint64_t done = 0; done < count; done += chunk.size()) {
      chunk.resize(static_cast<size_t>(std::min<uint64_t>(count - done, kRelocationsPerChunk)));
      RETURN_IF_ERROR(source.ReadAt(section.file_offset + done * sizeof(Relocation),
                                    std::as_writable_bytes(std::span(chunk))));
      for (const Relocation& relocation : chunk) {
        const auto type = static_cast<uint32_t>(relocation.info);
        if (type != types.glob_dat && type != types.jump_slot && type != types.i_relative) continue;
        const auto [first, last] =
            std::equal_range(slots.begin(), slots.end(), Slot{relocation.place, 0}, by_vaddr);
        for (auto slot = first; slot != last; ++slot) {
          if (type == types.i_relative) {
            choosers.push_back({relocation.addend, slot->address_index});
          } else if (names[slot->address_index].empty()) {
            names[slot->address_index] = SymbolName(elf, source, section, relocation.info >> 32);
          }
        }
      }
    }
  }
  RETURN_IF_ERROR(NameChosenFunctions(elf, source, std::move(choosers), names));
  return names;
}

}  // namespace vesta::symbolize
