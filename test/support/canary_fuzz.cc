// A fuzz target that must crash: it proves that a build with sanitizers and libFuzzer finds an
// overflow and that the test runner sees it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4 || std::memcmp(data, "bird", 4) != 0) return 0;
  const auto copy = std::make_unique<uint8_t[]>(size);
  std::memcpy(copy.get(), data, size);
  // The song's length comes from outside and nobody checked it.
  volatile uint8_t sum = 0;
  for (size_t i = 0; i < size + size_t{data[size - 1]} + 1; ++i) {
    sum = static_cast<uint8_t>(sum + copy[i]);
  }
  return 0;
}
