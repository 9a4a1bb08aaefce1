// What is decoded is encoded and decoded again as the same rows.
#include <cstdint>

#include "src/base/check.h"
#include "src/store/duck/row_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace vesta::store::duck;
  DecodedRows rows;
  if (!rows.Decode({bytes, size}, "rows").ok()) return 0;
  std::vector<uint8_t> first;
  EncodeRows(rows.View(), &first);
  DecodedRows again;
  CHECK(again.Decode(first, "rows").ok());
  std::vector<uint8_t> second;
  EncodeRows(again.View(), &second);
  CHECK(first == second && again.View().row_count == rows.View().row_count);
  return 0;
}
