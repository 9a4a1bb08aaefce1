// walk_oracle [--json] [--show N] PERF_DATA
//
// Walks each user stack of a recording made by `perf record --call-graph dwarf,65528` twice, with
// elfutils and as the agent does, and says where the two part. --show prints N pairs of walks of
// each kind of difference.
//
// walk_oracle --tables FILE...
//
// Compares the unwind table of each file with its call frame information as elfutils reads it, and
// prints the files that differ and the sums.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "bench/oracle/compare.h"
#include "bench/oracle/compare_tables.h"
#include "bench/oracle/elfutils_walk.h"
#include "bench/oracle/our_walk.h"
#include "bench/oracle/replay.h"
#include "src/wire/perf_data.h"

namespace vesta::oracle {
namespace {

// The entry of a program is a few instructions that call its start function.
constexpr uint64_t kEntryBytes = 64;
// Frames that are shown on both sides of the place where walks part.
constexpr size_t kShownBefore = 4;
constexpr size_t kShownAfter = 6;

// Outermost functions: of programs, of threads, of Go.
constexpr const char* kRoots[] = {
    "_start",         "_start_c",       "__clone",           "clone",         "__clone3",
    "clone3",         "start_thread",   "_rt0_amd64_linux",  "_rt0_amd64",    "runtime.goexit",
    "runtime.mstart", "runtime.rt0_go", "runtime.morestack", "runtime.mcall", "_dl_start_user",
};

// Functions of Go behind which the walk goes on on another stack. perf copies only one.
constexpr const char* kStackSwitches[] = {"runtime.systemstack", "runtime.asmcgocall",
                                          "runtime.cgocallback"};

// Go's assembly functions carry a suffix.
template <size_t Count>
bool IsAnyOf(const char* const (&names)[Count], std::string name) {
  constexpr char kAbi0[] = ".abi0";
  const size_t suffix = name.rfind(kAbi0);
  if (suffix != std::string::npos) name.resize(suffix);
  return std::any_of(std::begin(names), std::end(names),
                     [&](const char* known) { return name == known; });
}

const MappedCode* CodeAt(const ReplayedProcess& process, uint64_t address) {
  for (const MappedCode& code : process.code) {
    if (address >= code.start && address < code.end) return &code;
  }
  return nullptr;
}

// Code that a process maps twice (V8 does that with its own) is the same code for us.
uint64_t FirstPlaceOf(const ReplayedProcess& process, uint64_t address) {
  const MappedCode* const code = CodeAt(process, address);
  if (code == nullptr) return address;
  const uint64_t offset = code->file_offset + (address - code->start);
  for (const MappedCode& other : process.code) {
    if (other.image == code->image && offset >= other.file_offset &&
        offset - other.file_offset < other.end - other.start) {
      return other.start + (offset - other.file_offset);
    }
  }
  return address;
}

class Comparer {
 public:
  Comparer(const wire::PerfData& recording, uint64_t show_max)
      : recording_(recording),
        replay_(images_),
        ours_(images_),
        theirs_(images_),
        show_max_(show_max) {}

  base::Result<Report> Run() {
    for (size_t i = 0; i < recording_.record_count(); ++i) {
      ASSIGN_OR_RETURN(const wire::PerfRecord record, recording_.Read(i));
      std::visit([this](const auto& event) { Take(event); }, record);
    }
    return report_;
  }

 private:
  void Take(const std::monostate&) {}
  void Take(const wire::PerfLost& lost) { report_.lost += lost.count; }
  template <typename Event>
  void Take(const Event& event) {
    replay_.Apply(event);
  }
  void Take(const wire::PerfSample& sample) {
    if (sample.has_user_stack) {
      TakeStack(sample);
    } else {
      ++report_.without_user_stack;
    }
  }

  void TakeStack(const wire::PerfSample& sample) {
    const ReplayedProcess& process = replay_.process(sample.pid);
    OurWalk ours = ours_.Walk(process, sample);
    ElfutilsWalk theirs = theirs_.Walk(process, sample);
    for (uint64_t& address : ours.addresses) address = FirstPlaceOf(process, address);
    for (uint64_t& address : theirs.addresses) address = FirstPlaceOf(process, address);
    Comparison comparison = Compare(ours, theirs);
    if (comparison.verdict == Verdict::kTheirsLonger && ours.reason == ABI_STOP_READ_FAULT &&
        IsAnyOf(kStackSwitches, theirs_.NameOf(process, ours.addresses.back()))) {
      comparison.verdict = Verdict::kTruncatedEqual;
    }
    CommCounts& counts = report_.comms[process.comm];
    ++counts.samples;
    counts.complete += IsComplete(ours.reason) ? 1 : 0;
    std::string kind = ImageNameAt(process, ours.addresses[comparison.frame]) + ": " +
                       NameOf(ours.reason) + " | " +
                       (theirs.reached_end ? std::string("end") : theirs.error);
    switch (comparison.verdict) {
      case Verdict::kEqual: {
        ++counts.equal;
        const bool is_root = IsRoot(process, ours.addresses.back(), theirs);
        if (!IsComplete(ours.reason)) {
          ++counts.incomplete[kind];
          Show("incomplete, " + kind, process, ours, theirs, sample);
        } else if (!is_root) {
          kind = theirs_.NameOf(process, ours.addresses.back()) + " in " + kind;
          ++counts.odd_ends[kind];
          Show("odd end, " + kind, process, ours, theirs, sample);
        }
        return;
      }
      case Verdict::kTruncatedEqual:
        ++counts.truncated_equal;
        return;
      default:
        const bool is_guess = !theirs_.HasRule(process, ours.addresses[comparison.frame]);
        ++(is_guess ? counts.guessed : counts.different);
        kind = std::string(is_guess ? "guess, " : "") + NameOf(comparison.verdict) + ", " + kind;
        ++counts.kinds[kind];
        Show(kind, process, ours, theirs, sample);
    }
  }

  std::string ImageNameAt(const ReplayedProcess& process, uint64_t address) const {
    const MappedCode* const code = CodeAt(process, address);
    if (code == nullptr) return "[unmapped]";
    const std::string& path = images_.image(code->image).path;
    const size_t slash = path.rfind('/');
    return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
  }

  // By its name; without one by its rule, as elfutils reads it; else by the program's entry.
  bool IsRoot(const ReplayedProcess& process, uint64_t address, const ElfutilsWalk& theirs) {
    const std::string name = theirs_.NameOf(process, address);
    if (name.empty() ? theirs.reached_end : IsAnyOf(kRoots, name)) return true;
    const MappedCode* const code = CodeAt(process, address);
    if (code == nullptr || !images_.image(code->image).elf.has_value()) return false;
    const object::ElfFile& elf = *images_.image(code->image).elf;
    const uint64_t file_offset = code->file_offset + (address - code->start);
    const auto entry = elf.FileOffsetOf(elf.entry_vaddr());
    return entry.has_value() && file_offset >= *entry && file_offset < *entry + kEntryBytes;
  }

  void Show(const std::string& kind, const ReplayedProcess& process, const OurWalk& ours,
            const ElfutilsWalk& theirs, const wire::PerfSample& sample) {
    uint64_t& shown = shown_[process.comm + kind];
    if (shown >= show_max_) return;
    ++shown;
    std::printf("== %s (pid %u, %s), sp %#" PRIx64 ", fp %#" PRIx64 ", stack %zu bytes\n",
                process.comm.c_str(), sample.pid, kind.c_str(), sample.registers[7],
                sample.registers[6], sample.stack.size());
    const size_t count = std::max(ours.addresses.size(), theirs.addresses.size());
    const size_t parted = Compare(ours, theirs).frame;
    for (size_t i = parted - std::min(parted, kShownBefore);
         i < std::min(count, parted + kShownAfter); ++i) {
      std::printf("%4zu", i);
      for (const auto* walk : {&ours.addresses, &theirs.addresses}) {
        const uint64_t address = i < walk->size() ? (*walk)[i] : 0;
        const std::string text =
            address == 0 ? "-"
                         : theirs_.NameOf(process, address) + " " + ImageNameAt(process, address);
        std::printf("  %16" PRIx64 " %-44.44s", address, text.c_str());
      }
      std::printf("\n");
    }
  }

  const wire::PerfData& recording_;
  ImageFiles images_;
  Replay replay_;
  OurWalker ours_;
  ElfutilsWalker theirs_;
  uint64_t show_max_;
  std::map<std::string, uint64_t> shown_;
  Report report_;
};

base::Result<Report> CompareWalks(const char* path, uint64_t show_max) {
  ASSIGN_OR_RETURN(const auto source, base::FileSource::Open(path));
  ASSIGN_OR_RETURN(const wire::PerfData recording, wire::PerfData::Open(*source));
  return Comparer(recording, show_max).Run();
}

// Functions of one file, spread over it: libLLVM has a hundred thousand.
constexpr uint64_t kFunctionsMax = 20'000;

// Whether no file differs.
bool CompareTables(int count, char** paths) {
  test::TableComparison sum;
  uint64_t file_count = 0;
  uint64_t damaged_count = 0;
  for (int i = 0; i < count; ++i) {
    const auto tables = CompareTablesOf(paths[i], kFunctionsMax);
    if (!tables.ok()) {
      std::printf("%s: %s\n", paths[i], tables.error().message().c_str());
      continue;
    }
    const test::TableComparison& one = tables->comparison;
    ++file_count;
    damaged_count += tables->damaged_count;
    sum.place_count += one.place_count;
    sum.unsupported_count += one.unsupported_count;
    sum.unanswered_count += one.unanswered_count;
    sum.difference_count += one.difference_count;
    for (const auto& [kind, places] : one.kinds) sum.kinds[kind] += places;
    if (one.difference_count == 0 && one.unsupported_count == 0 && tables->damaged_count == 0) {
      continue;
    }
    std::printf("%s: %" PRIu64 " of %" PRIu64 " places differ, %" PRIu64 " unsupported, %" PRIu64
                " entries damaged %s\n",
                paths[i], one.difference_count, one.place_count, one.unsupported_count,
                tables->damaged_count, one.first_difference.c_str());
  }
  std::printf("%" PRIu64 " files, %" PRIu64 " places: %" PRIu64 " differ, %" PRIu64
              " unsupported, %" PRIu64 " refused by elfutils, %" PRIu64 " entries damaged\n",
              file_count, sum.place_count, sum.difference_count, sum.unsupported_count,
              sum.unanswered_count, damaged_count);
  for (const auto& [kind, places] : sum.kinds) {
    std::printf("%10" PRIu64 "  %s\n", places, kind.c_str());
  }
  return sum.difference_count == 0;
}

int Main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--tables") == 0) {
    return CompareTables(argc - 2, argv + 2) ? 0 : 1;
  }
  bool wants_json = false;
  uint64_t show_max = 0;
  const char* path = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      wants_json = true;
    } else if (std::strcmp(argv[i], "--show") == 0 && i + 1 < argc) {
      show_max = std::strtoull(argv[++i], nullptr, 10);
    } else {
      path = argv[i];
    }
  }
  if (path == nullptr) {
    std::fprintf(stderr,
                 "usage: walk_oracle [--json] [--show N] PERF_DATA\n"
                 "       walk_oracle --tables FILE...\n");
    return 2;
  }
  const auto report = CompareWalks(path, show_max);
  if (!report.ok()) {
    std::fprintf(stderr, "walk_oracle: %s: %s\n", path, report.error().message().c_str());
    return 1;
  }
  std::printf("%s\n", wants_json ? report->Json().c_str() : report->Table().c_str());
  return 0;
}

}  // namespace
}  // namespace vesta::oracle

int main(int argc, char** argv) { return vesta::oracle::Main(argc, argv); }
