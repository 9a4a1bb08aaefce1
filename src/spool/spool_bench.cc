// What the spool costs: spool_bench FOLDER [MB].
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "src/spool/spool.h"

namespace {

using vesta::spool::Spool;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::puts("spool_bench FOLDER [MB]"), 2;
  const uint64_t bytes = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000) * 1'000'000;
  constexpr uint64_t kRecordBytes = 50'000;
  vesta::spool::SpoolOptions options;
  options.folder = argv[1];
  options.bytes_max = 2 * bytes;
  auto opened = Spool::Open(options);
  if (!opened.ok()) return std::puts(opened.error().message().c_str()), 1;
  auto spool = *std::move(opened);
  std::string payload(kRecordBytes, '\0');
  for (char& byte : payload) byte = static_cast<char>(std::rand());
  auto start = std::chrono::steady_clock::now();
  for (uint64_t written = 0; written < bytes; written += kRecordBytes) {
    const auto appended = spool->Append({vesta::spool::RecordKind::kBatch, 1'000, 0, payload});
    if (!appended.ok()) return std::puts(appended.error().message().c_str()), 1;
  }
  std::printf("append   %8.0f MB/s\n", static_cast<double>(bytes) / 1e6 / SecondsSince(start));
  spool.reset();
  start = std::chrono::steady_clock::now();
  opened = Spool::Open(options);
  if (!opened.ok()) return std::puts(opened.error().message().c_str()), 1;
  spool = *std::move(opened);
  std::printf("open     %8.1f ms, %llu files\n", SecondsSince(start) * 1e3,
              static_cast<unsigned long long>(spool->State().files));
  start = std::chrono::steady_clock::now();
  while (true) {
    const auto oldest = spool->Oldest();
    if (!oldest.ok() || *oldest == nullptr) break;
    spool->Acknowledge((*oldest)->sequence);
  }
  std::printf("read     %8.0f MB/s\n", static_cast<double>(bytes) / 1e6 / SecondsSince(start));
  return 0;
}
