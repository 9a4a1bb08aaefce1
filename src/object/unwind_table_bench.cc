// Prints size and cost (CPU time, best of five; peak memory of this process so far) of the unwind
// table of each file on the command line.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "src/object/unwind_table.h"

namespace {

constexpr int kRuns = 5;
constexpr double kMegabyte = 1 << 20;

double CpuMs() {
  struct timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

long PeakMemoryKb() {
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

bool MeasureFile(const char* path) {
  using vesta::object::ElfFile;
  const auto source = vesta::base::FileSource::Open(path);
  if (!source.ok()) {
    std::fprintf(stderr, "%s: %s\n", path, source.error().message().c_str());
    return false;
  }
  double build_ms_min = 1e9;
  vesta::object::UnwindTableStats stats;
  size_t table_bytes = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double start_ms = CpuMs();
    const auto elf = ElfFile::Parse(**source);
    if (!elf.ok()) {
      std::fprintf(stderr, "%s: %s\n", path, elf.error().message().c_str());
      return false;
    }
    const auto table = vesta::object::BuildUnwindTable(*elf, **source);
    const double build_ms = CpuMs() - start_ms;
    if (!table.ok()) {
      std::fprintf(stderr, "%s: %s\n", path, table.error().message().c_str());
      return false;
    }
    build_ms_min = std::min(build_ms_min, build_ms);
    stats = table->stats;
    table_bytes = table->words.size() * sizeof(uint32_t);
  }
  const double eh_frame_mb = static_cast<double>(stats.eh_frame_bytes) / kMegabyte;
  std::printf("%10llu %8llu %7llu %9llu %6llu %11llu %11zu %9.2f %8.2f %8ld  %s\n",
              static_cast<unsigned long long>(stats.eh_frame_bytes),
              static_cast<unsigned long long>(stats.fde_count),
              static_cast<unsigned long long>(stats.fde_damaged_count),
              static_cast<unsigned long long>(stats.row_count),
              static_cast<unsigned long long>(stats.rule_count),
              static_cast<unsigned long long>(stats.unsupported_row_count), table_bytes,
              eh_frame_mb > 0 ? static_cast<double>(table_bytes) / kMegabyte / eh_frame_mb : 0,
              build_ms_min, PeakMemoryKb(), path);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: unwind_table_bench FILE...\n");
    return 1;
  }
  std::printf("%10s %8s %7s %9s %6s %11s %11s %9s %8s %8s  %s\n", "cfi_bytes", "fdes", "damaged",
              "rows", "rules", "unsupported", "table_bytes", "MB_per_MB", "cpu_ms", "peak_kb",
              "file");
  bool all_measured = true;
  for (int i = 1; i < argc; ++i) all_measured = MeasureFile(argv[i]) && all_measured;
  return all_measured ? 0 : 1;
}
