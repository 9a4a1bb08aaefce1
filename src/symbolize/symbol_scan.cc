#include "src/symbolize/symbol_scan.h"

#include <algorithm>
#include <array>
#include <memory>

#include "src/object/cached_reader.h"
#include "src/symbolize/symbol_table.h"

namespace vesta::symbolize {
namespace {

using base::ByteSource;
using base::Result;
using object::CachedReader;
using object::ElfFile;
using object::Section;

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
      if (!IsSymbolTable(section)) continue;
      RETURN_IF_ERROR(ScanTable(section));
    }
    return Names();
  }

 private:
  Result<void> ScanTable(const Section& section) {
    const Section* names = StringTableOf(elf_, section);
    if (names == nullptr || tables_.size() > 0xff) return {};
    tables_.push_back(
        std::make_unique<CachedReader>(source_, names->file_offset, names->size_bytes));
    return VisitCodeSymbols(elf_, source_, section,
                            [this](const CodeSymbol& symbol) { Consider(symbol); });
  }

  void Consider(const CodeSymbol& symbol) {
    if (symbol.start > addresses_.back()) return;
    const size_t first = IndexOf(symbol.start);
    Candidate candidate;
    candidate.start = symbol.start;
    candidate.end = symbol.end;
    candidate.name = symbol.name;
    candidate.table = static_cast<uint8_t>(tables_.size() - 1);
    candidate.rank = symbol.rank;
    candidate.exists = true;
    if (symbol.may_be_marker && IsMarker(candidate)) return;

    nearest_start_[first] = std::max(nearest_start_[first], candidate.start);
    if (!symbol.has_size) {
      Keep(candidate, unsized_[first]);
      return;
    }
    if (addresses_[first] >= symbol.end) return;
    // Write it on the few nodes of the tree that together stand for addresses [first, last).
    const size_t last = IndexOf(symbol.end);
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

  bool IsMarker(const Candidate& candidate) {
    const auto first = tables_[candidate.table]->Read<char>(candidate.name);
    return !first || IsMarkerStart(*first);
  }

  int Underscores(Candidate& candidate) {
    if (candidate.underscores < 0) {
      std::array<char, kUnderscoresMax> start{};
      tables_[candidate.table]->ReadBytes(candidate.name, std::as_writable_bytes(std::span(start)));
      int count = 0;
      while (count < kUnderscoresMax && start[static_cast<size_t>(count)] == '_') ++count;
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
      names[i] = tables_[best.table]->ReadCString(best.name, kSymbolNameBytesMax);
    }
    return names;
  }

  const ElfFile& elf_;
  const ByteSource& source_;
  std::span<const uint64_t> addresses_;
  std::vector<std::unique_ptr<CachedReader>> tables_;  // of names
  // Symbols with a size, in a tree over the addresses: node i has the children 2i and 2i + 1, the
  // leaves are the addresses, and an address is named by the best candidate on its way to the root.
  std::vector<Candidate> sized_;
  // Symbols without one, by the first address at or behind their start.
  std::vector<Candidate> unsized_;
  std::vector<uint64_t> nearest_start_;  // latest start of any symbol, by the same index
};

}  // namespace

Result<std::vector<std::string>> ScanSymbolNames(const ElfFile& elf, const ByteSource& source,
                                                 std::span<const uint64_t> addresses) {
  if (addresses.empty()) return std::vector<std::string>();
  return Scan(elf, source, addresses).Run();
}

}  // namespace vesta::symbolize
