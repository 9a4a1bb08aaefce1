// Prints what is in the debug information of each file on the command line, and the cost of reading
// it: CPU time without I/O and decompression, and the memory of the largest unit.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "src/dwarf/unit_reader.h"
#include "test/support/debug_file.h"

namespace {

constexpr int kRuns = 3;
constexpr double kMegabyte = 1 << 20;

double CpuMs() {
  struct timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// From /proc/self/status: of the process so far, since its last reset.
long StatusKb(const char* key) {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return 0;
  std::array<char, 256> line{};
  long value = 0;
  while (std::fgets(line.data(), static_cast<int>(line.size()), status) != nullptr) {
    const std::string text = line.data();
    if (text.rfind(key, 0) == 0) value = std::atol(text.c_str() + std::string(key).size());
  }
  std::fclose(status);
  return value;
}

void ResetPeak() {
  std::FILE* file = std::fopen("/proc/self/clear_refs", "w");
  if (file == nullptr) return;
  std::fputs("5", file);
  std::fclose(file);
}

bool MeasureFile(const std::string& path) {
  auto file = vesta::test::DebugFile::Open(path);
  if (!file.ok()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), file.error().message().c_str());
    return false;
  }
  std::unique_ptr<vesta::test::DebugFile> alternate;
  if (!(*file)->alternate_path().empty()) {
    auto opened = vesta::test::DebugFile::Open((*file)->alternate_path());
    if (opened.ok()) {
      alternate = std::move(opened).value();
      (*file)->set_alternate(*alternate);
    }
  }
  const vesta::dwarf::Sections& sections = (*file)->sections();
  double read_ms_min = 1e12;
  vesta::dwarf::ReaderStats stats;
  size_t functions = 0;
  size_t scopes = 0;
  size_t rows = 0;
  ::malloc_trim(0);  // what earlier files left
  ResetPeak();
  const long before_kb = StatusKb("VmRSS:");
  for (int run = 0; run < kRuns; ++run) {
    functions = scopes = rows = 0;
    const double start_ms = CpuMs();
    vesta::dwarf::UnitReader reader(sections);
    vesta::dwarf::Unit unit;
    while (reader.Next(unit)) {
      functions += unit.functions.size();
      scopes += unit.scopes.size();
      rows += unit.lines.size();
    }
    read_ms_min = std::min(read_ms_min, CpuMs() - start_ms);
    stats = reader.stats();
  }
  const double info_mb = static_cast<double>(sections.info.size()) / kMegabyte;
  const double line_mb = static_cast<double>(sections.line.size()) / kMegabyte;
  std::printf(
      "%8.1f %8.1f %7llu %4llu %4llu %4llu %6llu %9zu %9zu %9zu %9.1f %7.0f %9.1f  %s\n", info_mb,
      line_mb, static_cast<unsigned long long>(stats.unit_count),
      static_cast<unsigned long long>(stats.damaged_count + stats.line_damaged_count),
      static_cast<unsigned long long>(stats.truncated_count),
      static_cast<unsigned long long>(stats.split_missing_count),
      static_cast<unsigned long long>(stats.lost_reference_count + stats.damaged_range_list_count),
      functions, scopes, rows, read_ms_min, info_mb * 1e3 / read_ms_min,
      static_cast<double>(StatusKb("VmHWM:") - before_kb) / 1024, path.c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: dwarf_bench FILE...\n");
    return 1;
  }
  std::printf("%8s %8s %7s %4s %4s %4s %6s %9s %9s %9s %9s %7s %9s  %s\n", "info_mb", "line_mb",
              "units", "dmg", "cut", "dwo", "lost", "functions", "scopes", "rows", "cpu_ms", "mb/s",
              "peak_mb", "file");
  bool all_measured = true;
  for (int i = 1; i < argc; ++i) all_measured = MeasureFile(argv[i]) && all_measured;
  return all_measured ? 0 : 1;
}
