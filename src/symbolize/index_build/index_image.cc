#include "src/symbolize/index_build/index_image.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "src/base/json.h"
#include "src/dwarf/unit_reader.h"
#include "src/object/go_pclntab.h"
#include "src/symbolize/index/index_writer.h"
#include "src/symbolize/index_build/go_units.h"
#include "src/symbolize/index_build/symbol_list.h"

namespace vesta::symbolize {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr uint64_t kFlagExecutable = 4;
// How much of .debug_info is read before what lies behind leaves our memory.
constexpr uint64_t kLetGoBytes = uint64_t{16} << 20;

// Where code can lie, as the image's headers say.
dwarf::Range CodeOf(const object::ElfFile& elf) {
  dwarf::Range code{std::numeric_limits<uint64_t>::max(), 0};
  const auto add = [&](uint64_t start, uint64_t size) {
    if (size == 0 || start + size < start) return;
    code.start = std::min(code.start, start);
    code.end = std::max(code.end, start + size);
  };
  for (const object::LoadSegment& segment : elf.load_segments()) {
    if (segment.executable) add(segment.vaddr, segment.memory_size_bytes);
  }
  if (code.end == 0) {
    for (const object::Section& section : elf.sections()) {
      if ((section.flags & kFlagExecutable) != 0) add(section.vaddr, section.size_bytes);
    }
  }
  return code;
}

uint64_t PeakBytes() {
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// Lets go of what a reader has passed.
class Passed {
 public:
  Passed(const DebugObject& object, dwarf::Bytes section) : object_(object), section_(section) {}
  void At(uint64_t position) {
    if (position < done_ + kLetGoBytes) return;
    object_.LetGo(section_.subspan(done_, position - done_));
    done_ = position;
  }

 private:
  const DebugObject& object_;
  dwarf::Bytes section_;
  uint64_t done_ = 0;
};

void AddDebugUnits(DebugFiles& files, const IndexRequest& request, IndexWriter& writer,
                   IndexReport& report) {
  DebugObject* described = files.described();
  if (described == nullptr) return;
  const dwarf::Sections& sections = described->Dwarf(DebugObject::Part::kOwn);
  report.debug_bytes = sections.info.size() + sections.line.size();
  dwarf::UnitReader reader(sections, files.split_source());
  Passed passed(*described, sections.info);
  dwarf::Unit unit;
  while (reader.Next(unit)) {
    writer.AddUnit(unit);
    passed.At(reader.position_bytes());
    if (request.progress) request.progress(reader.position_bytes(), reader.size_bytes());
  }
  const dwarf::ReaderStats& stats = reader.stats();
  report.unit_count += stats.unit_count;
  report.damaged_count += stats.damaged_count;
  report.truncated_count += stats.truncated_count;
  report.split_missing_count += stats.split_missing_count;
  if (stats.line_damaged_count != 0) {
    files.reasons().Add(std::to_string(stats.line_damaged_count) + " line tables are damaged");
  }
}

void AddGoUnits(DebugFiles& files, IndexWriter& writer, IndexReport& report) {
  const DebugObject& image = files.image();
  auto table = object::GoPclntab::Find(image.elf(), image.source());
  if (!table.ok()) {
    if (table.error().code() != ErrorCode::kNotFound) {
      files.reasons().Add("pclntab: " + table.error().message());
    }
    return;
  }
  const auto trees = table->FindInlineTrees(image.elf(), image.source());
  if (!trees.ok()) files.reasons().Add("pclntab: " + trees.error().message());
  GoUnits units(*table);
  dwarf::Unit unit;
  while (units.Next(unit)) {
    writer.AddUnit(unit);
    ++report.unit_count;
  }
  report.damaged_count += units.damaged_count();
  report.sources.push_back("Go's function table");
}

void AddSymbols(DebugFiles& files, IndexWriter& writer, IndexReport& report) {
  SymbolList symbols;
  symbols.AddTables(files.image());
  if (files.separate() != nullptr) symbols.AddTables(*files.separate());
  if (files.mini() != nullptr) symbols.AddTables(*files.mini());
  const uint64_t table_count = symbols.count();
  if (table_count != 0) report.sources.push_back("symbol tables");
  symbols.AddStubs(files.image());
  report.symbol_count = symbols.count();
  if (symbols.count() != table_count) report.sources.push_back("stubs");
  if (symbols.cut_count() != 0) {
    files.reasons().Add(std::to_string(symbols.cut_count()) +
                        " symbols have no name: all together are too long");
  }
  symbols.Give(writer);
}

}  // namespace

Result<IndexReport> IndexImage(const base::FileSource& image, const IndexRequest& request,
                               int out_fd) {
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const auto files, DebugFiles::Open(image, request.files));
  const object::ElfFile& elf = files->image().elf();
  IndexReport report;
  ASSIGN_OR_RETURN(report.identity, object::ImageIdentity(elf, files->image().source()));
  const dwarf::Range code = CodeOf(elf);
  if (code.start >= code.end) return Error(ErrorCode::kNotFound, "the image has no code");
  IndexWriter writer({code, request.index_memory_bytes_max});

  AddDebugUnits(*files, request, writer, report);
  AddGoUnits(*files, writer, report);
  AddSymbols(*files, writer, report);
  report.sources.insert(report.sources.begin(), files->sources().begin(), files->sources().end());
  if (files->dwo_count() != 0) {
    report.sources.push_back(std::to_string(files->dwo_count()) + " .dwo files");
  }
  if (report.sources.empty()) {
    std::string text = "nothing names the image's code";
    for (const std::string& reason : files->reasons().texts()) text += "; " + reason;
    return Error(ErrorCode::kNotFound, text);
  }
  RETURN_IF_ERROR(writer.Write(out_fd, report.identity));

  if (writer.stats().file_bytes > request.index_bytes_max) {
    return Error(ErrorCode::kExhausted, "the index is too large");
  }

  report.has_lines = report.unit_count != 0;
  report.function_count = writer.stats().function_count;
  report.index_bytes = writer.stats().file_bytes;
  report.unpacked_bytes = files->unpacked_bytes();
  report.reasons = files->reasons().texts();
  if (files->reasons().left_out_count() != 0) {
    report.reasons.push_back("and " + std::to_string(files->reasons().left_out_count()) + " more");
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.seconds = seconds.count();
  report.peak_bytes = PeakBytes();
  return report;
}

std::string ReportJson(const IndexReport& report) {
  base::JsonWriter json;
  json.BeginObject();
  json.Key("identity").String(report.identity);
  json.Key("has_lines").Bool(report.has_lines);
  json.Key("units").Uint(report.unit_count);
  json.Key("damaged").Uint(report.damaged_count);
  json.Key("truncated").Uint(report.truncated_count);
  json.Key("split_missing").Uint(report.split_missing_count);
  json.Key("symbols").Uint(report.symbol_count);
  json.Key("functions").Uint(report.function_count);
  json.Key("debug_bytes").Uint(report.debug_bytes);
  json.Key("unpacked_bytes").Uint(report.unpacked_bytes);
  json.Key("index_bytes").Uint(report.index_bytes);
  json.Key("seconds").Double(report.seconds);
  json.Key("peak_bytes").Uint(report.peak_bytes);
  const auto texts = [&json](const char* key, const std::vector<std::string>& values) {
    json.Key(key).BeginArray();
    for (const std::string& value : values) json.String(value);
    json.EndArray();
  };
  texts("sources", report.sources);
  texts("reasons", report.reasons);
  json.EndObject();
  return json.Take();
}

}  // namespace vesta::symbolize
