// Records of the sample ring and of the side-band, as a damaged recording could hold them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "src/agent/source/kernel_source.h"
#include "src/agent/source/process_news.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Aligned, as rings are.
  std::vector<uint64_t> words((size + 7) / 8);
  if (size != 0) std::memcpy(words.data(), data, size);
  const auto bytes = std::as_bytes(std::span(words)).first(size);
  const auto sample = vesta::agent::source::ParseSampleRecord(bytes);
  if (sample.ok()) {
    uint64_t sum = 0;
    for (const abi_frame& frame : sample->user) sum += frame.address;
    for (const uint64_t address : sample->kernel) sum += address;
    for (const std::byte b : sample->stack) sum += static_cast<uint64_t>(b);
    volatile uint64_t sink = sum;
    static_cast<void>(sink);
  }
  static_cast<void>(vesta::agent::source::ParseProcessNews(bytes).ok());
  return 0;
}
