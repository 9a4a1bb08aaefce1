#include "src/object/unwind_table.h"

#include <elf.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "src/base/byte_reader.h"
#include "src/object/arm64_plt.h"
#include "src/object/eh_frame.h"
#include "src/object/eh_frame_program.h"
#include "src/object/fiber_start.h"
#include "src/object/frame_architecture.h"
#include "src/object/frame_sections.h"
#include "src/object/uncovered_code.h"
#include "src/object/unwind_row.h"

namespace vesta::object {
namespace {

using base::ByteSource;
using base::Error;
using base::ErrorCode;
using base::Result;

// Both are held in memory while the table is built, with 8 bytes and more for each entry, under the
// agent's limit for everything; the largest browsers and compilers have 15 MiB. What has more is
// walked by the entries that the stacks lead to (frame_finder.h).
constexpr uint64_t kSectionBytesMax = 32 << 20;
constexpr uint64_t kDebugFrameBytesMax = 16 << 20;  // decompressed
// Offsets in both sections are smaller.
constexpr uint32_t kOfDebugFrame = uint32_t{1} << 31;
static_assert(kSectionBytesMax < kOfDebugFrame);
constexpr size_t kEntriesMax = 1 << 20;
constexpr uint64_t kRowsMax = 16 << 20;
constexpr uint64_t kSpanBytesMax = 1 << 30;
// Between two functions, less than this is padding and needs no row of its own.
constexpr uint64_t kPaddingBytesMax = 15;
constexpr uint64_t kEntryPointBytes = 64;
constexpr uint64_t kScanBytesMax = 16 << 20;
constexpr uint64_t kScanChunkBytes = 256 << 10;
constexpr size_t kSignalReturnsMax = 16;
constexpr size_t kCodeSegmentsMax = 16;
constexpr uint32_t kNoneBits = SpecialRowBits(ABI_SPECIAL_NONE);
constexpr uint32_t kRootBits = SpecialRowBits(ABI_SPECIAL_ROOT);

// rt_sigreturn, as every C library and Go write it.
constexpr std::array<uint8_t, 9> kSignalReturnX86_64 = {0x48, 0xc7, 0xc0, 0x0f, 0x00,
                                                        0x00, 0x00, 0x0f, 0x05};
constexpr std::array<uint8_t, 8> kSignalReturnArm64 = {0x68, 0x11, 0x80, 0xd2,   // mov x8, #139
                                                       0x01, 0x00, 0x00, 0xd4};  // svc #0

struct AddressRange {
  uint64_t start_vaddr = 0;
  uint64_t end_vaddr = 0;
};

// Sorts by the upper half. A radix sort: large images have a hundred thousand entries, and keys
// come in the order of the lower half, so that equal starts stay in the order of the file.
void SortByStart(std::vector<uint64_t>& keys) {
  if (std::is_sorted(keys.begin(), keys.end())) return;
  constexpr unsigned kDigitBits = 11;
  constexpr size_t kDigits = 1 << kDigitBits;
  std::vector<uint64_t> sorted(keys.size());
  for (unsigned shift = 32; shift < 64; shift += kDigitBits) {
    std::array<uint32_t, kDigits> next{};
    for (const uint64_t key : keys) ++next[key >> shift & (kDigits - 1)];
    uint32_t before = 0;
    for (uint32_t& count : next) before += std::exchange(count, before);
    for (const uint64_t key : keys) sorted[next[key >> shift & (kDigits - 1)]++] = key;
    keys.swap(sorted);
  }
}

class UnwindTableBuilder {
 public:
  UnwindTableBuilder(const ElfFile& elf, const ByteSource& source,
                     const FrameArchitecture& architecture)
      : elf_(elf),
        source_(source),
        architecture_(architecture),
        encoder_(architecture),
        program_(architecture) {}

  Result<UnwindTable> Build(std::span<const RowRange> overrides);

 private:
  // A section of call frame information.
  struct Source {
    LoadedFrameSection loaded;
    std::unique_ptr<FrameEntryReader> reader;
    std::vector<std::optional<FrameRules>> initial_rules;  // per CommonEntry
  };
  // An entry that has begun and not ended.
  struct OpenEntry {
    FrameEntry entry;
    const Source* source = nullptr;
  };

  Result<void> LoadSections(bool has_overrides);

  // What they cover.
  void IndexEntries();
  void IndexEntriesOf(Source& source, uint32_t key_flag);
  std::optional<AddressRange> ClipToCode(uint64_t start_vaddr, uint64_t end_vaddr) const;
  void PrepareOverrides(std::span<const RowRange> overrides);
  void AddUncoveredCode();
  std::optional<RowRange> EntryPoint() const;
  std::vector<RowRange> FindSignalReturns() const;
  void ScanForSignalReturns(const LoadSegment& segment, uint64_t size_bytes,
                            std::vector<RowRange>& overrides) const;

  // From entries to rows.
  void WriteRows(RowWriter& writer);
  void WriteEntry(RowWriter& writer, const OpenEntry& open, uint64_t from_vaddr, uint64_t to_vaddr,
                  bool follows_gap);

  const ElfFile& elf_;
  const ByteSource& source_;
  FrameArchitecture architecture_;
  UnwindTableStats stats_;
  bool promises_rules_ = false;

  Source eh_frame_;
  Source debug_frame_;  // speaks where .eh_frame does not
  std::vector<LoadSegment> code_segments_;
  uint64_t base_vaddr_ = 0;  // start of the lowest code
  // One per usable FDE: start from base_vaddr_ in the upper half, offset in the section in the
  // lower one, with kOfDebugFrame; sorted.
  std::vector<uint64_t> keys_;
  bool has_signal_frame_ = false;
  bool covers_entry_point_ = false;
  uint64_t after_entry_point_vaddr_ = std::numeric_limits<uint64_t>::max();
  CodeCoverage described_;  // by entries, and by overrides once they are prepared
  AddressRange covered_{std::numeric_limits<uint64_t>::max(), 0};

  std::vector<RowRange> overrides_;
  RowEncoder encoder_;
  FrameProgram program_;
  uint64_t instruction_bytes_left_ = 0;
};

Result<void> UnwindTableBuilder::LoadSections(bool has_overrides) {
  ASSIGN_OR_RETURN(const auto eh_frame, FindEhFrame(elf_, source_));
  if (eh_frame.has_value()) {
    ASSIGN_OR_RETURN(eh_frame_.loaded, LoadFrameSection(source_, *eh_frame, kSectionBytesMax));
  }
  const auto debug_frame = FindDebugFrame(elf_);
  // Go's linker describes all Go code once more there; the function table has told it already.
  const bool is_go = !elf_.go_build_id().empty() || elf_.FindSection(".gopclntab") != nullptr;
  if (debug_frame.has_value() && !(is_go && has_overrides)) {
    auto loaded = LoadFrameSection(source_, *debug_frame, kDebugFrameBytesMax);
    if (!loaded.ok() && !eh_frame.has_value()) return loaded.error();
    if (loaded.ok()) debug_frame_.loaded = std::move(loaded).value();
    stats_.refused_debug_frame = !loaded.ok();
  }
  stats_.eh_frame_bytes =
      eh_frame_.loaded.section.bytes.size() + debug_frame_.loaded.section.bytes.size();
  promises_rules_ = stats_.eh_frame_bytes != 0;
  return {};
}

// The part of a range that lies in the executable segment in which it starts.
std::optional<AddressRange> UnwindTableBuilder::ClipToCode(uint64_t start_vaddr,
                                                           uint64_t end_vaddr) const {
  for (const LoadSegment& segment : code_segments_) {
    if (start_vaddr < segment.vaddr || start_vaddr - segment.vaddr >= segment.memory_size_bytes) {
      continue;
    }
    const uint64_t segment_end = segment.vaddr + segment.memory_size_bytes;
    const AddressRange range{start_vaddr, std::min(end_vaddr, segment_end)};
    if (range.end_vaddr <= range.start_vaddr) return std::nullopt;
    return range;
  }
  return std::nullopt;
}

void UnwindTableBuilder::IndexEntriesOf(Source& source, uint32_t key_flag) {
  source.reader = std::make_unique<FrameEntryReader>(source.loaded.section);
  const uint64_t entry_point = elf_.entry_vaddr();
  while (const auto step = source.reader->Next()) {
    std::optional<AddressRange> range;
    if (step->entry.has_value()) {
      range = ClipToCode(step->entry->start_vaddr, step->entry->end_vaddr);
    }
    if (!range.has_value() || range->start_vaddr - base_vaddr_ > kSpanBytesMax ||
        keys_.size() >= kEntriesMax) {
      ++stats_.fde_damaged_count;
      continue;
    }
    keys_.push_back((range->start_vaddr - base_vaddr_) << 32 | step->offset | key_flag);
    described_.Add(range->start_vaddr, range->end_vaddr);
    covered_.start_vaddr = std::min(covered_.start_vaddr, range->start_vaddr);
    covered_.end_vaddr = std::max(covered_.end_vaddr, range->end_vaddr);
    if (range->start_vaddr > entry_point) {
      after_entry_point_vaddr_ = std::min(after_entry_point_vaddr_, range->start_vaddr);
    } else if (range->end_vaddr > entry_point) {
      covers_entry_point_ = true;
    }
    const auto& common = source.reader->common_entries()[step->entry->common_index];
    has_signal_frame_ = has_signal_frame_ || common.is_signal_frame;
  }
  if (source.reader->stopped_early()) ++stats_.fde_damaged_count;
  for (const CommonEntry& common : source.reader->common_entries()) {
    source.initial_rules.push_back(
        FrameProgram::InitialRules(architecture_, common, source.loaded.section));
  }
}

void UnwindTableBuilder::IndexEntries() {
  IndexEntriesOf(eh_frame_, 0);
  IndexEntriesOf(debug_frame_, kOfDebugFrame);
  stats_.fde_count = keys_.size();
  SortByStart(keys_);
  // An entry with others inside is run again for each piece; nobody may make that quadratic.
  instruction_bytes_left_ = stats_.eh_frame_bytes * 4 + (1 << 20);
}

std::vector<RowRange> UnwindTableBuilder::FindSignalReturns() const {
  std::vector<RowRange> found;
  // A handler returns into the trampoline of whoever installed it: the C library, or Go's runtime
  // itself. Shared libraries otherwise do not have one, and are not scanned. What can be started
  // without an interpreter is a static program, the dynamic loader, or musl, which is its own.
  const bool is_go = !elf_.go_build_id().empty() || elf_.FindSection(".gopclntab") != nullptr;
  const bool starts_alone = elf_.entry_vaddr() != 0 && !elf_.has_interpreter();
  if (!is_go && (!starts_alone || has_signal_frame_)) return found;
  uint64_t bytes_left = kScanBytesMax;
  for (const LoadSegment& segment : code_segments_) {
    const uint64_t size = std::min(segment.file_size_bytes, bytes_left);
    bytes_left -= size;
    ScanForSignalReturns(segment, size, found);
  }
  return found;
}

void UnwindTableBuilder::ScanForSignalReturns(const LoadSegment& segment, uint64_t size_bytes,
                                              std::vector<RowRange>& overrides) const {
  // Consecutive chunks overlap, so that code across their border is found, and the byte before it
  // is there to look at.
  const bool is_arm64 = architecture_.machine == Machine::kArm64;
  const auto code_bytes =
      is_arm64 ? std::span<const uint8_t>(kSignalReturnArm64) : kSignalReturnX86_64;
  const uint64_t overlap_bytes = code_bytes.size();
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(size_bytes, kScanChunkBytes)));
  uint64_t position = 0;
  while (position < size_bytes) {
    const auto part = std::span(chunk).first(
        static_cast<size_t>(std::min<uint64_t>(chunk.size(), size_bytes - position)));
    if (!source_.ReadAt(segment.file_offset + position, part).ok()) return;
    const std::byte* from = part.data();
    const std::byte* const end = part.data() + part.size();
    const void* found = nullptr;
    while (overrides.size() < kSignalReturnsMax &&
           (found = ::memmem(from, static_cast<size_t>(end - from), code_bytes.data(),
                             code_bytes.size())) != nullptr) {
      const auto* code = static_cast<const std::byte*>(found);
      from = code + code_bytes.size();
      const uint64_t vaddr = segment.vaddr + position + static_cast<uint64_t>(code - part.data());
      // A walker looks return addresses up one byte early, and a handler returns to the first one:
      // C libraries put a nop there for it. On arm64 nothing else looks into an instruction.
      const bool has_padding_before =
          code != part.data() && (is_arm64 || code[-1] == std::byte{0x90} ||
                                  code[-1] == std::byte{0xcc} || code[-1] == std::byte{0});
      overrides.push_back({vaddr - (has_padding_before ? 1 : 0), vaddr + code_bytes.size(),
                           SpecialRowBits(ABI_SPECIAL_SIGNAL)});
    }
    if (part.size() <= overlap_bytes || position + part.size() >= size_bytes) return;
    position += part.size() - overlap_bytes;
  }
}

// C start-up code without call frame information (musl's) has no caller to look for.
std::optional<RowRange> UnwindTableBuilder::EntryPoint() const {
  const uint64_t start = elf_.entry_vaddr();
  if (start == 0 || covers_entry_point_) return std::nullopt;
  uint64_t end = std::min(start + kEntryPointBytes, after_entry_point_vaddr_);
  for (const RowRange& range : overrides_) {
    if (range.end_vaddr > start) end = std::min(end, range.start_vaddr);
  }
  const auto code = ClipToCode(start, end);
  if (!code.has_value()) return std::nullopt;
  return RowRange{code->start_vaddr, code->end_vaddr, SpecialRowBits(ABI_SPECIAL_ROOT)};
}

// Sorts, clips to code, and gives the given ranges precedence over those made here.
void UnwindTableBuilder::PrepareOverrides(std::span<const RowRange> overrides) {
  const auto by_start = [](const RowRange& a, const RowRange& b) {
    return a.start_vaddr < b.start_vaddr;
  };
  std::vector<RowRange> given(overrides.begin(), overrides.end());
  std::stable_sort(given.begin(), given.end(), by_start);
  for (const RowRange& range : given) {
    const uint64_t taken = overrides_.empty() ? 0 : overrides_.back().end_vaddr;
    const auto code = ClipToCode(std::max(range.start_vaddr, taken), range.end_vaddr);
    if (!code.has_value()) continue;
    overrides_.push_back({code->start_vaddr, code->end_vaddr, range.row_bits});
  }
  std::vector<RowRange> found = FindSignalReturns();
  for (const RowRange& range : Arm64PltRanges(elf_, source_)) {
    const auto code = ClipToCode(range.start_vaddr, range.end_vaddr);
    if (code.has_value()) found.push_back({code->start_vaddr, code->end_vaddr, range.row_bits});
  }
  if (has_signal_frame_) {  // a C library
    if (const auto fiber_start = FiberStartRange(elf_, source_)) found.push_back(*fiber_start);
  }
  for (const RowRange& range : found) {
    const bool is_free = std::none_of(overrides_.begin(), overrides_.end(), [&](const RowRange& o) {
      return o.start_vaddr < range.end_vaddr && range.start_vaddr < o.end_vaddr;
    });
    if (is_free) overrides_.push_back(range);
  }
  AddUncoveredCode();
  if (const auto entry_point = EntryPoint()) overrides_.push_back(*entry_point);
  std::stable_sort(overrides_.begin(), overrides_.end(), by_start);
  for (const RowRange& range : overrides_) {
    covered_.start_vaddr = std::min(covered_.start_vaddr, range.start_vaddr);
    covered_.end_vaddr = std::max(covered_.end_vaddr, range.end_vaddr);
  }
}

// Rules that code without any other ones gives itself.
void UnwindTableBuilder::AddUncoveredCode() {
  for (const RowRange& range : overrides_) described_.Add(range.start_vaddr, range.end_vaddr);
  const UncoveredCode uncovered = FindUncoveredCode(elf_, source_, described_);
  for (const RowRange& range : uncovered.frames.rows) {
    const auto code = ClipToCode(range.start_vaddr, range.end_vaddr);
    if (!code.has_value()) continue;
    overrides_.push_back({code->start_vaddr, code->end_vaddr, range.row_bits});
  }
  stats_.scanned_code_bytes = uncovered.scanned_bytes;
  stats_.left_out_code_bytes = uncovered.left_out_bytes;
  stats_.confirmed_function_count = uncovered.frames.confirmed_count;
  stats_.rejected_function_count = uncovered.frames.rejected_count;
}

void UnwindTableBuilder::WriteEntry(RowWriter& writer, const OpenEntry& open, uint64_t from_vaddr,
                                    uint64_t to_vaddr, bool follows_gap) {
  const FrameEntry& entry = open.entry;
  const CommonEntry& common = open.source->reader->common_entries()[entry.common_index];
  if (common.is_signal_frame) {
    writer.SetRow(from_vaddr, SpecialRowBits(ABI_SPECIAL_SIGNAL));
    return;
  }
  const auto& initial = open.source->initial_rules[entry.common_index];
  const RowWriter::Mark before = writer.mark();
  bool is_damaged = !initial.has_value() || entry.instructions.size() > instruction_bytes_left_;
  if (!is_damaged) {
    instruction_bytes_left_ -= entry.instructions.size();
    uint32_t row_bits = kNoneBits;
    program_.Start(common, *initial, entry, open.source->loaded.section);
    while (program_.Next()) {
      if (program_.rules_changed()) row_bits = encoder_.Encode(program_.rules());
      if (program_.end_vaddr() <= from_vaddr) continue;
      if (program_.start_vaddr() >= to_vaddr || writer.row_count() > kRowsMax) break;
      uint64_t row_vaddr = std::max(program_.start_vaddr(), from_vaddr);
      // Nobody calls the start of a fiber: its first byte is the return address on the new stack,
      // and walkers look a return address up at the byte before it.
      if (row_bits == kRootBits && row_vaddr == entry.start_vaddr && follows_gap) --row_vaddr;
      writer.SetRow(row_vaddr, row_bits);
    }
    is_damaged = program_.damaged();
  }
  if (!is_damaged) return;
  writer.Rewind(before);
  writer.SetRow(from_vaddr, kNoneBits);
  if (from_vaddr == entry.start_vaddr) {
    ++stats_.fde_damaged_count;
    --stats_.fde_count;
  }
}

// Sweeps over the code once. Entries may lie inside others: those that began and have not ended are
// on a stack, and the one that began last speaks; of .debug_frame, when none of .eh_frame is open.
void UnwindTableBuilder::WriteRows(RowWriter& writer) {
  std::vector<OpenEntry> open_of_eh_frame;
  std::vector<OpenEntry> open_of_debug_frame;
  uint64_t position = covered_.start_vaddr;
  bool follows_gap = false;
  const auto advance = [&](uint64_t to_vaddr) {
    while (position < to_vaddr) {
      auto& open = open_of_eh_frame.empty() ? open_of_debug_frame : open_of_eh_frame;
      if (open.empty()) break;
      if (open.back().entry.end_vaddr <= position) {
        open.pop_back();
        continue;
      }
      const uint64_t end = std::min(open.back().entry.end_vaddr, to_vaddr);
      WriteEntry(writer, open.back(), position, end, follows_gap);
      position = end;
      follows_gap = false;
    }
    follows_gap = to_vaddr > position;
    if (to_vaddr - position > kPaddingBytesMax) writer.SetRow(position, kNoneBits);
    position = to_vaddr;
  };
  for (const uint64_t key : keys_) {
    const bool is_of_debug_frame = (key & kOfDebugFrame) != 0;
    const Source& source = is_of_debug_frame ? debug_frame_ : eh_frame_;
    auto entry = source.reader->ReadEntryAt(static_cast<uint32_t>(key) & ~kOfDebugFrame);
    CHECK(entry.has_value());  // it could be read when it was indexed
    advance(entry->start_vaddr);
    entry->end_vaddr = ClipToCode(entry->start_vaddr, entry->end_vaddr)->end_vaddr;
    (is_of_debug_frame ? open_of_debug_frame : open_of_eh_frame).push_back({*entry, &source});
    if (writer.row_count() > kRowsMax) return;
  }
  advance(std::numeric_limits<uint64_t>::max());
}

Result<UnwindTable> UnwindTableBuilder::Build(std::span<const RowRange> overrides) {
  base_vaddr_ = std::numeric_limits<uint64_t>::max();
  for (const LoadSegment& segment : elf_.load_segments()) {
    if (!segment.executable || code_segments_.size() >= kCodeSegmentsMax) continue;
    code_segments_.push_back(segment);
    base_vaddr_ = std::min(base_vaddr_, segment.vaddr);
  }
  const auto loaded = LoadSections(!overrides.empty());
  if (!loaded.ok() && overrides.empty()) return loaded.error();
  IndexEntries();
  if (promises_rules_ && keys_.empty() && stats_.fde_damaged_count > 0 && overrides.empty()) {
    return Error(ErrorCode::kCorrupt, "no entry of the call frame information can be used");
  }
  PrepareOverrides(overrides);
  UnwindTable table;
  if (covered_.start_vaddr < covered_.end_vaddr) {
    const uint64_t last_page_max = std::numeric_limits<uint32_t>::max();
    if (covered_.end_vaddr - covered_.start_vaddr > kSpanBytesMax ||
        covered_.end_vaddr >> ABI_TABLE_PAGE_SHIFT > last_page_max) {
      return Error(ErrorCode::kUnsupported, "the code lies too far apart for an unwind table");
    }
    // Untouched memory costs nothing; a row takes four bytes of call frame information or more.
    RowWriter writer(covered_.start_vaddr, covered_.end_vaddr, stats_.eh_frame_bytes / 4 + 64,
                     overrides_);
    WriteRows(writer);
    if (writer.row_count() > kRowsMax) {
      return Error(ErrorCode::kExhausted, "an unwind table of more than 16 M rows");
    }
    table.words = writer.Finish(encoder_.rules());
    stats_.row_count = writer.row_count();
    stats_.unsupported_row_count = writer.unsupported_row_count();
    stats_.rule_count = encoder_.rules().size();
  }
  table.stats = stats_;
  return table;
}

}  // namespace

Result<UnwindTable> BuildUnwindTable(const ElfFile& elf, const ByteSource& source,
                                     std::span<const RowRange> overrides) {
  const auto architecture = FrameArchitectureOf(elf.machine());
  if (!architecture.has_value()) {
    return Error(ErrorCode::kUnsupported, "unwind tables are made for x86-64 and arm64 only");
  }
  return UnwindTableBuilder(elf, source, *architecture).Build(overrides);
}

std::optional<LookupResult> LookupRow(std::span<const uint32_t> words, uint64_t image_address) {
  abi_table_header header;
  if (words.size_bytes() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, words.data(), sizeof(header));
  const auto is_inside = [&](uint64_t first, uint64_t count) {
    return first <= words.size() && count <= words.size() - first;
  };
  if (header.magic != ABI_TABLE_MAGIC ||
      !is_inside(header.index_word, uint64_t{header.page_count} + 1) ||
      !is_inside(header.rows_word, header.row_count) ||
      !is_inside(header.rules_word, uint64_t{header.rule_count} * ABI_RULE_WORDS)) {
    return std::nullopt;
  }
  const uint64_t page = (image_address >> ABI_TABLE_PAGE_SHIFT) - header.first_page;
  if (image_address >> ABI_TABLE_PAGE_SHIFT < header.first_page || page >= header.page_count) {
    return std::nullopt;
  }
  const auto index = words.subspan(header.index_word, size_t{header.page_count} + 1);
  const uint32_t first = index[static_cast<size_t>(page)];
  const uint32_t last = index[static_cast<size_t>(page) + 1];
  if (first > last || last > header.row_count) return std::nullopt;
  constexpr uint32_t kAddressMask = (1u << ABI_ROW_ADDRESS_BITS) - 1;
  const auto rows = words.subspan(header.rows_word, header.row_count);
  uint32_t row_number = last;
  while (row_number > first &&
         (rows[row_number - 1] & kAddressMask) > (image_address & kAddressMask)) {
    --row_number;
  }
  // None of this page begins at or before the address: the last row of the pages before holds.
  if (row_number == 0) return std::nullopt;
  const uint32_t row = rows[row_number - 1];
  LookupResult result;
  result.kind =
      row >> ABI_ROW_KIND_SHIFT & ((1u << (ABI_ROW_OPERAND_SHIFT - ABI_ROW_KIND_SHIFT)) - 1);
  result.operand = row >> ABI_ROW_OPERAND_SHIFT;
  if (result.kind == ABI_ROW_RULE) {
    if (result.operand >= header.rule_count) return std::nullopt;
    abi_rule rule;
    std::memcpy(&rule, words.data() + header.rules_word + size_t{result.operand} * ABI_RULE_WORDS,
                sizeof(rule));
    result.rule = rule;
  }
  return result;
}

}  // namespace vesta::object
