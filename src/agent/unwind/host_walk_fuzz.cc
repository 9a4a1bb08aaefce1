// The walkers of both machines over a table, a stack and registers that an attacker chose: they
// must end, and must not read outside.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "src/agent/unwind/host_walk.h"

using vesta::agent::unwind::BasicHostWalk;

namespace {

template <int kArchitecture>
void Walk(const uint8_t* data, size_t size) {
  using Walker = BasicHostWalk<kArchitecture>;
  constexpr size_t kFixedBytes =
      sizeof(typename Walker::walk_registers) + 2 * sizeof(abi_mapping) + 2;
  if (size < kFixedBytes) return;
  typename Walker::walk_state state{};
  std::memcpy(&state.registers, data, sizeof(state.registers));
  data += sizeof(state.registers);
  std::vector<abi_mapping> mappings(2);
  std::memcpy(mappings.data(), data, 2 * sizeof(abi_mapping));
  data += 2 * sizeof(abi_mapping);
  const size_t stack_bytes = size_t{*data} * 8;
  const bool knows_all_mappings = (data[1] & 1) != 0;
  data += 2;
  size -= kFixedBytes;
  const size_t stack_used = stack_bytes < size ? stack_bytes : size;
  const std::vector<std::byte> stack(reinterpret_cast<const std::byte*>(data),
                                     reinterpret_cast<const std::byte*>(data) + stack_used);
  data += stack_used;
  size -= stack_used;
  std::vector<uint32_t> words((size / sizeof(uint32_t) + ABI_TABLE_BLOCK_WORDS) /
                              ABI_TABLE_BLOCK_WORDS * ABI_TABLE_BLOCK_WORDS);
  if (size != 0) std::memcpy(words.data(), data, size / sizeof(uint32_t) * sizeof(uint32_t));

  Walker walk(stack, state.registers.value[Walker::WALK_REG_SP], mappings,
              [&](uint32_t) { return std::span<const uint32_t>(words); });
  walk.walk_start(&state, 0, 2);
  state.knows_all_mappings = knows_all_mappings ? 1 : 0;
  for (int depth = 0; depth < ABI_USER_FRAMES_MAX; ++depth) {
    abi_frame frame{};
    if (walk.walk_step(&state, &frame) != WALK_CONTINUE) break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Walk<ABI_X86_64>(data, size);
  Walk<ABI_ARM64>(data, size);
  return 0;
}
