#include "src/object/go_pclntab.h"

#include <algorithm>
#include <array>

#include "src/object/go_pclntab_place.h"

namespace vesta::object {
namespace {

using base::ByteSource;
using base::Error;
using base::ErrorCode;
using base::Result;

constexpr size_t kHeaderBytes = 8;  // magic, two zeros, quantum, pointer size
constexpr uint64_t kPointerBytes = 8;
constexpr uint32_t kFunctionsMax = 1 << 24;
constexpr size_t kNameBytesMax = 4096;
constexpr uint32_t kNoUnit = 0xffffffff;

Error Damaged(const char* what) {
  return Error(ErrorCode::kCorrupt, std::string("Go's function table: ") + what);
}

}  // namespace

std::optional<GoVersion> GoVersionOfMagic(uint32_t magic) {
  switch (magic) {
    case 0xfffffffb:
      return GoVersion::k1_2;
    case 0xfffffffa:
      return GoVersion::k1_16;
    case 0xfffffff0:
      return GoVersion::k1_18;
    case 0xfffffff1:
      return GoVersion::k1_20;
    default:
      return std::nullopt;
  }
}

std::optional<uint32_t> GoValueWalk::TakeVarint() {
  uint32_t value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (offset_ >= end_offset_) return std::nullopt;
    const auto bytes = reader_->BlockFrom(offset_);
    if (bytes.empty()) return std::nullopt;
    const auto byte = std::to_integer<uint32_t>(bytes.front());
    ++offset_;
    value |= (byte & 0x7f) << (shift & 31);
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::optional<GoValueWalk::Range> GoValueWalk::Next() {
  if (vaddr_ >= end_vaddr_) return std::nullopt;
  const auto value_step = TakeVarint();
  if (!value_step || (*value_step == 0 && !is_first_)) return std::nullopt;
  const auto vaddr_step = TakeVarint();
  // A step of zero would let a hostile table walk on and on.
  if (!vaddr_step || *vaddr_step == 0) return std::nullopt;
  is_first_ = false;
  // Zigzag: the lowest bit is the sign.
  const uint32_t change = (*value_step & 1) != 0 ? ~(*value_step >> 1) : *value_step >> 1;
  value_ = static_cast<int32_t>(static_cast<uint32_t>(value_) + change);
  Range range{vaddr_, 0, value_};
  const uint64_t size = uint64_t{*vaddr_step} * quantum_;
  vaddr_ = size < end_vaddr_ - vaddr_ ? vaddr_ + size : end_vaddr_;
  range.end_vaddr = vaddr_;
  return range;
}

Result<GoPclntab> GoPclntab::Find(const ElfFile& elf, const ByteSource& source) {
  ASSIGN_OR_RETURN(const GoPclntabPlace place, FindGoPclntab(elf, source));
  return Parse(source, place.file_offset, place.size_bytes, place.text_vaddr);
}

Result<GoPclntab> GoPclntab::Parse(const ByteSource& source, uint64_t file_offset,
                                   uint64_t size_bytes, uint64_t text_vaddr) {
  GoPclntab table;
  table.reader_ = std::make_unique<CachedReader>(source, file_offset, size_bytes);
  RETURN_IF_ERROR(table.ReadHeader(table.reader_->size_bytes(), text_vaddr));
  return table;
}

Result<void> GoPclntab::ReadHeader(uint64_t size_bytes, uint64_t text_vaddr) {
  struct Start {
    uint32_t magic;
    uint8_t zeros[2];
    uint8_t quantum;
    uint8_t pointer_size;
  };
  const auto start = reader_->Read<Start>(0);
  if (!start) return Damaged("it is cut short");
  const auto version = GoVersionOfMagic(start->magic);
  if (!version || start->zeros[0] != 0 || start->zeros[1] != 0) return Damaged("wrong magic");
  if (start->pointer_size != kPointerBytes) {
    return Error(ErrorCode::kUnsupported, "Go's function table is not of a 64-bit program");
  }
  if (start->quantum != 1 && start->quantum != 2 && start->quantum != 4) {
    return Damaged("wrong instruction size");
  }
  version_ = *version;
  quantum_ = start->quantum;
  // How many words follow, and which of them is the first offset of a part.
  const bool has_text = version_ == GoVersion::k1_18 || version_ == GoVersion::k1_20;
  const size_t first_part = has_text ? 3 : 2;
  std::array<uint64_t, 8> words{};
  const size_t word_count = version_ == GoVersion::k1_2 ? 1 : first_part + 5;
  if (!reader_->ReadBytes(kHeaderBytes,
                          std::as_writable_bytes(std::span(words).first(word_count)))) {
    return Damaged("it is cut short");
  }
  if (words[0] == 0 || words[0] > kFunctionsMax) return Damaged("impossible number of functions");
  function_count_ = static_cast<uint32_t>(words[0]);
  text_vaddr_ = has_text ? text_vaddr : 0;
  if (version_ == GoVersion::k1_2) {
    function_index_ = kHeaderBytes + kPointerBytes;
  } else {
    names_ = words[first_part];
    units_ = words[first_part + 1];
    files_ = words[first_part + 2];
    values_ = words[first_part + 3];
    functions_ = words[first_part + 4];
    function_index_ = functions_;
    for (const uint64_t part : {names_, units_, files_, values_, functions_}) {
      if (part >= size_bytes) return Damaged("a part lies outside of it");
    }
  }
  const uint64_t field_bytes = has_text ? 4 : kPointerBytes;
  const uint64_t index_bytes = (uint64_t{function_count_} * 2 + 1) * field_bytes;
  if (index_bytes > size_bytes - function_index_) return Damaged("it is cut short");
  if (version_ == GoVersion::k1_2) {
    const auto files = reader_->Read<uint32_t>(function_index_ + index_bytes);
    if (!files || *files >= size_bytes) return Damaged("the list of files lies outside of it");
    files_ = *files;
  }
  return {};
}

std::optional<uint64_t> GoPclntab::EntryVaddr(uint32_t index) {
  if (version_ == GoVersion::k1_18 || version_ == GoVersion::k1_20) {
    const auto offset = reader_->Read<uint32_t>(function_index_ + uint64_t{index} * 8);
    if (!offset) return std::nullopt;
    return text_vaddr_ + *offset;
  }
  return reader_->Read<uint64_t>(function_index_ + uint64_t{index} * 16);
}

std::optional<GoFunction> GoPclntab::FunctionAt(uint32_t index) {
  if (index >= function_count_) return std::nullopt;
  const auto start = EntryVaddr(index);
  const auto end = EntryVaddr(index + 1);
  if (!start || !end || *end <= *start) return std::nullopt;
  const bool is_compact = version_ == GoVersion::k1_18 || version_ == GoVersion::k1_20;
  uint64_t offset = functions_;
  if (is_compact) {
    const auto place = reader_->Read<uint32_t>(function_index_ + uint64_t{index} * 8 + 4);
    if (!place) return std::nullopt;
    offset += *place;
  } else {
    const auto place = reader_->Read<uint64_t>(function_index_ + uint64_t{index} * 16 + 8);
    if (!place || *place >= reader_->size_bytes()) return std::nullopt;
    offset += *place;
  }
  offset += is_compact ? 4 : kPointerBytes;  // the entry again
  // name, size of arguments, deferreturn, three tables, count of others, unit, line, marks
  std::array<uint32_t, 10> words{};
  const size_t word_count = version_ == GoVersion::k1_20 ? 10 : version_ == GoVersion::k1_2 ? 7 : 9;
  if (!reader_->ReadBytes(offset, std::as_writable_bytes(std::span(words).first(word_count)))) {
    return std::nullopt;
  }
  GoFunction function;
  function.start_vaddr = *start;
  function.end_vaddr = *end;
  function.name_offset = words[0];
  function.sp_table = words[3];
  function.file_table = words[4];
  function.line_table = words[5];
  function.unit = version_ == GoVersion::k1_2 ? kNoUnit : words[7];
  if (version_ == GoVersion::k1_20) {
    function.start_line = static_cast<int32_t>(words[8]) < 0 ? 0 : words[8];
  }
  if (version_ != GoVersion::k1_2) {
    // Bytes: number of a special function, flags, padding, count of tables.
    function.flags = static_cast<uint8_t>(words[version_ == GoVersion::k1_20 ? 9 : 8] >> 8);
  }
  return function;
}

std::optional<GoFunction> GoPclntab::FunctionCovering(uint64_t vaddr) {
  uint32_t low = 0;  // EntryVaddr(low) <= vaddr < EntryVaddr(high)
  uint32_t high = function_count_;
  const auto first = EntryVaddr(low);
  const auto end = EntryVaddr(high);
  if (!first || !end || vaddr < *first || vaddr >= *end) return std::nullopt;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    const auto entry = EntryVaddr(middle);
    if (!entry) return std::nullopt;
    (*entry <= vaddr ? low : high) = middle;
  }
  const auto function = FunctionAt(low);
  // A damaged index may not ascend.
  if (!function || vaddr < function->start_vaddr || vaddr >= function->end_vaddr) {
    return std::nullopt;
  }
  return function;
}

std::string GoPclntab::NameOf(const GoFunction& function) {
  return reader_->ReadCString(names_ + function.name_offset, kNameBytesMax);
}

GoValueWalk GoPclntab::Walk(const GoFunction& function, uint32_t table) {
  // Offset 0 means none; an end before it makes the walk empty.
  const uint64_t end = table == 0 ? 0 : reader_->size_bytes();
  return GoValueWalk(reader_.get(), values_ + table, end, function.start_vaddr, function.end_vaddr,
                     quantum_);
}

GoValueWalk GoPclntab::StackDepths(const GoFunction& function) {
  return Walk(function, function.sp_table);
}

GoValueWalk GoPclntab::Lines(const GoFunction& function) {
  return Walk(function, function.line_table);
}

std::optional<int32_t> GoPclntab::ValueAt(const GoFunction& function, uint32_t table,
                                          uint64_t vaddr) {
  GoValueWalk walk = Walk(function, table);
  while (const auto range = walk.Next()) {
    if (vaddr < range->end_vaddr) return range->value;
  }
  return std::nullopt;
}

uint32_t GoPclntab::LineOf(const GoFunction& function, uint64_t vaddr) {
  const auto line = ValueAt(function, function.line_table, vaddr);
  return line && *line > 0 ? static_cast<uint32_t>(*line) : 0;
}

std::string GoPclntab::FileOf(const GoFunction& function, uint64_t vaddr) {
  const auto number = ValueAt(function, function.file_table, vaddr);
  if (!number || *number < 0) return {};
  const auto index = static_cast<uint32_t>(*number);
  if (version_ == GoVersion::k1_2) {
    // The first word counts the files; the numbers start at 1.
    const auto count = reader_->Read<uint32_t>(files_);
    if (!count || index == 0 || index >= *count) return {};
    const auto name = reader_->Read<uint32_t>(files_ + uint64_t{index} * 4);
    return name ? reader_->ReadCString(*name, kNameBytesMax) : std::string();
  }
  if (function.unit == kNoUnit) return {};
  const auto name = reader_->Read<uint32_t>(units_ + (uint64_t{function.unit} + index) * 4);
  if (!name || *name == 0xffffffff) return {};
  return reader_->ReadCString(files_ + *name, kNameBytesMax);
}

}  // namespace vesta::object
