#include "src/dwarf/line_program.h"

#include <algorithm>
#include <array>

#include "src/dwarf/constants.h"

namespace vesta::dwarf {

namespace {

using base::ByteReader;
using base::Error;
using base::ErrorCode;

std::string_view Cut(std::string_view name) { return name.substr(0, kNameBytesMax); }

// Joins as LLVM does: one slash between the parts, which are otherwise left as they are.
void AppendPath(std::string& path, std::string_view part) {
  if (part.empty()) return;
  if (!path.empty() && path.back() == '/') {
    const size_t start = part.find_first_not_of('/');
    part = start == std::string_view::npos ? std::string_view() : part.substr(start);
  } else if (!path.empty() && part.front() != '/') {
    path += '/';
  }
  path += part;
}

bool IsAbsolute(std::string_view path) { return !path.empty() && path.front() == '/'; }

}  // namespace

base::Result<LineTable> LineTable::Open(Bytes line, uint64_t offset, const UnitContext& unit,
                                        uint64_t& header_bytes) {
  header_bytes = 0;
  if (offset > line.size()) return Error(ErrorCode::kCorrupt, "DW_AT_stmt_list leads nowhere");
  ByteReader outer(line.subspan(offset));
  LineTable table;
  uint64_t length = outer.Read<uint32_t>();
  if (length == 0xffffffff) {
    table.sizes_.offset = 8;
    length = outer.Read<uint64_t>();
  }
  const Bytes body = outer.ReadBytes(length);
  if (!outer.ok()) return Error(ErrorCode::kCorrupt, "a line table is cut off");
  ByteReader reader(body);
  table.version_ = reader.Read<uint16_t>();
  if (table.version_ < 2 || table.version_ > 5) {
    return Error(ErrorCode::kUnsupported, "a line table of no known version");
  }
  table.comp_dir_ = unit.comp_dir();
  table.sizes_.address = unit.header().sizes.address;
  if (table.version_ >= 5) {
    table.sizes_.address = reader.Read<uint8_t>();
    reader.Skip(1);  // segment selectors are not used
  }
  const uint64_t header_length =
      table.sizes_.offset == 8 ? reader.Read<uint64_t>() : reader.Read<uint32_t>();
  if (!reader.ok() || header_length > reader.remaining() ||
      (table.sizes_.address != 4 && table.sizes_.address != 8)) {
    return Error(ErrorCode::kCorrupt, "the header of a line table is damaged");
  }
  table.program_ = body.subspan(reader.position() + header_length);
  table.instruction_bytes_min_ = reader.Read<uint8_t>();
  if (table.version_ >= 4) table.operations_max_ = reader.Read<uint8_t>();
  reader.Skip(1);  // default_is_stmt
  table.line_base_ = reader.Read<int8_t>();
  table.line_range_ = reader.Read<uint8_t>();
  table.opcode_base_ = reader.Read<uint8_t>();
  if (table.line_range_ == 0 || table.opcode_base_ == 0) {
    return Error(ErrorCode::kCorrupt, "the header of a line table is damaged");
  }
  if (table.operations_max_ == 0) table.operations_max_ = 1;
  for (int i = 1; i < table.opcode_base_; ++i) {
    table.opcode_lengths_.push_back(reader.Read<uint8_t>());
  }
  const bool good = table.version_ >= 5 ? table.ReadNewEntries(reader, unit, true) &&
                                              table.ReadNewEntries(reader, unit, false)
                                        : table.ReadOldEntries(reader);
  header_bytes = reader.position();
  if (!good) return Error(ErrorCode::kCorrupt, "the files of a line table are damaged");
  return table;
}

bool LineTable::ReadOldEntries(ByteReader& reader) {
  while (reader.ok()) {
    const std::string_view directory = reader.ReadCString();
    if (directory.empty()) break;
    directories_.push_back(Cut(directory));
  }
  while (reader.ok()) {
    const std::string_view name = reader.ReadCString();
    if (name.empty()) break;
    const uint64_t directory = reader.ReadUleb128();
    reader.ReadUleb128();  // time of its last change
    reader.ReadUleb128();  // its size
    files_.push_back({Cut(name), directory});
  }
  return reader.ok();
}

bool LineTable::ReadNewEntries(ByteReader& reader, const UnitContext& unit, bool directories) {
  struct Field {
    uint64_t content = 0;
    uint16_t form = 0;
  };
  std::array<Field, 256> fields;
  const size_t field_count = reader.Read<uint8_t>();
  for (size_t i = 0; i < field_count; ++i) {
    fields[i].content = reader.ReadUleb128();
    fields[i].form = static_cast<uint16_t>(std::min<uint64_t>(reader.ReadUleb128(), 0xffff));
  }
  const uint64_t count = reader.ReadUleb128();
  // An entry that means anything takes a byte at least.
  if (!reader.ok() || count > reader.remaining()) return false;
  for (uint64_t entry = 0; entry < count; ++entry) {
    File file;
    for (size_t i = 0; i < field_count; ++i) {
      if (fields[i].form == kFormString) {
        const std::string_view text = reader.ReadCString();
        if (fields[i].content == kContentPath) file.name = Cut(text);
        continue;
      }
      const Value value = ReadForm(reader, fields[i].form, sizes_);
      if (fields[i].content == kContentPath) file.name = unit.String(value);
      if (fields[i].content == kContentDirectoryIndex) file.directory = value.number;
    }
    if (!reader.ok()) return false;
    if (directories) {
      directories_.push_back(file.name);
    } else {
      files_.push_back(file);
    }
  }
  return true;
}

std::optional<std::string> LineTable::PathOf(uint64_t file_number) const {
  const bool is_v5 = version_ >= 5;
  const uint64_t index = is_v5 ? file_number : file_number - 1;
  if (index >= files_.size()) return std::nullopt;
  const File& file = files_[index];
  if (IsAbsolute(file.name)) return std::string(file.name);
  std::string_view directory;
  const uint64_t directory_index = is_v5 ? file.directory : file.directory - 1;
  if (directory_index < directories_.size()) directory = directories_[directory_index];
  std::string path;
  // Directory 0 of version 5 is the compilation directory itself.
  if (!IsAbsolute(directory) && !(is_v5 && file.directory == 0)) AppendPath(path, comp_dir_);
  AppendPath(path, directory);
  AppendPath(path, file.name);
  return path;
}

// The state machine of one program.
class LineProgram {
 public:
  LineProgram(LineTable& table, const FileNumbering& numbering, size_t row_count_max,
              std::vector<LineRow>& rows)
      : table_(table),
        numbering_(numbering),
        row_count_max_(row_count_max),
        rows_(rows),
        reader_(table.program_) {
    Reset();
  }

  LineTable::Outcome Run() {
    while (!reader_.AtEnd() && reader_.ok() && !full_) Step();
    const bool in_sequence = rows_.size() > first_row_;
    rows_.resize(first_row_);  // what was not closed reaches nobody knows where
    if (full_) return LineTable::Outcome::kCutByLimit;
    return reader_.ok() && !in_sequence ? LineTable::Outcome::kWhole : LineTable::Outcome::kDamaged;
  }

 private:
  void Reset() {
    address_ = 0;
    operation_ = 0;
    file_number_ = 1;
    file_known_ = false;
    line_ = 1;
    removed_ = true;  // until an address is set
    sorted_ = true;
    first_row_ = rows_.size();
  }

  void AdvanceOperations(uint64_t count) {
    if (table_.operations_max_ == 1) {
      address_ += count * table_.instruction_bytes_min_;
      return;
    }
    const uint64_t sum = operation_ + count;
    address_ += sum / table_.operations_max_ * table_.instruction_bytes_min_;
    operation_ = sum % table_.operations_max_;
  }

  void AdvanceLine(int64_t by) { line_ = static_cast<uint32_t>(line_ + static_cast<uint64_t>(by)); }

  void Step() {
    const auto opcode = reader_.Read<uint8_t>();
    if (opcode >= table_.opcode_base_) {
      const unsigned adjusted = opcode - table_.opcode_base_;
      AdvanceOperations(adjusted / table_.line_range_);
      AdvanceLine(table_.line_base_ + static_cast<int>(adjusted % table_.line_range_));
      AddRow();
      return;
    }
    switch (opcode) {
      case kLineExtended:
        return StepExtended();
      case kLineCopy:
        return AddRow();
      case kLineAdvancePc:
        return AdvanceOperations(reader_.ReadUleb128());
      case kLineAdvanceLine:
        return AdvanceLine(reader_.ReadSleb128());
      case kLineSetFile:
        file_number_ = reader_.ReadUleb128();
        file_known_ = false;
        return;
      case kLineSetColumn:
      case kLineSetIsa:
        reader_.ReadUleb128();
        return;
      case kLineNegateStmt:
      case kLineSetBasicBlock:
      case kLineSetPrologueEnd:
      case kLineSetEpilogueBegin:
        return;
      case kLineConstAddPc:
        return AdvanceOperations((255u - table_.opcode_base_) / table_.line_range_);
      case kLineFixedAdvancePc:
        address_ += reader_.Read<uint16_t>();
        operation_ = 0;
        return;
      default:
        for (unsigned i = table_.opcode_lengths_[opcode - 1u]; i > 0; --i) reader_.ReadUleb128();
        return;
    }
  }

  void StepExtended() {
    const uint64_t length = reader_.ReadUleb128();
    if (!reader_.ok() || length == 0) return;
    ByteReader operation(reader_.ReadBytes(length));
    if (!reader_.ok()) return;
    switch (operation.Read<uint8_t>()) {
      case kLineEndSequence:
        CloseSequence();
        return Reset();
      case kLineSetAddress: {
        const bool is_short = operation.remaining() == 4;
        address_ = is_short ? operation.Read<uint32_t>() : operation.Read<uint64_t>();
        operation_ = 0;
        removed_ = IsTombstone(address_, is_short ? 4 : 8);
        if (!operation.ok()) reader_.Fail();
        return;
      }
      case kLineDefineFile:
        return DefineFile(operation);
      default:
        return;
    }
  }

  void DefineFile(ByteReader& operation) {
    LineTable::File file;
    file.name = Cut(operation.ReadCString());
    file.directory = operation.ReadUleb128();
    if (!operation.ok()) return reader_.Fail();
    table_.files_.push_back(file);
  }

  void AddRow() {
    if (removed_) return;
    if (rows_.size() >= row_count_max_) {
      full_ = true;
      return;
    }
    if (!file_known_) {
      file_ = numbering_(file_number_);
      file_known_ = true;
    }
    if (rows_.size() > first_row_) {
      if (address_ < rows_.back().address) sorted_ = false;
      if (address_ == rows_.back().address) rows_.pop_back();
    }
    if (rows_.size() > first_row_ && sorted_ && rows_.back().file == file_ &&
        rows_.back().line == line_) {
      return;
    }
    rows_.push_back({address_, file_, line_, false});
  }

  // Of several rows at one address the last one stays.
  void SortSequence() {
    const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(first_row_);
    std::stable_sort(first, rows_.end(),
                     [](const LineRow& a, const LineRow& b) { return a.address < b.address; });
    auto kept = first;
    for (auto row = first + 1; row != rows_.end(); ++row) {
      if (row->address != kept->address) ++kept;
      *kept = *row;
    }
    rows_.erase(kept + 1, rows_.end());
  }

  void CloseSequence() {
    if (rows_.size() == first_row_) return;
    if (!sorted_) SortSequence();
    if (removed_) address_ = rows_.back().address;
    while (rows_.size() > first_row_ && rows_.back().address >= address_) rows_.pop_back();
    if (rows_.size() > first_row_) rows_.push_back({address_, kNone, 0, true});
  }

  LineTable& table_;
  const FileNumbering& numbering_;
  size_t row_count_max_;
  std::vector<LineRow>& rows_;
  ByteReader reader_;
  size_t first_row_ = 0;  // of the sequence
  uint64_t address_ = 0;
  uint64_t operation_ = 0;
  uint64_t file_number_ = 1;
  uint32_t file_ = kNone;
  bool file_known_ = false;
  uint32_t line_ = 1;
  bool removed_ = true;
  bool sorted_ = true;
  bool full_ = false;
};

LineTable::Outcome LineTable::Run(const FileNumbering& numbering, LineLimits& limits,
                                  std::vector<LineRow>& rows) {
  if (program_.size() > limits.budget_bytes) return Outcome::kCutByLimit;
  limits.budget_bytes -= program_.size();
  return LineProgram(*this, numbering, limits.row_count_max, rows).Run();
}

}  // namespace vesta::dwarf
