// Builds the symbol index of one file and says what that costs, as one line of JSON, or what the
// index says of addresses. The driver is bench/symbols.py.
//
//   symbol_index_bench FILE [--lookups N] [--index PATH]   costs; PATH keeps the index
//   symbol_index_bench FILE --print [--no-symbols]         for each hex address of standard input:
//       lines "function<TAB>file<TAB>line<TAB>start line", innermost first, then an empty one
//   symbol_index_bench FILE --addresses N                  N addresses where something begins or
//       ends, spread over the file
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/dwarf/unit_reader.h"
#include "src/symbolize/index/index_writer.h"
#include "src/symbolize/index/symbol_index.h"
#include "src/symbolize/symbol_table.h"
#include "test/support/debug_file.h"

namespace {

using vesta::base::Result;
using vesta::dwarf::Range;
using vesta::dwarf::Unit;
using vesta::dwarf::UnitReader;
using vesta::symbolize::IndexWriter;
using vesta::symbolize::SymbolIndex;

constexpr double kMegabyte = 1 << 20;
constexpr size_t kCallsMax = 128;
constexpr const char* kIdentity = "bench";

double CpuMs() {
  struct timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// The most memory that this process held, without what is mapped from files.
double PeakMegabytes() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return 0;
  double peak_kb = 0;
  for (char line[256]; std::fgets(line, sizeof(line), status) != nullptr;) {
    if (std::string(line).rfind("VmHWM:", 0) == 0) peak_kb = std::atof(line + 6);
  }
  std::fclose(status);
  return peak_kb / 1024;
}

struct Image {
  std::unique_ptr<vesta::test::DebugFile> file;
  std::unique_ptr<vesta::test::DebugFile> alternate;
  std::unique_ptr<vesta::base::FileSource> source;
  vesta::object::ElfFile elf;
  Range code;
};

Result<Image> OpenImage(const std::string& path) {
  ASSIGN_OR_RETURN(auto source, vesta::base::FileSource::Open(path));
  ASSIGN_OR_RETURN(auto elf, vesta::object::ElfFile::Parse(*source));
  ASSIGN_OR_RETURN(auto file, vesta::test::DebugFile::Open(path));
  Image image{std::move(file), nullptr, std::move(source), std::move(elf), {~uint64_t{0}, 0}};
  for (const auto& segment : image.elf.load_segments()) {
    if (!segment.executable) continue;
    image.code.start = std::min(image.code.start, segment.vaddr);
    image.code.end = std::max(image.code.end, segment.vaddr + segment.memory_size_bytes);
  }
  std::string link = image.file->alternate_path();
  if (!link.empty()) {
    if (link[0] != '/') link = path.substr(0, path.rfind('/') + 1) + link;
    auto alternate = vesta::test::DebugFile::Open(link);
    if (alternate.ok()) {
      image.alternate = std::move(alternate).value();
      image.file->set_alternate(*image.alternate);
    }
  }
  return image;
}

Result<void> AddSymbols(const Image& image, IndexWriter& writer) {
  using vesta::symbolize::CodeSymbol;
  using vesta::symbolize::FunctionEnd;
  for (const auto& section : image.elf.sections()) {
    if (!vesta::symbolize::IsSymbolTable(section)) continue;
    const auto* strings = vesta::symbolize::StringTableOf(image.elf, section);
    if (strings == nullptr) continue;
    ASSIGN_OR_RETURN(const auto bytes,
                     image.source->Read(strings->file_offset, strings->size_bytes));
    std::vector<std::pair<CodeSymbol, std::string_view>> symbols;
    RETURN_IF_ERROR(vesta::symbolize::VisitCodeSymbols(
        image.elf, *image.source, section, [&](const CodeSymbol& symbol) {
          if (symbol.name >= bytes.size()) return;
          const char* name = reinterpret_cast<const char*>(bytes.data()) + symbol.name;
          const std::string_view text(name, ::strnlen(name, bytes.size() - symbol.name));
          if (text.empty() || vesta::symbolize::IsMarkerStart(text[0])) return;
          symbols.emplace_back(symbol, text);
        }));
    const auto underscores = [](std::string_view text) { return text.find_first_not_of('_'); };
    std::stable_sort(symbols.begin(), symbols.end(), [&](const auto& a, const auto& b) {
      return a.first.rank != b.first.rank ? a.first.rank > b.first.rank
                                          : underscores(a.second) < underscores(b.second);
    });
    for (const auto& [symbol, text] : symbols) {
      writer.AddFunction(symbol.start, symbol.end, {{}, text, {}, 0},
                         symbol.has_size ? FunctionEnd::kKnown : FunctionEnd::kGuessed);
    }
  }
  return {};
}

// An index in a file of its own, mapped.
class MappedIndex {
 public:
  static Result<std::unique_ptr<MappedIndex>> Write(IndexWriter& writer, const char* path) {
    auto mapped = std::unique_ptr<MappedIndex>(new MappedIndex());
    mapped->fd_ = path == nullptr ? ::memfd_create("index", MFD_CLOEXEC)
                                  : ::open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    RETURN_IF_ERROR(writer.Write(mapped->fd_, kIdentity));
    mapped->size_bytes_ = writer.stats().file_bytes;
    mapped->data_ = ::mmap(nullptr, mapped->size_bytes_, PROT_READ, MAP_SHARED, mapped->fd_, 0);
    return mapped;
  }
  ~MappedIndex() {
    ::munmap(data_, size_bytes_);
    ::close(fd_);
  }
  vesta::symbolize::IndexBytes bytes() const {
    return {static_cast<const std::byte*>(data_), size_bytes_};
  }

 private:
  MappedIndex() = default;
  int fd_ = -1;
  size_t size_bytes_ = 0;
  void* data_ = nullptr;
};

struct LookupCost {
  double open_ms = 0;
  double per_second = 0;
  double named_share = 0;
  double calls_mean = 0;
  double with_line_share = 0;
};

// Distinct random addresses of the code, in random order; names of the calls are read as well.
LookupCost MeasureLookups(const MappedIndex& mapped, const Range& code, size_t count) {
  LookupCost cost;
  const double open_start_ms = CpuMs();
  const auto index = SymbolIndex::Open(mapped.bytes(), kIdentity);
  cost.open_ms = CpuMs() - open_start_ms;
  if (!index.ok()) return cost;
  std::mt19937_64 random(1);
  std::vector<uint64_t> addresses;
  while (addresses.size() < count) {
    addresses.push_back(code.start + random() % (code.end - code.start));
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  std::shuffle(addresses.begin(), addresses.end(), random);
  std::vector<SymbolIndex::Call> calls(kCallsMax);
  size_t named = 0;
  size_t with_line = 0;
  size_t calls_total = 0;
  const double start_ms = CpuMs();
  for (const uint64_t address : addresses) {
    const size_t found = index->Find(address, calls);
    named += found != 0;
    with_line += found != 0 && calls[0].line != 0;
    calls_total += found;
  }
  const double seconds = (CpuMs() - start_ms) / 1e3;
  const auto total = static_cast<double>(addresses.size());
  cost.per_second = total / seconds;
  cost.named_share = static_cast<double>(named) / total;
  cost.with_line_share = static_cast<double>(with_line) / total;
  cost.calls_mean =
      static_cast<double>(calls_total) / static_cast<double>(std::max<size_t>(named, 1));
  return cost;
}

Result<void> PrintCosts(const Image& image, size_t lookups, const char* index_path) {
  const double read_start_ms = CpuMs();
  Unit unit;
  {
    UnitReader reader(image.file->sections());
    while (reader.Next(unit)) {
    }
  }
  const double read_ms = CpuMs() - read_start_ms;
  const double before_mb = PeakMegabytes();
  const double start_ms = CpuMs();
  IndexWriter writer({image.code});
  UnitReader reader(image.file->sections());
  while (reader.Next(unit)) writer.AddUnit(unit);
  const double added_ms = CpuMs();
  RETURN_IF_ERROR(AddSymbols(image, writer));
  ASSIGN_OR_RETURN(const auto mapped, MappedIndex::Write(writer, index_path));
  const double build_ms = CpuMs() - start_ms;
  const double write_ms = CpuMs() - added_ms;
  const double peak_mb = PeakMegabytes();
  const LookupCost cost = MeasureLookups(*mapped, image.code, lookups);
  const auto& stats = writer.stats();
  const double info_mb = static_cast<double>(image.file->sections().info.size()) / kMegabyte;
  const auto index_bytes = static_cast<double>(stats.file_bytes);
  std::printf(
      "{\"info_mb\": %.2f, \"read_ms\": %.1f, \"build_ms\": %.1f, \"write_ms\": %.1f, "
      "\"build_mb_per_s\": %.1f, \"writer_mb\": %.1f, \"peak_over_sections_mb\": %.1f, "
      "\"units\": %" PRIu64 ", \"functions\": %" PRIu64 ", \"pieces\": %" PRIu64
      ", \"index_mb\": %.3f, \"bytes_per_function\": %.1f, \"index_mb_per_info_mb\": %.4f, "
      "\"bytes_per_piece\": %.2f, \"open_ms\": %.2f, \"lookups_per_s\": %.0f, "
      "\"named_share\": %.4f, \"line_share\": %.4f, \"calls_mean\": %.2f}\n",
      info_mb, read_ms, build_ms, write_ms, info_mb * 1e3 / build_ms,
      static_cast<double>(stats.memory_bytes) / kMegabyte, peak_mb - before_mb, stats.unit_count,
      stats.function_count, stats.piece_count, index_bytes / kMegabyte,
      index_bytes / static_cast<double>(std::max<uint64_t>(stats.function_count, 1)),
      info_mb == 0 ? 0 : index_bytes / kMegabyte / info_mb,
      index_bytes / static_cast<double>(std::max<uint64_t>(stats.piece_count, 1)), cost.open_ms,
      cost.per_second, cost.named_share, cost.with_line_share, cost.calls_mean);
  return {};
}

Result<void> PrintNames(const Image& image, bool with_symbols) {
  IndexWriter writer({image.code});
  UnitReader reader(image.file->sections());
  Unit unit;
  while (reader.Next(unit)) writer.AddUnit(unit);
  if (with_symbols) RETURN_IF_ERROR(AddSymbols(image, writer));
  ASSIGN_OR_RETURN(const auto mapped, MappedIndex::Write(writer, nullptr));
  ASSIGN_OR_RETURN(const auto index, SymbolIndex::Open(mapped->bytes(), kIdentity));
  std::vector<SymbolIndex::Call> calls(kCallsMax);
  for (char line[64]; std::fgets(line, sizeof(line), stdin) != nullptr;) {
    const size_t count = index.Find(std::strtoull(line, nullptr, 16), calls);
    for (size_t i = 0; i < count; ++i) {
      const auto function = index.function(calls[i].function);
      std::printf("%.*s\t%.*s\t%u\t%u\n", static_cast<int>(function.system_name().size()),
                  function.system_name().data(), static_cast<int>(index.file(calls[i].file).size()),
                  index.file(calls[i].file).data(), calls[i].line, function.start_line);
    }
    std::printf("\n");
  }
  return {};
}

Result<void> PrintAddresses(const Image& image, size_t count) {
  std::set<uint64_t> all;
  UnitReader reader(image.file->sections());
  for (Unit unit; reader.Next(unit);) {
    for (const Range& range : unit.ranges) all.insert({range.start, range.end - 1});
    for (const auto& row : unit.lines) {
      if (!row.end_sequence) all.insert(row.address);
    }
  }
  const size_t step = std::max<size_t>(1, all.size() / std::max<size_t>(count, 1));
  size_t i = 0;
  for (const uint64_t address : all) {
    if (i++ % step == 0) std::printf("0x%" PRIx64 "\n", address);
  }
  return {};
}

struct Arguments {
  std::string path;
  size_t lookups = 2'000'000;
  const char* index_path = nullptr;
  bool print = false;
  bool symbols = true;
  size_t addresses = 0;
};

Result<void> Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Image image, OpenImage(arguments.path));
  if (arguments.print) return PrintNames(image, arguments.symbols);
  if (arguments.addresses != 0) return PrintAddresses(image, arguments.addresses);
  return PrintCosts(image, arguments.lookups, arguments.index_path);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (argument == "--print") {
      arguments.print = true;
    } else if (argument == "--no-symbols") {
      arguments.symbols = false;
    } else if (argument == "--lookups" || argument == "--addresses") {
      (argument == "--lookups" ? arguments.lookups : arguments.addresses) =
          std::strtoull(value, nullptr, 10);
      ++i;
    } else if (argument == "--index") {
      arguments.index_path = value;
      ++i;
    } else {
      arguments.path = argument;
    }
  }
  if (arguments.path.empty()) {
    std::fprintf(stderr,
                 "usage: symbol_index_bench FILE [--lookups N] [--index PATH] | --print "
                 "[--no-symbols] | --addresses N\n");
    return 2;
  }
  const auto done = Run(arguments);
  if (done.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", arguments.path.c_str(), done.error().message().c_str());
  return 1;
}
