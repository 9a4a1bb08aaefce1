#include <cstddef>
#include <cstdint>

#include "src/base/check.h"
#include "src/wire/perf_data.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const vesta::base::MemorySource source(std::as_bytes(std::span(data, size)));
  const auto recording = vesta::wire::PerfData::Open(source);
  if (!recording.ok()) return 0;
  for (size_t i = 0; i < recording->record_count(); ++i) {
    const auto record = recording->Read(i);
    if (!record.ok()) continue;
    if (const auto* const sample = std::get_if<vesta::wire::PerfSample>(&*record)) {
      CHECK(sample->stack.size() < size);
      CHECK(!sample->has_user_stack || !sample->stack.empty());
    } else if (const auto* const mapping = std::get_if<vesta::wire::PerfMapping>(&*record)) {
      CHECK(mapping->start <= mapping->end && mapping->path.size() < size);
    }
  }
  return 0;
}
