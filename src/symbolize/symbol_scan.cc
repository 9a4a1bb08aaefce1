#include "src/symbolize/symbol_scan.h"

#include <algorithm>
#include <array>

namespace vesta::symbolize {
namespace {

using base::ByteSource;
using base::Result;
using object::CachedReader;
using object::ElfFile;
using object::Section;

constexpr uint32_t kSectionSymtab = 2;
constexpr uint32_t kSectionStrtab = 3;
constexpr uint32_t kSectionDynsym = 11;
constexpr uint64_t kFlagExecutable = 4;
constexpr uint16_t kIndexUndefined = 0;
constexpr uint16_t kIndexReservedMin = 0xff00;
constexpr uint16_t kIndexElsewhere = 0xffff;  // the index does not fit; kept in another table
constexpr unsigned kTypeNone = 0;
constexpr unsigned kTypeFunction = 2;
constexpr unsigned kTypeIndirectFunction = 10;
constexpr unsigned kBindLocal = 0;

constexpr size_t kEntriesPerChunk = 4096;

// A symbol that may name an address.
struct Candidate {
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t name = 0;
  uint8_t table = 0;  // index into the tables of the scan
  uint8_t rank = 0;
  int8_t underscores = -1;  // -1 = the name has not been looked at
  bool exists = false;
};

class Scan {
 public:
  Scan(const ElfFile& elf, const ByteSource& source, std::span<const uint64_t> addresses)
      : elf_(elf),
        source_(source),
        addresses_(addresses),
        sized_(addresses.size() * 2),
        unsized_(addresses.size()),
        nearest_start_(addresses.size(), 0) {}

  Result<std::vector<std::string>> Run() {
    for (const Section& section : elf_.sections()) {
      if (section.type != kSectionSymtab && section.type != kSectionDynsym) continue;
      RETURN_IF_ERROR(ScanTable(section));
    }
    return Names();
  }

 private:
  struct Table {
    std::unique_ptr<CachedReader> names;
    bool is_symtab = false;
  };

  Result<void> ScanTable(const Section& section) {
    const Section* names = StringTableOf(elf_, section);
    if (names == nullptr || section.entry_size_bytes != sizeof(SymbolEntry) ||
        tables_.size() > 0xff) {
      return {};
    }
    tables_.push_back(
        {std::make_unique<CachedReader>(source_, names->file_offset, names->size_bytes),
         section.type == kSectionSymtab});
    const uint64_t count = section.size_bytes / sizeof(SymbolEntry);
    std::vector<SymbolEntry> chunk(
        static_cast<size_t>(std::min<uint64_t>(count, kEntriesPerChunk)));
    for (uint64_t done = 0; done < count; done += chunk.size()) {
      chunk.resize(static_cast<size_t>(std::min<uint64_t>(count - done, kEntriesPerChunk)));
      RETURN_IF_ERROR(source_.ReadAt(section.file_offset + done * sizeof(SymbolEntry),
                                     std::as_writable_bytes(std::span(chunk))));
      for (const SymbolEntry& entry : chunk) Consider(entry);
    }
    return {};
  }

  // The section that the symbol lies in, when it holds code.
  const Section* CodeSectionOf(const SymbolEntry& entry) const {
    const auto& sections = elf_.sections();
    const auto holds = [&](const Section& section) {
      return (section.flags & kFlagExecutable) != 0 && entry.value >= section.vaddr &&
             entry.value - section.vaddr < section.size_bytes;
    };
    if (entry.section == kIndexElsewhere) {
      const auto found = std::find_if(sections.begin(), sections.end(), holds);
      return found == sections.end() ? nullptr : &*found;
    }
    if (entry.section == kIndexUndefined || entry.section >= kIndexReservedMin ||
        entry.section >= sections.size()) {
      return nullptr;
    }
    const Section& section = sections[entry.section];
    return holds(section) ? &section : nullptr;
  }

  void Consider(const SymbolEntry& entry) {
    const unsigned type = entry.info & 15;
    const unsigned bind = entry.info >> 4;
    if (type != kTypeNone && type != kTypeFunction && type != kTypeIndirectFunction) return;
    if (entry.name == 0 || entry.value > addresses_.back()) return;
    const Section* section = CodeSectionOf(entry);
    if (section == nullptr) return;
    const uint64_t section_end = section->vaddr + section->size_bytes;
    const uint64_t end = entry.size == 0
                             ? section_end
                             : entry.value + std::min(entry.size, ~uint64_t{0} - entry.value);
    const size_t first = IndexOf(entry.value);
    if (first == addresses_.size()) return;

    Candidate candidate;
    candidate.start = entry.value;
    candidate.end = end;
    candidate.name = entry.name;
    candidate.table = static_cast<uint8_t>(tables_.size() - 1);
    candidate.rank =
        static_cast<uint8_t>((tables_.back().is_symtab ? 4 : 0) | (bind != kBindLocal ? 2 : 0) |
                             (type != kTypeNone ? 1 : 0));
    candidate.exists = true;
    if (type == kTypeNone && bind == kBindLocal && IsMarker(candidate)) return;

    nearest_start_[first] = std::max(nearest_start_[first], candidate.start);
    if (entry.size == 0) {
      Keep(candidate, unsized_[first]);
      return;
    }
    if (addresses_[first] >= end) return;
    // Write it on the few nodes of the tree that together stand for addresses [first, last).
    const size_t last = IndexOf(end);
    for (size_t low = first + addresses_.size(), high = last + addresses_.size(); low < high;
         low /= 2, high /= 2) {
      if ((low & 1) != 0) Keep(candidate, sized_[low++]);
      if ((high & 1) != 0) Keep(candidate, sized_[--high]);
    }
  }

  size_t IndexOf(uint64_t vaddr) const {
    return static_cast<size_t>(std::lower_bound(addresses_.begin(), addresses_.end(), vaddr) -
                               addresses_.begin());
  }

  // "$x" marks code for disassemblers, ".L..." and the like are labels of the compiler.
  bool IsMarker(const Candidate& candidate) {
    const auto first = tables_[candidate.table].names->Read<char>(candidate.name);
    return !first || *first == '$' || *first == '.';
  }

  int Underscores(Candidate& candidate) {
    if (candidate.underscores < 0) {
      std::array<char, 4> start{};
      tables_[candidate.table].names->ReadBytes(candidate.name,
                                                std::as_writable_bytes(std::span(start)));
      int count = 0;
      while (count < 4 && start[static_cast<size_t>(count)] == '_') ++count;
      candidate.underscores = static_cast<int8_t>(count);
    }
    return candidate.underscores;
  }

  bool IsBetter(Candidate& candidate, Candidate& best) {
    if (!best.exists) return true;
    if (candidate.start != best.start) return candidate.start > best.start;
    if (candidate.rank != best.rank) return candidate.rank > best.rank;
    return Underscores(candidate) < Underscores(best);
  }

  void Keep(Candidate& candidate, Candidate& best) {
    if (candidate.exists && IsBetter(candidate, best)) best = candidate;
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names(addresses_.size());
    Candidate unsized;
    uint64_t nearest = 0;
    for (size_t i = 0; i < addresses_.size(); ++i) {
      Candidate best;
      for (size_t node = i + addresses_.size(); node > 0; node /= 2) {
        Keep(sized_[node], best);
      }
      Keep(unsized_[i], unsized);
      nearest = std::max(nearest, nearest_start_[i]);
      if (!best.exists && unsized.exists && unsized.start == nearest &&
          addresses_[i] < unsized.end) {
        best = unsized;
      }
      if (!best.exists) continue;
      names[i] = tables_[best.table].names->ReadCString(best.name, kSymbolNameBytesMax);
    }
    return names;
  }

  const ElfFile& elf_;
  const ByteSource& source_;
  std::span<const uint64_t> addresses_;
  std::vector<Table> tables_;
  // Symbols with a size, in a tree over the addresses: node i has the children 2i and 2i + 1, the
  // leaves are the addresses, and an address is named by the best candidate on its way to the root.
  std::vector<Candidate> sized_;
  // Symbols without one, by the first address at or behind their start.
  std::vector<Candidate> unsized_;
  std::vector<uint64_t> nearest_start_;  // latest start of any symbol, by the same index
};

}  // namespace

const Section* StringTableOf(const ElfFile& elf, const Section& symbols) {
  if (symbols.link >= elf.sections().size()) return nullptr;
  const Section& names = elf.sections()[symbols.link];
  return names.type == kSectionStrtab ? &names : nullptr;
}

Result<std::vector<std::string>> ScanSymbolNames(const ElfFile& elf, const ByteSource& source,
                                                 std::span<const uint64_t> addresses) {
  if (addresses.empty()) return std::vector<std::string>();
  return Scan(elf, source, addresses).Run();
}

}  // namespace vesta::symbolize
