#include <cstddef>
#include <cstdint>

#include "bench/oracle/perf_data.h"
#include "src/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const vesta::base::MemorySource source(std::as_bytes(std::span(data, size)));
  const auto recording = vesta::oracle::PerfData::Open(source);
  if (!recording.ok()) return 0;
  for (size_t i = 0; i < recording->record_count(); ++i) {
    const auto record = recording->Read(i);
    if (!record.ok()) continue;
    if (const auto* const sample = std::get_if<vesta::oracle::PerfSample>(&*record)) {
      CHECK(sample->stack.size() < size);
      CHECK(!sample->has_user_stack || !sample->stack.empty());
    } else if (const auto* const mapping = std::get_if<vesta::oracle::PerfMapping>(&*record)) {
      CHECK(mapping->start <= mapping->end && mapping->path.size() < size);
    }
  }
  return 0;
}
