#include "src/symbolize/index_build/go_units.h"

#include <algorithm>
#include <optional>

namespace vesta::symbolize {
namespace {

constexpr uint32_t kFunctionsPerUnit = 512;
constexpr size_t kPiecesMax = size_t{1} << 20;  // of one function
constexpr uint16_t kLanguageGo = 0x16;

// One of a function's tables, as the value that holds at each address.
class Values {
 public:
  explicit Values(object::GoValueWalk walk) : walk_(walk), range_(walk_.Next()) {}

  std::optional<int32_t> At(uint64_t vaddr) {
    while (range_ && range_->end_vaddr <= vaddr) range_ = walk_.Next();
    if (!range_ || vaddr < range_->start_vaddr) return std::nullopt;
    return range_->value;
  }
  // Where the value that was asked for last ends.
  uint64_t End(uint64_t otherwise) const { return range_ ? range_->end_vaddr : otherwise; }

 private:
  object::GoValueWalk walk_;
  std::optional<object::GoValueWalk::Range> range_;
};

}  // namespace

bool GoUnits::Next(dwarf::Unit& unit) {
  unit.Clear();
  strings_.clear();
  files_.clear();
  functions_.clear();
  unit.language = kLanguageGo;
  const uint32_t last =
      next_ + std::min(kFunctionsPerUnit,
                       table_.function_count() - std::min(next_, table_.function_count()));
  if (next_ == last) return false;
  unit.offset = next_;
  for (; next_ < last; ++next_) {
    const auto function = table_.FunctionAt(next_);
    if (function && function->start_vaddr < function->end_vaddr) {
      AddFunction(*function, unit);
    } else {
      ++damaged_count_;
    }
  }
  return true;
}

// Cuts the function where any of its tables changes.
void GoUnits::Cut(const object::GoFunction& function) {
  pieces_.clear();
  Values lines(table_.Lines(function));
  Values files(table_.Files(function));
  Values inlined(table_.InlinedCalls(function));
  for (uint64_t at = function.start_vaddr; at < function.end_vaddr;) {
    Piece piece;
    piece.start_vaddr = at;
    piece.line = lines.At(at).value_or(0);
    piece.file = files.At(at).value_or(-1);
    piece.inlined = inlined.At(at).value_or(-1);
    piece.end_vaddr = std::min({function.end_vaddr, lines.End(function.end_vaddr),
                                files.End(function.end_vaddr), inlined.End(function.end_vaddr)});
    // A damaged table may stand still.
    if (piece.end_vaddr <= at || pieces_.size() == kPiecesMax) piece.end_vaddr = function.end_vaddr;
    at = piece.end_vaddr;
    pieces_.push_back(piece);
  }
}

void GoUnits::AddFunction(const object::GoFunction& function, dwarf::Unit& unit) {
  Cut(function);
  open_.clear();
  // What holds for all places of one inlined call, and of one file.
  std::unordered_map<int32_t, std::vector<object::GoCall>> calls_of;
  std::unordered_map<int32_t, std::string> path_of;
  for (const Piece& piece : pieces_) {
    const auto [calls, is_new] = calls_of.try_emplace(piece.inlined);
    if (is_new) calls->second = table_.CallsAt(piece.start_vaddr);
    if (calls->second.empty()) {
      ++damaged_count_;
      return;
    }
    const auto [path, is_new_file] = path_of.try_emplace(piece.file);
    if (is_new_file) path->second = table_.FileOf(function, piece.start_vaddr);
    OpenScopes(calls->second, piece, unit);
    dwarf::LineRow row;
    row.address = piece.start_vaddr;
    row.file = FileId(path->second, unit);
    row.line = piece.line > 0 ? static_cast<uint32_t>(piece.line) : 0;
    unit.lines.push_back(row);
  }
  dwarf::LineRow end;
  end.address = function.end_vaddr;
  end.end_sequence = true;
  unit.lines.push_back(end);
}

// Keeps the scopes open that also hold this piece, and opens those that are new.
void GoUnits::OpenScopes(const std::vector<object::GoCall>& calls, const Piece& piece,
                         dwarf::Unit& unit) {
  size_t depth = 0;
  for (size_t i = calls.size(); i-- > 0; ++depth) {
    dwarf::Scope scope;
    scope.function = FunctionId(calls[i], unit);
    if (depth > 0) {
      scope.parent = open_[depth - 1];
      scope.call_file = FileId(calls[i + 1].file, unit);
      scope.call_line = calls[i + 1].line;
    }
    if (depth < open_.size()) {
      const dwarf::Scope& open = unit.scopes[open_[depth]];
      if (open.function == scope.function && open.call_file == scope.call_file &&
          open.call_line == scope.call_line) {
        unit.ranges[open.range_first].end = piece.end_vaddr;
        continue;
      }
      open_.resize(depth);
    }
    scope.range_first = static_cast<uint32_t>(unit.ranges.size());
    scope.range_count = 1;
    unit.ranges.push_back({piece.start_vaddr, piece.end_vaddr});
    open_.push_back(static_cast<uint32_t>(unit.scopes.size()));
    unit.scopes.push_back(scope);
  }
  open_.resize(depth);
}

uint32_t GoUnits::FileId(const std::string& path, dwarf::Unit& unit) {
  if (path.empty()) return dwarf::kNone;
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  const auto id = static_cast<uint32_t>(unit.files.size());
  unit.files.push_back(path);
  files_.emplace(strings_.emplace_back(path), id);
  return id;
}

uint32_t GoUnits::FunctionId(const object::GoCall& call, dwarf::Unit& unit) {
  const auto known = functions_.find(call.function);
  if (known != functions_.end()) return known->second;
  const auto id = static_cast<uint32_t>(unit.functions.size());
  dwarf::Function function;
  function.name = strings_.emplace_back(call.function);
  function.file = FileId(call.file, unit);
  function.line = call.start_line;
  unit.functions.push_back(function);
  functions_.emplace(function.name, id);
  return id;
}

}  // namespace vesta::symbolize
