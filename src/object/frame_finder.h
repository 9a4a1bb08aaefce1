// Finds the rules of all registers at an address of one image, for walks in user space.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/cached_reader.h"
#include "src/object/eh_frame.h"
#include "src/object/eh_frame_program.h"
#include "src/object/elf_file.h"
#include "src/object/frame_architecture.h"
#include "src/object/frame_sections.h"

namespace vesta::object {

// Rules that hold at an address. The expressions in them live until the finder is asked again.
struct FoundRules {
  RegisterRules rules;
  uint64_t return_column = 0;
  bool is_signal_frame = false;
};

// A section in memory whose entries are sorted by address.
// Owner: one thread.
class SortedFrameSection {
 public:
  explicit SortedFrameSection(LoadedFrameSection loaded);
  SortedFrameSection(const SortedFrameSection&) = delete;
  SortedFrameSection& operator=(const SortedFrameSection&) = delete;

  // The entry that covers an address: of several, the one that starts last.
  std::optional<FrameEntry> EntryAt(uint64_t vaddr) const;
  const CommonEntry& CommonOf(const FrameEntry& entry) const {
    return reader_.common_entries()[entry.common_index];
  }
  const FrameSection& section() const { return loaded_.section; }
  size_t memory_bytes() const;

 private:
  struct Start {
    uint64_t vaddr;
    uint32_t offset;  // of the entry
  };
  LoadedFrameSection loaded_;
  FrameEntryReader reader_;
  std::vector<Start> starts_;  // ascending
};

// Looks in .eh_frame, by the linker's search table where there is one, and in .debug_frame for what
// that does not cover.
// Owner:  one thread.
// Cost:   with a search table, some twenty small reads through a cache of at most 2 MiB, and the
//         instructions of one entry. Without one, the section is read and sorted when it is first
//         needed; at most kSectionBytesMax bytes each, 16 more for each entry.
// Errors: what is damaged or too large has no rules.
class FrameFinder {
 public:
  // Errors: Unsupported for machines that cannot be unwound; of FindEhFrame.
  static base::Result<std::unique_ptr<FrameFinder>> Open(
      const ElfFile& elf, std::shared_ptr<const base::ByteSource> source);

  // Valid until the next call.
  std::optional<FoundRules> RulesAt(uint64_t vaddr);

  const FrameArchitecture& architecture() const { return architecture_; }
  size_t memory_bytes() const;

  static constexpr uint64_t kSectionBytesMax = 16u << 20;

 private:
  FrameFinder(const FrameArchitecture& architecture, std::shared_ptr<const base::ByteSource> source)
      : architecture_(architecture), source_(std::move(source)), program_(architecture) {}

  struct Piece {
    std::vector<std::byte> bytes;
    FrameSection section;
    FrameExtent extent;
  };
  bool ReadPiece(uint64_t offset, Piece& piece);
  std::optional<FoundRules> BySearchTable(uint64_t vaddr);
  std::optional<FoundRules> ByEntryOffset(uint64_t offset, uint64_t vaddr);
  std::optional<FoundRules> InSorted(const FrameSectionPlace& place,
                                     std::unique_ptr<SortedFrameSection>& sorted, uint64_t vaddr);
  std::optional<FoundRules> Run(const FrameSection& common_section, const CommonEntry& common,
                                const FrameSection& section, const FrameEntry& entry,
                                uint64_t vaddr);

  FrameArchitecture architecture_;
  std::shared_ptr<const base::ByteSource> source_;
  std::optional<FrameSectionPlace> eh_frame_;     // of those that are loaded as a whole, empty when
  std::optional<FrameSectionPlace> debug_frame_;  // there is none or it proved unusable
  std::optional<FrameSearchTable> search_;
  std::optional<CachedReader> search_reader_;
  std::optional<CachedReader> eh_frame_reader_;
  Piece entry_piece_;
  Piece common_piece_;
  std::unique_ptr<SortedFrameSection> sorted_eh_frame_;
  std::unique_ptr<SortedFrameSection> sorted_debug_frame_;
  RegisterProgram program_;
};

}  // namespace vesta::object
