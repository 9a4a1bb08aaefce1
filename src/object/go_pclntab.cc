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
// Lists of further tables: which number stands for the entry of the inline tree, which data are it.
constexpr uint32_t kInlineIndexTable = 2;
constexpr uint32_t kInlineTreeData = 3;
constexpr uint32_t kNoData = 0xffffffff;
constexpr size_t kInlineDepthMax = 128;
constexpr uint32_t kTreesToCheck = 64;
// A function of a megabyte has about 200,000 steps in each table; one question asks for the two
// tables of each inlined call.
constexpr uint32_t kStepsMax = 4 << 20;
// In runtime.moduledata, the base of the inline trees lies this many words behind the start of the
// code: 16 in Go 1.18, 18 in 1.26.
constexpr size_t kTreeWordMin = 12;
constexpr size_t kTreeWordMax = 24;

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
  ASSIGN_OR_RETURN(GoPclntab table,
                   Parse(source, place.file_offset, place.size_bytes, place.text_vaddr));
  table.vaddr_ = place.vaddr;
  return table;
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
    names_end_ = size_bytes;
    for (const uint64_t part : {names_, units_, files_, values_, functions_}) {
      if (part >= size_bytes) return Damaged("a part lies outside of it");
      if (part > names_) names_end_ = std::min(names_end_, part);
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
    // Bytes: number of a special function, flags, padding, count of data.
    const uint32_t bytes = words[word_count - 1];
    function.flags = static_cast<uint8_t>(bytes >> 8);
    if (is_compact) {
      function.lists = offset + word_count * 4;
      function.number_table_count = words[6];
      function.data_table_count = static_cast<uint8_t>(bytes >> 24);
    }
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

std::string GoPclntab::NameOf(const GoFunction& function) { return NameAt(function.name_offset); }

std::string GoPclntab::NameAt(uint32_t name_offset) {
  return reader_->ReadCString(names_ + name_offset, kNameBytesMax);
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

GoValueWalk GoPclntab::Files(const GoFunction& function) {
  return Walk(function, function.file_table);
}

GoValueWalk GoPclntab::InlinedCalls(const GoFunction& function) {
  const auto tree = InlineTreeOf(function);
  return Walk(function, tree ? tree->index_table : 0);
}

std::optional<int32_t> GoPclntab::ValueAt(const GoFunction& function, uint32_t table,
                                          uint64_t vaddr, uint32_t& steps_left) {
  GoValueWalk walk = Walk(function, table);
  while (steps_left > 0) {
    --steps_left;
    const auto range = walk.Next();
    if (!range) break;
    if (vaddr < range->end_vaddr) return range->value;
  }
  return std::nullopt;
}

uint32_t GoPclntab::LineOf(const GoFunction& function, uint64_t vaddr) {
  uint32_t steps_left = kStepsMax;
  return LineOf(function, vaddr, steps_left);
}

uint32_t GoPclntab::LineOf(const GoFunction& function, uint64_t vaddr, uint32_t& steps_left) {
  const auto line = ValueAt(function, function.line_table, vaddr, steps_left);
  return line && *line > 0 ? static_cast<uint32_t>(*line) : 0;
}

std::string GoPclntab::FileOf(const GoFunction& function, uint64_t vaddr) {
  uint32_t steps_left = kStepsMax;
  return FileOf(function, vaddr, steps_left);
}

std::string GoPclntab::FileOf(const GoFunction& function, uint64_t vaddr, uint32_t& steps_left) {
  const auto number = ValueAt(function, function.file_table, vaddr, steps_left);
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

Result<void> GoPclntab::FindInlineTrees(const ElfFile& elf, const ByteSource& source) {
  const auto first_function = EntryVaddr(0);
  const bool has_trees = version_ == GoVersion::k1_18 || version_ == GoVersion::k1_20;
  const auto module = has_trees && vaddr_ != 0 && first_function
                          ? FindGoModuleData(elf, source, vaddr_, *first_function - text_vaddr_)
                          : std::nullopt;
  if (module) {
    const size_t end = std::min(module->text_word + kTreeWordMax, module->words.size());
    for (size_t i = module->text_word + kTreeWordMin; i < end; ++i) {
      const auto offset = elf.FileOffsetOf(module->words[i]);
      if (offset && UseInlineTrees(source, *offset).ok()) return {};
    }
  }
  return Error(ErrorCode::kUnsupported, "the Go program does not tell what was inlined");
}

Result<void> GoPclntab::UseInlineTrees(const ByteSource& source, uint64_t file_offset) {
  tree_reader_ = std::make_unique<CachedReader>(source, file_offset, source.size_bytes());
  if (DoInlineTreesFit()) return {};
  tree_reader_.reset();
  return Error(ErrorCode::kCorrupt, "Go's inline trees do not fit its function table");
}

// Looks at one entry each of some trees, spread over the whole table.
bool GoPclntab::DoInlineTreesFit() {
  uint32_t checked_count = 0;
  uint32_t steps_left = kStepsMax;
  const uint32_t stride = std::max(function_count_ / kTreesToCheck, 1u);
  for (uint32_t i = 0; i < function_count_; i += stride) {
    const auto function = FunctionAt(i);
    const auto tree = function ? InlineTreeOf(*function) : std::nullopt;
    if (!tree) continue;
    GoValueWalk walk = Walk(*function, tree->index_table);
    auto range = walk.Next();
    while (range && range->value < 0 && steps_left > 0) {
      --steps_left;
      range = walk.Next();
    }
    if (!range || range->value < 0) continue;
    if (!InlinedCallAt(*function, *tree, static_cast<uint32_t>(range->value))) return false;
    ++checked_count;
  }
  return checked_count > 0;
}

std::optional<GoPclntab::InlineTree> GoPclntab::InlineTreeOf(const GoFunction& function) {
  if (tree_reader_ == nullptr || function.number_table_count <= kInlineIndexTable ||
      function.data_table_count <= kInlineTreeData) {
    return std::nullopt;
  }
  const auto index_table = reader_->Read<uint32_t>(function.lists + kInlineIndexTable * 4);
  const auto offset = reader_->Read<uint32_t>(
      function.lists + (uint64_t{function.number_table_count} + kInlineTreeData) * 4);
  if (!index_table || *index_table == 0 || !offset || *offset == kNoData) return std::nullopt;
  return InlineTree{*index_table, *offset};
}

// Empty when the entry cannot be one: then none of the tree is to be trusted.
std::optional<GoPclntab::InlinedCall> GoPclntab::InlinedCallAt(const GoFunction& function,
                                                               const InlineTree& tree,
                                                               uint32_t index) {
  InlinedCall call;
  uint32_t parent_offset = 0;
  if (version_ == GoVersion::k1_20) {
    // number of a special function and padding, name, parent, line
    const auto words =
        tree_reader_->Read<std::array<uint32_t, 4>>(tree.offset + uint64_t{16} * index);
    if (!words || (*words)[0] >> 8 != 0) return std::nullopt;
    call.name_offset = (*words)[1];
    parent_offset = (*words)[2];
    call.start_line = static_cast<int32_t>((*words)[3]) < 0 ? 0 : (*words)[3];
  } else {
    // parent's index, number of a special function, padding; file, line, name, parent
    const auto words =
        tree_reader_->Read<std::array<uint32_t, 5>>(tree.offset + uint64_t{20} * index);
    if (!words || (*words)[0] >> 24 != 0) return std::nullopt;
    call.name_offset = (*words)[3];
    parent_offset = (*words)[4];
  }
  call.parent_vaddr = function.start_vaddr + parent_offset;
  if (call.parent_vaddr >= function.end_vaddr) return std::nullopt;
  // A name starts where another has ended.
  if (call.name_offset >= names_end_ - names_) return std::nullopt;
  if (call.name_offset != 0 && reader_->Read<char>(names_ + call.name_offset - 1) != '\0') {
    return std::nullopt;
  }
  return call;
}

std::vector<GoCall> GoPclntab::CallsAt(uint64_t vaddr) {
  const auto function = FunctionCovering(vaddr);
  if (!function) return {};
  const auto tree = InlineTreeOf(*function);
  uint32_t steps_left = kStepsMax;
  std::vector<GoCall> calls;
  uint64_t at = vaddr;
  const auto add = [&](std::string name, uint32_t start_line) {
    calls.push_back({std::move(name), FileOf(*function, at, steps_left),
                     LineOf(*function, at, steps_left), start_line});
  };
  while (tree) {
    const auto index = ValueAt(*function, tree->index_table, at, steps_left);
    if (!index || *index < 0) break;
    const auto call = InlinedCallAt(*function, *tree, static_cast<uint32_t>(*index));
    std::string name = call ? NameAt(call->name_offset) : std::string();
    if (name.empty() || calls.size() == kInlineDepthMax) {
      calls.clear();
      at = vaddr;
      break;
    }
    add(std::move(name), call->start_line);
    at = call->parent_vaddr;
  }
  std::string name = NameAt(function->name_offset);
  if (name.empty()) return {};
  add(std::move(name), function->start_line);
  return calls;
}

}  // namespace vesta::object
