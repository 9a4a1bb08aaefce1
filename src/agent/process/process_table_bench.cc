// What one pass over all processes of this machine costs. Start more processes yourself, such as
//   for i in $(seq 200); do sleep 60 & done
#include <malloc.h>
#include <sys/resource.h>

#include <cstdio>

#include "src/agent/process/linux_proc.h"
#include "src/agent/process/process_table.h"

namespace {

double CpuMs() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

size_t HeapBytes() { return ::mallinfo2().uordblks; }

}  // namespace

int main() {
  using namespace vesta::agent::process;
  const LinuxProc proc;
  const size_t heap_before = HeapBytes();
  ImageStore images(proc, {});
  ProcessTable table(proc, images, {});
  for (int pass = 1; pass <= 3; ++pass) {
    const double cpu_before = CpuMs();
    table.Scan();
    std::printf("scan_%d_cpu_ms=%.2f\n", pass, CpuMs() - cpu_before);
  }
  size_t mapping_count = 0;
  size_t unreadable_count = 0;
  for (const uint32_t pid : table.TakeChanged()) {
    mapping_count += table.Find(pid)->mappings.all().size();
  }
  for (uint32_t id = 1; id <= images.image_count(); ++id) {
    unreadable_count +=
        images.image(vesta::profile::ImageId(id)).kind == ImageKind::kUnreadable ? 1 : 0;
  }
  const auto pids = proc.ListPids();
  if (!pids.ok()) return 1;
  const double cpu_before = CpuMs();
  size_t labelled_count = 0;
  for (const uint32_t pid : *pids) labelled_count += table.EnsureLabels(pid) ? 1 : 0;
  std::printf("labels_cpu_ms=%.2f\n", CpuMs() - cpu_before);
  std::printf(
      "processes=%zu mappings=%zu images=%zu unreadable=%zu labelled=%zu heap_kib=%zu\n"
      "files_checked=%llu files_parsed=%llu\n",
      table.process_count(), mapping_count, images.image_count(), unreadable_count, labelled_count,
      (HeapBytes() - heap_before) / 1024,
      static_cast<unsigned long long>(images.counters().files_checked),
      static_cast<unsigned long long>(images.counters().files_parsed));
  return 0;
}
