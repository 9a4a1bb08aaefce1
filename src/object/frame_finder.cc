#include "src/object/frame_finder.h"

#include <algorithm>
#include <utility>

namespace vesta::object {
namespace {

// Entries that begin later may lie inside an earlier one: how many are looked at.
constexpr size_t kNestedMax = 16;
constexpr size_t kEntriesMax = 1 << 20;
constexpr uint64_t kEntryBytesMax = 1 << 20;
constexpr uint64_t kSearchEntryBytes = 8;
constexpr uint64_t kLength64 = 0xffffffff;

bool Covers(const FrameEntry& entry, uint64_t vaddr) {
  return vaddr >= entry.start_vaddr && vaddr < entry.end_vaddr;
}

}  // namespace

SortedFrameSection::SortedFrameSection(LoadedFrameSection loaded)
    : loaded_(std::move(loaded)), reader_(loaded_.section) {
  while (const auto step = reader_.Next()) {
    if (!step->entry.has_value() || starts_.size() >= kEntriesMax) continue;
    starts_.push_back({step->entry->start_vaddr, step->offset});
  }
  std::stable_sort(starts_.begin(), starts_.end(),
                   [](const Start& a, const Start& b) { return a.vaddr < b.vaddr; });
  starts_.shrink_to_fit();
}

std::optional<FrameEntry> SortedFrameSection::EntryAt(uint64_t vaddr) const {
  auto next =
      std::upper_bound(starts_.begin(), starts_.end(), vaddr,
                       [](uint64_t wanted, const Start& start) { return wanted < start.vaddr; });
  for (size_t i = 0; i < kNestedMax && next != starts_.begin(); ++i) {
    --next;
    auto entry = reader_.ReadEntryAt(next->offset);
    if (entry.has_value() && Covers(*entry, vaddr)) return entry;
  }
  return std::nullopt;
}

size_t SortedFrameSection::memory_bytes() const {
  return loaded_.section.bytes.size() + starts_.capacity() * sizeof(Start) +
         reader_.common_entries().capacity() * sizeof(CommonEntry);
}

base::Result<std::unique_ptr<FrameFinder>> FrameFinder::Open(
    const ElfFile& elf, std::shared_ptr<const base::ByteSource> source) {
  const auto architecture = FrameArchitectureOf(elf.machine());
  if (!architecture.has_value()) {
    return base::Error(base::ErrorCode::kUnsupported, "no rules for code of this machine");
  }
  ASSIGN_OR_RETURN(const auto eh_frame, FindEhFrame(elf, *source));
  std::unique_ptr<FrameFinder> finder(new FrameFinder(*architecture, std::move(source)));
  finder->eh_frame_ = eh_frame;
  finder->debug_frame_ = FindDebugFrame(elf);
  const auto search = FindFrameSearchTable(elf, *finder->source_);
  if (eh_frame.has_value() && search.has_value() && search->eh_frame_vaddr == eh_frame->vaddr) {
    finder->search_ = search;
    finder->search_reader_.emplace(*finder->source_, search->file_offset,
                                   search->count * kSearchEntryBytes);
    finder->eh_frame_reader_.emplace(*finder->source_, eh_frame->file_offset, eh_frame->size_bytes);
    finder->eh_frame_.reset();
  }
  return finder;
}

std::optional<FoundRules> FrameFinder::RulesAt(uint64_t vaddr) {
  if (search_.has_value()) {
    if (auto found = BySearchTable(vaddr)) return found;
  }
  if (eh_frame_.has_value()) {
    if (auto found = InSorted(*eh_frame_, sorted_eh_frame_, vaddr)) return found;
  }
  if (debug_frame_.has_value()) return InSorted(*debug_frame_, sorted_debug_frame_, vaddr);
  return std::nullopt;
}

std::optional<FoundRules> FrameFinder::BySearchTable(uint64_t vaddr) {
  const auto number_at = [&](uint64_t index, uint64_t in_entry) -> std::optional<uint64_t> {
    const auto relative =
        search_reader_->Read<int32_t>(index * kSearchEntryBytes + in_entry * sizeof(int32_t));
    if (!relative.has_value()) return std::nullopt;
    return search_->header_vaddr + static_cast<uint64_t>(int64_t{*relative});
  };
  uint64_t low = 0;
  uint64_t high = search_->count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const auto start = number_at(middle, 0);
    if (!start.has_value()) return std::nullopt;
    if (*start <= vaddr) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (size_t i = 0; i < kNestedMax && low != 0; ++i) {
    --low;
    const auto entry_vaddr = number_at(low, 1);
    if (!entry_vaddr.has_value()) return std::nullopt;
    if (auto found = ByEntryOffset(*entry_vaddr - search_->eh_frame_vaddr, vaddr)) return found;
  }
  return std::nullopt;
}

bool FrameFinder::ReadPiece(uint64_t offset, Piece& piece) {
  const auto length = eh_frame_reader_->Read<uint32_t>(offset);
  if (!length.has_value() || *length == kLength64 || *length > kEntryBytesMax) return false;
  piece.bytes.resize(sizeof(uint32_t) + *length);
  if (!eh_frame_reader_->ReadBytes(offset, piece.bytes)) return false;
  piece.section = FrameSection{FrameSectionKind::kEhFrame, piece.bytes,
                               search_->eh_frame_vaddr + offset, false};
  const auto extent = ReadFrameExtent(piece.section, 0);
  if (!extent.has_value() || extent->is_terminator) return false;
  piece.extent = *extent;
  return true;
}

std::optional<FoundRules> FrameFinder::ByEntryOffset(uint64_t offset, uint64_t vaddr) {
  if (!ReadPiece(offset, entry_piece_)) return std::nullopt;
  // 0 is the id of a CIE: there is no FDE here.
  const uint64_t to_common = entry_piece_.extent.id;
  const uint64_t id_offset = offset + entry_piece_.extent.id_offset;
  if (to_common == 0 || to_common > id_offset) return std::nullopt;
  if (!ReadPiece(id_offset - to_common, common_piece_) || common_piece_.extent.id != 0) {
    return std::nullopt;
  }
  const auto common = ReadCommonEntry(common_piece_.section, common_piece_.extent);
  if (!common.has_value()) return std::nullopt;
  const auto entry = ReadFrameEntry(entry_piece_.section, entry_piece_.extent, *common);
  if (!entry.has_value() || !Covers(*entry, vaddr)) return std::nullopt;
  return Run(common_piece_.section, *common, entry_piece_.section, *entry, vaddr);
}

std::optional<FoundRules> FrameFinder::InSorted(const FrameSectionPlace& place,
                                                std::unique_ptr<SortedFrameSection>& sorted,
                                                uint64_t vaddr) {
  if (sorted == nullptr) {
    // What cannot be read has no entries, and is not tried again.
    LoadedFrameSection section;
    section.section.kind = place.kind;
    auto loaded = LoadFrameSection(*source_, place, kSectionBytesMax);
    if (loaded.ok()) section = std::move(loaded).value();
    sorted = std::make_unique<SortedFrameSection>(std::move(section));
  }
  const auto entry = sorted->EntryAt(vaddr);
  if (!entry.has_value()) return std::nullopt;
  return Run(sorted->section(), sorted->CommonOf(*entry), sorted->section(), *entry, vaddr);
}

std::optional<FoundRules> FrameFinder::Run(const FrameSection& common_section,
                                           const CommonEntry& common, const FrameSection& section,
                                           const FrameEntry& entry, uint64_t vaddr) {
  const auto initial = RegisterProgram::InitialRules(architecture_, common, common_section);
  if (!initial.has_value()) return std::nullopt;
  program_.Start(common, *initial, entry, section);
  while (program_.Next()) {
    if (vaddr < program_.end_vaddr()) {
      return FoundRules{program_.rules(), common.return_column, common.is_signal_frame};
    }
  }
  return std::nullopt;
}

size_t FrameFinder::memory_bytes() const {
  size_t bytes = sizeof(*this) + entry_piece_.bytes.capacity() + common_piece_.bytes.capacity();
  for (const auto* reader : {&search_reader_, &eh_frame_reader_}) {
    if (reader->has_value()) bytes += (*reader)->memory_bytes();
  }
  for (const auto* sorted : {&sorted_eh_frame_, &sorted_debug_frame_}) {
    if (*sorted != nullptr) bytes += (*sorted)->memory_bytes();
  }
  return bytes;
}

}  // namespace vesta::object
