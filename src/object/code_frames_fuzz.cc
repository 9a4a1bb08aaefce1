#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/check.h"
#include "src/object/code_frames.h"

// The first byte says where the code is cut in two pieces, the second one where a function begins;
// the rest is code.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vesta::object::CodePiece;
  if (size < 2) return 0;
  constexpr uint64_t kVaddr = 0x1000;
  const auto code = std::as_bytes(std::span(data + 2, size - 2));
  const size_t cut = code.size() * data[0] / 256;
  const auto first = code.first(cut);
  const auto second = code.subspan(cut);
  const std::vector<CodePiece> pieces = {{kVaddr, {first.begin(), first.end()}},
                                         {kVaddr + cut + 64, {second.begin(), second.end()}}};
  const std::vector<uint64_t> functions = {kVaddr + data[1], kVaddr, ~uint64_t{0}};
  const auto frames = vesta::object::FindCodeFrames(pieces, functions, kVaddr + 8);
  uint64_t last_vaddr = 0;
  for (const auto& row : frames.rows) {
    CHECK(row.start_vaddr >= last_vaddr && row.start_vaddr < row.end_vaddr);
    CHECK((row.start_vaddr >= kVaddr && row.end_vaddr <= kVaddr + cut) ||
          (row.start_vaddr >= kVaddr + cut + 64 && row.end_vaddr <= kVaddr + code.size() + 64));
    last_vaddr = row.end_vaddr;
  }
  return 0;
}
