#include "src/symbolize/index/symbol_index.h"

#include <algorithm>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vesta::symbolize {

namespace {

using base::Error;
using base::ErrorCode;

Error Corrupt(const std::string& what) {
  return Error(ErrorCode::kCorrupt, "symbol index: " + what);
}

// The i-th object of an array; zeros behind its end.
template <typename T>
T ObjectAt(IndexBytes bytes, uint64_t i) {
  T object{};
  if (i < bytes.size() / sizeof(T)) {
    std::memcpy(&object, bytes.data() + i * sizeof(T), sizeof(T));
  }
  return object;
}

std::string_view TextOf(IndexBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

base::Result<IndexHeader> ReadHeader(IndexBytes bytes) {
  IndexHeader header;
  if (bytes.size() < sizeof(header)) return Corrupt("shorter than its header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kIndexMagic) return Corrupt("it does not begin like one");
  if (header.version != kIndexVersion) {
    return Error(ErrorCode::kUnsupported,
                 "symbol index: version " + std::to_string(header.version) + ", this vesta reads " +
                     std::to_string(kIndexVersion));
  }
  if (header.checksum != XXH3_64bits(&header, offsetof(IndexHeader, checksum))) {
    return Corrupt("the checksum of the header is wrong");
  }
  if (header.file_bytes != bytes.size()) return Corrupt("it is not as long as it says");
  if (header.page_shift < kPageShiftMin || header.page_shift > kPageShiftMax ||
      header.span_bytes >> 32 != 0) {
    return Corrupt("the header makes no sense");
  }
  return header;
}

}  // namespace

base::Result<SymbolIndex> SymbolIndex::Open(IndexBytes bytes, std::string_view identity) {
  ASSIGN_OR_RETURN(const IndexHeader header, ReadHeader(bytes));
  std::array<IndexBytes, kIndexSectionCount> sections;
  for (size_t i = 0; i < kIndexSectionCount; ++i) {
    const SectionEntry& entry = header.sections[i];
    if (entry.offset > bytes.size() || entry.size_bytes > bytes.size() - entry.offset) {
      return Corrupt("a section lies outside of it");
    }
    sections[i] = bytes.subspan(entry.offset, entry.size_bytes);
    if (XXH3_64bits(sections[i].data(), sections[i].size()) != entry.checksum) {
      return Corrupt("the checksum of section " + std::to_string(i) + " is wrong");
    }
  }
  const auto section = [&](IndexSection which) { return sections[static_cast<size_t>(which)]; };
  if (TextOf(section(IndexSection::kIdentity)) != identity) {
    return Error(ErrorCode::kNotFound, "symbol index: it is of another image");
  }
  SymbolIndex index;
  index.base_ = header.base;
  index.span_bytes_ = header.span_bytes;
  index.page_shift_ = header.page_shift;
  index.pages_ = section(IndexSection::kPages);
  index.places_ = section(IndexSection::kPlaces);
  index.nodes_ = section(IndexSection::kNodes);
  index.functions_ = section(IndexSection::kFunctions);
  index.files_ = section(IndexSection::kFiles);
  index.strings_ = section(IndexSection::kStrings);
  return index;
}

size_t SymbolIndex::Find(uint64_t address, std::span<Call> out) const {
  const uint64_t offset = address - base_;
  if (offset >= span_bytes_ || out.empty()) return 0;
  const PagePlace place = PlaceAt(static_cast<uint32_t>(offset));
  Node node = NodeAt(place.node);
  FunctionRecord record = Record(node.function);
  out[0].function = node.function;
  out[0].file = place.file_said ? place.file : record.file;
  out[0].line = record.start_line + place.line_distance;
  if (place.node == 0 && out[0].file == 0 && out[0].line == 0) return 0;
  size_t count = 1;
  for (; count < out.size() && node.parent != 0; ++count) {
    const Node parent = NodeAt(node.parent);
    record = Record(parent.function);
    out[count].function = parent.function;
    out[count].file = node.call_file_said ? node.call_file : record.file;
    out[count].line = record.start_line + node.call_line_distance;
    node = parent;
  }
  return count;
}

SymbolIndex::PagePlace SymbolIndex::PlaceAt(uint32_t offset) const {
  const uint32_t page = offset >> page_shift_;
  PagePlace place;
  if (page + uint64_t{2} > pages_.size() / sizeof(uint32_t)) return place;
  const auto begin = ObjectAt<uint32_t>(pages_, page);
  const auto end = ObjectAt<uint32_t>(pages_, page + 1);
  if (begin > end || end > places_.size()) return place;
  // A writer of ours makes at most one change per byte of code.
  const size_t page_bytes_max = kPlaceBytesMax << page_shift_;
  NumberReader reader(places_.subspan(begin, std::min<size_t>(end - begin, page_bytes_max)));
  const uint32_t wanted = offset - (page << page_shift_);
  uint32_t position = 0;
  while (!reader.AtEnd()) {
    const uint32_t first = reader.Byte();
    uint32_t distance = first >> kDistanceShift;
    if (distance == kDistanceFollows) distance += reader.Unsigned();
    position += distance;
    if (position > wanted) break;
    if ((first & kNodeFollows) != 0) {
      place.node += reader.Difference();
      place.line_distance = 0;
    }
    place.file_said = (first & kFileFollows) != 0;
    if (place.file_said) place.file = reader.Unsigned();
    place.line_distance += reader.Difference();
  }
  return place;
}

SymbolIndex::Node SymbolIndex::NodeAt(uint32_t id) const {
  Node node;
  if (id >= nodes_.size()) return node;
  NumberReader reader(nodes_.subspan(id));
  node.function = reader.Unsigned();
  const uint32_t parent = reader.Unsigned();
  const uint32_t distance = parent >> 1;
  if (distance == 0 || distance >= id) return node;
  node.parent = id - distance;
  node.call_file_said = (parent & 1) != 0;
  if (node.call_file_said) node.call_file = reader.Unsigned();
  node.call_line_distance = reader.Difference();
  return node;
}

FunctionRecord SymbolIndex::Record(uint32_t id) const {
  return ObjectAt<FunctionRecord>(functions_, id);
}

IndexFunction SymbolIndex::function(uint32_t id) const {
  const FunctionRecord record = Record(id);
  return {String(record.name), String(record.linkage_name), file(record.file), record.start_line};
}

std::string_view SymbolIndex::file(uint32_t id) const {
  return String(ObjectAt<uint32_t>(files_, id));
}

uint32_t SymbolIndex::function_count() const {
  return static_cast<uint32_t>(functions_.size() / sizeof(FunctionRecord));
}

uint32_t SymbolIndex::file_count() const {
  return static_cast<uint32_t>(files_.size() / sizeof(uint32_t));
}

std::string_view SymbolIndex::String(uint32_t id) const {
  if (id >= strings_.size()) return {};
  NumberReader reader(strings_.subspan(id));
  const uint32_t size_bytes = reader.Unsigned();
  const IndexBytes rest = reader.Rest();
  if (size_bytes > rest.size()) return {};
  return TextOf(rest.first(size_bytes));
}

}  // namespace vesta::symbolize
