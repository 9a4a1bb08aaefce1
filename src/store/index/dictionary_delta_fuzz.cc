#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "src/base/check.h"
#include "src/store/index/column_codec.h"
#include "src/store/index/dictionary.h"

using vesta::store::index::Checksum;
using vesta::store::index::CutSubTrie;
using vesta::store::index::Dictionary;

// Whatever a delta says, what was taken in can be read, and is written again as a delta that gives
// the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> delta(data, data + size);
  Dictionary dictionary;
  (void)dictionary.ApplyDelta(delta).ok();
  if (size < sizeof(uint64_t)) return 0;
  const size_t body = size - sizeof(uint64_t);
  const uint64_t checksum = Checksum(delta.data(), body);
  std::memcpy(delta.data() + body, &checksum, sizeof(checksum));
  if (!dictionary.ApplyDelta(delta).ok()) return 0;

  const auto marks = dictionary.marks();
  for (uint32_t id = 0; id < marks.frames; ++id) {
    const auto frame = dictionary.frame(id);
    CHECK(frame.ok() && dictionary.image(frame->image).ok());
    for (const auto& line : frame->lines) CHECK(dictionary.function(line.function).ok());
    const auto callables = dictionary.frame_callables(id);
    CHECK(callables.ok());
    for (const uint32_t callable : *callables) CHECK(dictionary.callable(callable).ok());
  }
  for (uint32_t id = 0; id < marks.series; ++id) (void)dictionary.series(id);
  for (uint32_t id = 0; id < marks.types; ++id) (void)dictionary.type(id);
  for (uint32_t id = 0; id < marks.tasks; ++id) (void)dictionary.task(id);
  const std::vector<uint32_t> last = {marks.nodes - 1};
  std::vector<uint32_t> local(1);
  CHECK(CutSubTrie(dictionary, last, local).ok());

  Dictionary copy;
  const auto again = dictionary.EncodeDelta(copy.marks());
  CHECK(copy.ApplyDelta(again).ok());
  CHECK(copy.EncodeDelta(Dictionary().marks()) == again);
  copy.InternString("x");
  CHECK(copy.marks().nodes == marks.nodes);
  return 0;
}
