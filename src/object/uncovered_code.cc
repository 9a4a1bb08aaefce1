#include "src/object/uncovered_code.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace vesta::object {
namespace {

constexpr uint64_t kPaddingBytesMax = 15;
constexpr size_t kRangesMax = 1 << 18;
constexpr uint64_t kScanBytesMax = 1 << 20;
constexpr size_t kPiecesMax = 1 << 16;
// The symbols are not worth reading for less.
constexpr uint64_t kSymbolsWorthBytes = 1024;
constexpr uint64_t kSymbolBytesMax = 16 << 20;
constexpr uint64_t kSymbolChunkBytes = 4096 * sizeof(Elf64_Sym);
constexpr size_t kFunctionsMax = 1 << 17;

// Where code lies in the file. Sections tell it from data; without them, segments.
struct CodePart {
  uint64_t vaddr = 0;
  uint64_t file_offset = 0;
  uint64_t size_bytes = 0;
};

std::vector<CodePart> CodeParts(const ElfFile& elf) {
  std::vector<CodePart> parts;
  for (const Section& section : elf.sections()) {
    if (section.type == SHT_PROGBITS && (section.flags & SHF_EXECINSTR) != 0) {
      parts.push_back({section.vaddr, section.file_offset, section.size_bytes});
    }
  }
  if (parts.empty()) {
    for (const LoadSegment& segment : elf.load_segments()) {
      if (!segment.executable) continue;
      parts.push_back({segment.vaddr, segment.file_offset, segment.file_size_bytes});
    }
  }
  std::sort(parts.begin(), parts.end(),
            [](const CodePart& a, const CodePart& b) { return a.vaddr < b.vaddr; });
  return parts;
}

// Cuts what is covered out of the parts.
std::vector<CodePart> UncoveredParts(const ElfFile& elf, const std::vector<CodeRange>& covered) {
  std::vector<CodePart> uncovered;
  uint64_t taken = 0;  // parts may overlap in a damaged file
  for (const CodePart& part : CodeParts(elf)) {
    uint64_t position = std::max(part.vaddr, taken);
    const uint64_t end = part.vaddr + part.size_bytes;
    if (end < part.vaddr) continue;
    const auto add = [&](uint64_t to) {
      if (to <= position || uncovered.size() >= kPiecesMax) return;
      uncovered.push_back({position, part.file_offset + (position - part.vaddr), to - position});
    };
    auto range =
        std::upper_bound(covered.begin(), covered.end(), position,
                         [](uint64_t vaddr, const CodeRange& r) { return vaddr < r.end_vaddr; });
    for (; range != covered.end() && range->start_vaddr < end; ++range) {
      add(std::min(range->start_vaddr, end));
      position = std::max(position, std::min(range->end_vaddr, end));
    }
    add(end);
    taken = std::max(taken, end);
  }
  return uncovered;
}

bool IsInside(std::span<const CodePiece> pieces, uint64_t vaddr) {
  const auto after =
      std::upper_bound(pieces.begin(), pieces.end(), vaddr,
                       [](uint64_t v, const CodePiece& piece) { return v < piece.start_vaddr; });
  return after != pieces.begin() &&
         vaddr - std::prev(after)->start_vaddr < std::prev(after)->bytes.size();
}

// bytes_left is for all tables of a file: a hostile one can have tens of thousands in one place.
void AddFunctions(const Section& table, const base::ByteSource& source,
                  std::span<const CodePiece> pieces, uint64_t& bytes_left,
                  std::vector<uint64_t>& functions) {
  const uint64_t size = std::min(table.size_bytes, bytes_left);
  bytes_left -= size;
  for (uint64_t at = 0; at < size; at += kSymbolChunkBytes) {
    const auto chunk = source.Read(table.file_offset + at, std::min(kSymbolChunkBytes, size - at));
    if (!chunk.ok()) return;
    for (size_t i = 0; i + sizeof(Elf64_Sym) <= chunk->size(); i += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, chunk->data() + i, sizeof(symbol));
      const uint8_t type = symbol.st_info & 0xf;
      if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
      if (functions.size() >= kFunctionsMax) return;
      if (IsInside(pieces, symbol.st_value)) functions.push_back(symbol.st_value);
    }
  }
}

}  // namespace

void CodeCoverage::Add(uint64_t start_vaddr, uint64_t end_vaddr) {
  if (is_overfull_ || end_vaddr <= start_vaddr) return;
  if (!ranges_.empty()) {
    CodeRange& last = ranges_.back();
    if (start_vaddr >= last.start_vaddr &&
        (start_vaddr <= last.end_vaddr || start_vaddr - last.end_vaddr <= kPaddingBytesMax)) {
      last.end_vaddr = std::max(last.end_vaddr, end_vaddr);
      return;
    }
  }
  ranges_.push_back({start_vaddr, end_vaddr});
  if (ranges_.size() < merge_at_) return;
  Merge();
  merge_at_ = ranges_.size() * 2 + 4096;
  if (ranges_.size() < kRangesMax) return;
  ranges_ = {};
  is_overfull_ = true;
}

void CodeCoverage::Merge() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.start_vaddr < b.start_vaddr; });
  std::vector<CodeRange> merged;
  for (const CodeRange& range : ranges_) {
    if (!merged.empty() && (range.start_vaddr <= merged.back().end_vaddr ||
                            range.start_vaddr - merged.back().end_vaddr <= kPaddingBytesMax)) {
      merged.back().end_vaddr = std::max(merged.back().end_vaddr, range.end_vaddr);
    } else {
      merged.push_back(range);
    }
  }
  ranges_ = std::move(merged);
}

const std::vector<CodeRange>& CodeCoverage::Ranges() {
  Merge();
  return ranges_;
}

UncoveredCode FindUncoveredCode(const ElfFile& elf, const base::ByteSource& source,
                                CodeCoverage& covered) {
  UncoveredCode result;
  if (elf.machine() != Machine::kX86_64 || covered.is_overfull()) return result;
  std::vector<CodePiece> pieces;
  for (const CodePart& part : UncoveredParts(elf, covered.Ranges())) {
    const uint64_t size = std::min(part.size_bytes, kScanBytesMax - result.scanned_bytes);
    result.left_out_bytes += part.size_bytes - size;
    if (size == 0) continue;
    auto bytes = source.Read(part.file_offset, size);
    if (!bytes.ok()) continue;
    result.scanned_bytes += size;
    pieces.push_back({part.vaddr, std::move(*bytes)});
  }
  std::vector<uint64_t> functions;
  uint64_t symbol_bytes_left = kSymbolBytesMax;
  if (result.scanned_bytes >= kSymbolsWorthBytes) {
    for (const Section& section : elf.sections()) {
      if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
      AddFunctions(section, source, pieces, symbol_bytes_left, functions);
    }
  }
  result.frames = FindCodeFrames(pieces, functions, elf.entry_vaddr());
  return result;
}

}  // namespace vesta::object
