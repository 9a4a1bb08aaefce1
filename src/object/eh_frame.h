// Entries of a section of call frame information: .eh_frame or .debug_frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace vesta::object {

enum class FrameSectionKind { kEhFrame, kDebugFrame };

// The section's bytes and where they lie in the image. Does not own the bytes.
struct FrameSection {
  FrameSectionKind kind = FrameSectionKind::kEhFrame;
  std::span<const std::byte> bytes;
  uint64_t vaddr = 0;
  // The bytes were found without a section header and may reach beyond the section.
  bool ends_at_terminator = false;
};

// What several FDEs share (DWARF's common information entry).
struct CommonEntry {
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint64_t return_column = 0;
  uint8_t pointer_encoding = 0;  // DW_EH_PE_* of an FDE's addresses
  bool has_augmentation_size = false;
  bool is_signal_frame = false;
  std::span<const std::byte> instructions;
};

// The rules of one range of code (DWARF's frame description entry).
struct FrameEntry {
  uint64_t start_vaddr = 0;
  uint64_t end_vaddr = 0;
  uint32_t common_index = 0;
  std::span<const std::byte> instructions;
};

// Where one entry lies. Offsets count from the start of the section's bytes.
struct FrameExtent {
  size_t offset = 0;  // of the length field
  size_t id_offset = 0;
  size_t body_offset = 0;  // behind the id
  size_t end_offset = 0;
  bool is_terminator = false;
  bool is_64_bit = false;
  uint64_t id = 0;  // of an FDE in .eh_frame: id_offset minus the offset of its CIE
};

// Single entries, for those who know where they are. Empty: the bytes do not follow the format.
std::optional<FrameExtent> ReadFrameExtent(const FrameSection& section, size_t offset);
std::optional<CommonEntry> ReadCommonEntry(const FrameSection& section, const FrameExtent& extent);
std::optional<FrameEntry> ReadFrameEntry(const FrameSection& section, const FrameExtent& extent,
                                         const CommonEntry& common);

// Walks a section once from front to back and remembers its CIEs; an FDE can be read again later by
// its offset.
// Shape: an entry's CIE must come before it, which holds for what compilers and linkers write and
//        keeps the walk linear in the size of the section whatever the bytes say.
// Owner: one thread; the section's bytes outlive it.
class FrameEntryReader {
 public:
  explicit FrameEntryReader(const FrameSection& section) : section_(section) {}

  struct Step {
    uint32_t offset = 0;              // of the entry in the section
    std::optional<FrameEntry> entry;  // empty: an FDE that cannot be used
  };
  // The next FDE, usable or not; empty at the end. CIEs on the way are remembered.
  std::optional<Step> Next();

  // Reads the FDE at an offset that Next() gave with an entry.
  std::optional<FrameEntry> ReadEntryAt(uint32_t offset) const;

  const std::vector<CommonEntry>& common_entries() const { return common_entries_; }
  // True when the walk stopped before the end of the section since the bytes make no sense.
  bool stopped_early() const { return stopped_early_; }

 private:
  void RememberCommonEntry(const FrameExtent& extent);
  std::optional<FrameEntry> ReadEntry(const FrameExtent& extent) const;

  FrameSection section_;
  size_t position_ = 0;
  bool stopped_early_ = false;
  std::vector<CommonEntry> common_entries_;
  std::unordered_map<size_t, uint32_t> common_by_offset_;
  mutable size_t last_common_offset_ = SIZE_MAX;
  mutable uint32_t last_common_index_ = 0;
};

// A pointer in one of the encodings of DW_EH_PE_* at a place of the section; the position moves
// behind it. Empty when the bytes end, or when the base that the encoding counts from is not known.
// An indirect pointer gives the address of the pointer, with *is_indirect set.
struct EncodedPointer {
  uint64_t value = 0;
  bool is_indirect = false;
};
std::optional<EncodedPointer> ReadEncodedPointer(std::span<const std::byte> bytes, size_t& position,
                                                 uint64_t bytes_vaddr, uint8_t encoding,
                                                 std::optional<uint64_t> data_base = std::nullopt);

}  // namespace vesta::object
