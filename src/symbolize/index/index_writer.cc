#include "src/symbolize/index/index_writer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/symbolize/index/index_file.h"
#include "src/symbolize/index/place_encoder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vesta::symbolize {

namespace {

using base::Error;
using base::ErrorCode;

constexpr uint64_t kIdMax = std::numeric_limits<uint32_t>::max();
constexpr uint32_t kNoPiece = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kPiecesPerPage = 24;
constexpr size_t kNodesBytesMax = kIdMax / 2 - 20;  // distances have a bit less

uint64_t HashOf(const FunctionRecord& record) { return XXH3_64bits(&record, sizeof(record)); }

bool Same(const FunctionRecord& a, const FunctionRecord& b) {
  return a.name == b.name && a.linkage_name == b.linkage_name && a.file == b.file &&
         a.start_line == b.start_line;
}

// Of C++, Rust and D. Other linkage names are labels of the assembler, as __GI_qsort.
bool IsMangled(std::string_view name) {
  return name.size() > 2 && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D');
}

// "sort.cold", "sort.part.0", "sort.constprop.1" of "sort".
bool IsPartOf(std::string_view symbol, std::string_view function) {
  return symbol.size() > function.size() && symbol.substr(0, function.size()) == function &&
         symbol[function.size()] == '.';
}

template <typename T>
size_t BytesOf(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}

template <typename T>
IndexBytes BytesIn(const std::vector<T>& vector) {
  return std::as_bytes(std::span(vector));
}

uint32_t PageShiftFor(uint64_t span_bytes, uint64_t piece_count) {
  uint32_t shift = kPageShiftMin;
  while (shift < kPageShiftMax && (piece_count << shift) < kPiecesPerPage * span_bytes) ++shift;
  return shift;
}

}  // namespace

IndexWriter::IndexWriter(const IndexWriterOptions& options)
    : base_(options.code.start), memory_bytes_max_(options.memory_bytes_max) {
  const uint64_t span_bytes =
      options.code.end > options.code.start ? options.code.end - options.code.start : 0;
  if (span_bytes > kIdMax) {
    failure_ = Error(ErrorCode::kUnsupported, "symbol index: the code spans more than 4 GiB");
    return;
  }
  span_bytes_ = static_cast<uint32_t>(span_bytes);
  functions_.emplace_back();
  files_.push_back(0);
  AppendRoot(0);
}

bool IndexWriter::Clip(uint64_t start, uint64_t end, uint32_t& from, uint32_t& to) const {
  const uint64_t code_end = base_ + span_bytes_;
  start = std::max(start, base_);
  end = std::min(end, code_end);
  if (start >= end) return false;
  from = static_cast<uint32_t>(start - base_);
  to = static_cast<uint32_t>(end - base_);
  return true;
}

void IndexWriter::AddUnit(const dwarf::Unit& unit) {
  if (Failed()) return;
  ++stats_.unit_count;
  unit_files_.assign(unit.files.size(), 0);
  unit_functions_.assign(unit.functions.size(), 0);
  unit_nodes_.assign(unit.scopes.size(), 0);
  ClaimScopes(unit);
  Flatten(claims_, scope_pieces_);
  ClaimRows(unit);
  Flatten(claims_, row_pieces_);
  runs_.BeginUnit();
  JoinPieces(unit);
  CheckLimit();
}

void IndexWriter::ClaimScopes(const dwarf::Unit& unit) {
  claims_.clear();
  unit_depths_.clear();
  for (uint32_t i = 0; i < unit.scopes.size(); ++i) {
    const dwarf::Scope& scope = unit.scopes[i];
    const uint32_t depth = scope.parent == dwarf::kNone ? 0 : unit_depths_[scope.parent] + 1;
    unit_depths_.push_back(depth);
    for (uint32_t r = 0; r < scope.range_count; ++r) {
      const dwarf::Range& range = unit.ranges[scope.range_first + r];
      Claim claim;
      const bool inside = Clip(range.start, range.end, claim.start, claim.end);
      if (!inside || claim.end - claim.start < range.end - range.start) ++stats_.outside_count;
      if (!inside) continue;
      claim.rank = uint64_t{depth} << 32 | i;
      claim.value = i;
      claims_.push_back(claim);
    }
  }
}

void IndexWriter::ClaimRows(const dwarf::Unit& unit) {
  claims_.clear();
  for (uint32_t i = 0; i + 1 < unit.lines.size(); ++i) {
    if (unit.lines[i].end_sequence) continue;
    Claim claim;
    if (!Clip(unit.lines[i].address, unit.lines[i + 1].address, claim.start, claim.end)) continue;
    claim.rank = kIdMax - i;
    claim.value = i;
    claims_.push_back(claim);
  }
}

// Walks through both lists of pieces at once, so that each stretch has one scope and one row.
void IndexWriter::JoinPieces(const dwarf::Unit& unit) {
  size_t s = 0;
  size_t r = 0;
  uint32_t position = 0;
  const auto start_of = [&](const std::vector<Piece>& pieces, size_t i) {
    return i < pieces.size() ? std::max(pieces[i].start, position) : kNoPiece;
  };
  while (s < scope_pieces_.size() || r < row_pieces_.size()) {
    const uint32_t scope_start = start_of(scope_pieces_, s);
    const uint32_t row_start = start_of(row_pieces_, r);
    position = std::min(scope_start, row_start);
    uint32_t end = kNoPiece;
    uint32_t scope = kNoPiece;
    uint32_t row = kNoPiece;
    if (scope_start == position && s < scope_pieces_.size()) {
      scope = scope_pieces_[s].value;
      end = scope_pieces_[s].end;
    } else {
      end = std::min(end, scope_start);
    }
    if (row_start == position && r < row_pieces_.size()) {
      row = row_pieces_[r].value;
      end = std::min(end, row_pieces_[r].end);
    } else {
      end = std::min(end, row_start);
    }
    AddPiece(unit, position, end, scope, row);
    position = end;
    if (s < scope_pieces_.size() && scope_pieces_[s].end <= position) ++s;
    if (r < row_pieces_.size() && row_pieces_[r].end <= position) ++r;
  }
}

void IndexWriter::AddPiece(const dwarf::Unit& unit, uint32_t start, uint32_t end, uint32_t scope,
                           uint32_t row) {
  Place place;
  if (scope != kNoPiece) place.node = NodeOf(unit, scope);
  if (row != kNoPiece) {
    place.file = FileOf(unit, unit.lines[row].file);
    place.line = unit.lines[row].line;
  }
  const Knowledge knowledge = scope == kNoPiece ? Knowledge::kLine
                              : row == kNoPiece ? Knowledge::kFunction
                                                : Knowledge::kFunctionAndLine;
  runs_.Add(start, end, knowledge, place);
}

// Nodes are made on first use, callers first: what lies together in code lies together here.
uint32_t IndexWriter::NodeOf(const dwarf::Unit& unit, uint32_t scope) {
  if (unit_nodes_[scope] != 0) return unit_nodes_[scope];
  std::vector<uint32_t> missing;
  uint32_t at = scope;
  while (at != dwarf::kNone && unit_nodes_[at] == 0) {
    missing.push_back(at);
    at = unit.scopes[at].parent;
  }
  uint32_t node = at == dwarf::kNone ? 0 : unit_nodes_[at];
  for (auto i = missing.rbegin(); i != missing.rend(); ++i) {
    node = AppendNode(unit, *i, node);
    unit_nodes_[*i] = node;
  }
  return node;
}

uint32_t IndexWriter::AppendNode(const dwarf::Unit& unit, uint32_t scope, uint32_t parent) {
  if (nodes_.size() > kNodesBytesMax) {
    failure_ = Error(ErrorCode::kExhausted, "symbol index: more functions than 31 bits can number");
    return 0;
  }
  const dwarf::Scope& shape = unit.scopes[scope];
  if (parent == 0) return AppendRoot(BareFunctionOf(unit, shape));
  const uint32_t function = FunctionOf(unit, shape.function);
  const uint32_t call_file = FileOf(unit, shape.call_file);
  const FunctionRecord& caller = functions_[FunctionOfNode(parent)];
  const auto node = static_cast<uint32_t>(nodes_.size());
  const bool file_follows = call_file != caller.file;
  AppendUnsigned(nodes_, function);
  AppendUnsigned(nodes_, (node - parent) << 1 | (file_follows ? 1u : 0u));
  if (file_follows) AppendUnsigned(nodes_, call_file);
  AppendDifference(nodes_, shape.call_line - caller.start_line);
  return node;
}

uint32_t IndexWriter::AppendRoot(uint32_t function) {
  const auto node = static_cast<uint32_t>(nodes_.size());
  AppendUnsigned(nodes_, function);
  AppendUnsigned(nodes_, 0);
  return node;
}

uint32_t IndexWriter::FunctionOfNode(uint32_t node) const {
  return NumberReader(IndexBytes(nodes_).subspan(node)).Unsigned();
}

FunctionRecord IndexWriter::RecordOf(const dwarf::Unit& unit, uint32_t function) {
  const dwarf::Function& shape = unit.functions[function];
  return {strings_.Intern(shape.name), strings_.Intern(shape.linkage_name),
          FileOf(unit, shape.file), shape.line};
}

uint32_t IndexWriter::FunctionOf(const dwarf::Unit& unit, uint32_t function) {
  if (function == dwarf::kNone) return 0;
  uint32_t& known = unit_functions_[function];
  if (known == 0) known = InternFunction(RecordOf(unit, function));
  return known;
}

// One without a mangled name may get that of a symbol: it is a record of its own.
uint32_t IndexWriter::BareFunctionOf(const dwarf::Unit& unit, const dwarf::Scope& scope) {
  uint32_t start = 0;
  uint32_t end = 0;
  if (scope.function == dwarf::kNone || scope.range_count == 0 ||
      IsMangled(unit.functions[scope.function].linkage_name) ||
      !Clip(unit.ranges[scope.range_first].start, unit.ranges[scope.range_first].end, start, end)) {
    return FunctionOf(unit, scope.function);
  }
  const auto id = static_cast<uint32_t>(functions_.size());
  functions_.push_back(RecordOf(unit, scope.function));
  bare_functions_.push_back({start, id});
  return id;
}

uint32_t IndexWriter::FileOf(const dwarf::Unit& unit, uint32_t file) {
  if (file == dwarf::kNone) return 0;
  if (unit_files_[file] == 0) unit_files_[file] = InternFile(unit.files[file]) + 1;
  return unit_files_[file] - 1;
}

uint32_t IndexWriter::InternFile(std::string_view path) {
  const uint32_t string = strings_.Intern(path);
  if (string == 0) return 0;
  const uint64_t hash = XXH3_64bits(&string, sizeof(string));
  const uint32_t* known = file_table_.Find(hash, [&](uint32_t id) { return files_[id] == string; });
  if (known != nullptr) return *known;
  const auto id = static_cast<uint32_t>(files_.size());
  files_.push_back(string);
  file_table_.Insert(hash, id);
  return id;
}

uint32_t IndexWriter::InternFunction(const FunctionRecord& record) {
  const uint64_t hash = HashOf(record);
  const uint32_t* known =
      function_table_.Find(hash, [&](uint32_t id) { return Same(functions_[id], record); });
  if (known != nullptr) return *known;
  const auto id = static_cast<uint32_t>(functions_.size());
  functions_.push_back(record);
  function_table_.Insert(hash, id);
  return id;
}

void IndexWriter::AddFunction(uint64_t start, uint64_t end, const IndexFunction& function,
                              FunctionEnd kind) {
  if (Failed()) return;
  Symbol symbol;
  if (!Clip(start, end, symbol.start, symbol.end)) {
    ++stats_.outside_count;
    return;
  }
  symbol.kind = kind;
  symbol.function = {strings_.Intern(function.name), strings_.Intern(function.linkage_name),
                     InternFile(function.file), function.start_line};
  symbols_.push_back(symbol);
  CheckLimit();
}

size_t IndexWriter::memory_bytes() const {
  return strings_.memory_bytes() + BytesOf(files_) + file_table_.memory_bytes() +
         BytesOf(functions_) + function_table_.memory_bytes() + BytesOf(nodes_) +
         runs_.memory_bytes() + BytesOf(symbols_) + BytesOf(symbol_pieces_) +
         BytesOf(bare_functions_) + BytesOf(unit_files_) + BytesOf(unit_functions_) +
         BytesOf(unit_nodes_) + BytesOf(unit_depths_) + BytesOf(claims_) + BytesOf(scope_pieces_) +
         BytesOf(row_pieces_);
}

void IndexWriter::CheckLimit() {
  const size_t bytes = memory_bytes();
  stats_.memory_bytes = std::max(stats_.memory_bytes, bytes);
  if (bytes > memory_bytes_max_) {
    failure_ =
        Error(ErrorCode::kExhausted, "symbol index: it needs more than the limit of " +
                                         std::to_string(memory_bytes_max_) + " bytes of memory");
  } else if (!strings_.fits()) {
    failure_ = Error(ErrorCode::kExhausted, "symbol index: more names than 32 bits can number");
  }
}

// Puts the functions of symbol tables where units know none.
class IndexWriter::PlaceWriter {
 public:
  PlaceWriter(IndexWriter& writer, PlaceEncoder& encoder) : writer_(writer), encoder_(encoder) {}

  void Add(uint32_t start, uint32_t end, const Place& place) {
    AddSymbols(end_, start, Place());
    if (place.node == 0) {
      AddSymbols(start, end, place);
    } else {
      encoder_.Add(start, end, place);
    }
    end_ = end;
  }

  void Finish() { AddSymbols(end_, writer_.span_bytes_, Place()); }

 private:
  void AddSymbols(uint32_t start, uint32_t end, Place place) {
    const std::vector<Piece>& pieces = writer_.symbol_pieces_;
    while (start < end) {
      while (next_ < pieces.size() && pieces[next_].end <= start) ++next_;
      const bool covered = next_ < pieces.size() && pieces[next_].start <= start;
      uint32_t until = end;
      if (next_ < pieces.size()) {
        until = std::min(end, covered ? pieces[next_].end : pieces[next_].start);
      }
      place.node = covered ? NodeOf(writer_.symbols_[pieces[next_].value]) : 0;
      if (place != Place()) encoder_.Add(start, until, place);
      start = until;
    }
  }

  uint32_t NodeOf(Symbol& symbol) {
    if (symbol.node == 0) {
      symbol.node = writer_.AppendRoot(writer_.InternFunction(symbol.function));
    }
    return symbol.node;
  }

  IndexWriter& writer_;
  PlaceEncoder& encoder_;
  size_t next_ = 0;
  uint32_t end_ = 0;
};

base::Result<void> IndexWriter::Write(int fd, std::string_view identity) {
  if (Failed()) return *failure_;
  FlattenSymbols();
  NameBareFunctions();
  IndexHeader header;
  header.base = base_;
  header.span_bytes = span_bytes_;
  header.page_shift = PageShiftFor(span_bytes_, runs_.piece_count() + symbol_pieces_.size());

  IndexFile file(fd);
  file.BeginSection(IndexSection::kPlaces);
  PlaceEncoder encoder(
      header.page_shift, span_bytes_,
      [this](uint32_t node) { return functions_[FunctionOfNode(node)]; },
      [&file](IndexBytes bytes) { file.Append(bytes); });
  PlaceWriter places(*this, encoder);
  runs_.Merge([&places](uint32_t start, uint32_t end, const Place& place) {
    places.Add(start, end, place);
  });
  places.Finish();
  const std::vector<uint32_t> pages = encoder.Finish();
  file.EndSection();
  CheckLimit();
  if (pages.empty() && !Failed()) {
    failure_ = Error(ErrorCode::kExhausted, "symbol index: more lines than 32 bits can number");
  }
  if (Failed()) return *failure_;
  const std::pair<IndexSection, IndexBytes> sections[] = {
      {IndexSection::kPages, BytesIn(pages)},
      {IndexSection::kNodes, nodes_},
      {IndexSection::kFunctions, BytesIn(functions_)},
      {IndexSection::kFiles, BytesIn(files_)},
      {IndexSection::kStrings, strings_.bytes()},
      {IndexSection::kIdentity, std::as_bytes(std::span(identity))},
  };
  for (const auto& [section, bytes] : sections) {
    file.BeginSection(section);
    file.Append(bytes);
    file.EndSection();
  }
  stats_.piece_count = runs_.piece_count() + symbol_pieces_.size();
  stats_.function_count = functions_.size() - 1;
  ASSIGN_OR_RETURN(stats_.file_bytes, file.Finish(header));
  return {};
}

void IndexWriter::FlattenSymbols() {
  std::vector<uint32_t> starts;
  for (const Symbol& symbol : symbols_) starts.push_back(symbol.start);
  std::sort(starts.begin(), starts.end());
  claims_.clear();
  for (uint32_t i = 0; i < symbols_.size(); ++i) {
    const Symbol& symbol = symbols_[i];
    const bool known = symbol.kind == FunctionEnd::kKnown;
    uint32_t end = symbol.end;
    if (!known) {
      const auto next = std::upper_bound(starts.begin(), starts.end(), symbol.start);
      if (next != starts.end()) end = std::min(end, *next);
    }
    const uint64_t first_of_equals = kIdMax / 2 - i;
    const uint64_t rank =
        uint64_t{known ? 1u : 0u} << 63 | uint64_t{symbol.start} << 31 | first_of_equals;
    claims_.push_back({symbol.start, end, rank, i});
  }
  Flatten(claims_, symbol_pieces_);
}

void IndexWriter::NameBareFunctions() {
  for (const Bare& bare : bare_functions_) {
    const auto after =
        std::upper_bound(symbol_pieces_.begin(), symbol_pieces_.end(), bare.start,
                         [](uint32_t start, const Piece& piece) { return start < piece.start; });
    if (after == symbol_pieces_.begin()) continue;
    const Symbol& symbol = symbols_[std::prev(after)->value];
    FunctionRecord& function = functions_[bare.function];
    if (symbol.start != bare.start || symbol.function.linkage_name == 0 ||
        IsPartOf(strings_.At(symbol.function.linkage_name), strings_.At(function.name))) {
      continue;
    }
    function.linkage_name = symbol.function.linkage_name;
  }
}

}  // namespace vesta::symbolize
