#include "src/symbolize/index_build/symbol_list.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "src/symbolize/plt_names.h"

namespace vesta::symbolize {
namespace {

// Names may share their ends, but no linker shares so much that all together are longer than this
// many string tables.
constexpr uint64_t kSharedTimesMax = 4;
constexpr uint64_t kNameBytesMax = uint64_t{1} << 30;

constexpr uint64_t kFlagExecutable = 4;
constexpr uint64_t kStubStepBytes = 8;  // the smallest stub, and a divisor of the others
constexpr uint64_t kStubsMax = 1 << 20;

int UnderscoreCount(std::string_view name) {
  int count = 0;
  while (count < kUnderscoresMax && static_cast<size_t>(count) < name.size() &&
         name[static_cast<size_t>(count)] == '_') {
    ++count;
  }
  return count;
}

}  // namespace

std::string_view SymbolList::NameOf(std::span<const std::byte> names, const CodeSymbol& symbol) {
  if (symbol.name >= names.size()) return {};
  const char* start = reinterpret_cast<const char*>(names.data()) + symbol.name;
  const size_t room = std::min<size_t>(names.size() - symbol.name, kSymbolNameBytesMax);
  const void* end = std::memchr(start, 0, room);
  const std::string_view name(
      start, end == nullptr ? room : static_cast<size_t>(static_cast<const char*>(end) - start));
  if (name.size() > name_bytes_left_) {
    ++cut_count_;
    return {};
  }
  name_bytes_left_ -= name.size();
  return name;
}

void SymbolList::AddTables(const DebugObject& object) {
  for (const object::Section& section : object.elf().sections()) {
    if (!IsSymbolTable(section)) continue;
    const object::Section* table = StringTableOf(object.elf(), section);
    if (table == nullptr) continue;
    const auto names = object.Stored(*table);
    name_bytes_left_ = std::min(kNameBytesMax, name_bytes_left_ + kSharedTimesMax * names.size());
    const auto visited =
        VisitCodeSymbols(object.elf(), object.source(), section, [&](const CodeSymbol& symbol) {
          const std::string_view name = NameOf(names, symbol);
          if (name.empty() || (symbol.may_be_marker && IsMarkerStart(name[0]))) return;
          symbols_.push_back({symbol, name});
        });
    // Mapped bytes can always be read.
    static_cast<void>(visited.ok());
  }
}

void SymbolList::AddStubs(const DebugObject& image) {
  std::vector<uint64_t> addresses;
  for (const object::Section& section : image.elf().sections()) {
    if ((section.flags & kFlagExecutable) == 0 ||
        (!section.name.starts_with(".plt") && section.name != ".iplt")) {
      continue;
    }
    for (uint64_t at = 0; at < section.size_bytes && addresses.size() < kStubsMax;
         at += kStubStepBytes) {
      addresses.push_back(section.vaddr + at);
    }
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  const auto names = NamePltStubs(image.elf(), image.source(), addresses);
  if (!names.ok()) return;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if ((*names)[i].empty()) continue;
    stub_names_.push_back((*names)[i] + "@plt");
    CodeSymbol place;
    place.start = addresses[i];
    place.end = addresses[i] + kStubStepBytes;
    while (i + 1 < addresses.size() && addresses[i + 1] == place.end &&
           (*names)[i + 1] == (*names)[i]) {
      place.end += kStubStepBytes;
      ++i;
    }
    place.has_size = true;
    symbols_.push_back({place, stub_names_.back()});
  }
}

void SymbolList::Give(IndexWriter& writer) {
  const auto key = [](const Symbol& symbol) {
    return std::make_tuple(symbol.place.start, -int{symbol.place.rank},
                           UnderscoreCount(symbol.name));
  };
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [&](const Symbol& a, const Symbol& b) { return key(a) < key(b); });
  uint64_t next_start = ~uint64_t{0};
  // From behind, each that has no size learns where the next one starts.
  for (size_t i = symbols_.size(); i-- > 0;) {
    CodeSymbol& place = symbols_[i].place;
    if (i + 1 < symbols_.size() && symbols_[i + 1].place.start != place.start) {
      next_start = symbols_[i + 1].place.start;
    }
    if (!place.has_size) place.end = std::min(place.end, next_start);
  }
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const auto& [place, name] = symbols_[i];
    if (i > 0 && symbols_[i - 1].place.start == place.start &&
        symbols_[i - 1].place.end == place.end &&
        symbols_[i - 1].place.has_size == place.has_size) {
      continue;  // another name of the same code
    }
    IndexFunction function;
    function.linkage_name = name;
    writer.AddFunction(place.start, place.end, function,
                       place.has_size ? FunctionEnd::kKnown : FunctionEnd::kGuessed);
  }
}

}  // namespace vesta::symbolize
