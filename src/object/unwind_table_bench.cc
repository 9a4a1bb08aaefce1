// Prints size and cost of the unwind table of each file on the command line.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "src/object/unwind_table.h"

namespace {

constexpr int kRuns = 5;
constexpr double kMegabyte = 1 << 20;

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
    const auto start = std::chrono::steady_clock::now();
    const auto elf = ElfFile::Parse(**source);
    if (!elf.ok()) {
      std::fprintf(stderr, "%s: %s\n", path, elf.error().message().c_str());
      return false;
    }
    const auto table = vesta::object::BuildUnwindTable(*elf, **source);
    const std::chrono::duration<double, std::milli> build_ms =
        std::chrono::steady_clock::now() - start;
    if (!table.ok()) {
      std::fprintf(stderr, "%s: %s\n", path, table.error().message().c_str());
      return false;
    }
    build_ms_min = std::min(build_ms_min, build_ms.count());
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
              "rows", "rules", "unsupported", "table_bytes", "MB_per_MB", "ms_best", "peak_kb",
              "file");
  bool all_measured = true;
  for (int i = 1; i < argc; ++i) all_measured = MeasureFile(argv[i]) && all_measured;
  return all_measured ? 0 : 1;
}
