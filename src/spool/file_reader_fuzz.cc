// Records that are found are whole, in order, and inside of the file.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "src/base/byte_source.h"
#include "src/base/check.h"
#include "src/spool/file_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace vesta;
  const base::MemorySource source(std::as_bytes(std::span(bytes, size)));
  const spool::FileReader reader(source, uint64_t{1} << 20);
  spool::FileHeader header;
  std::optional<spool::ReadMark> mark;
  const auto kind = reader.ReadHeader(&header, &mark);
  CHECK(kind.ok());
  uint64_t offset = 0;
  spool::Total read = header.start;
  while (true) {
    const auto found = reader.Next(offset, read);
    CHECK(found.ok());
    if (!found->has_value()) break;
    const spool::FoundRecord& record = **found;
    CHECK(record.offset >= offset && record.end_offset() <= size);
    CHECK(spool::CheckOf(record.payload) == record.header.payload_check);
    CHECK(spool::IsOrdered(read, record.header.before));
    CHECK(record.header.after().records > read.records);
    offset = record.end_offset();
    read = record.header.after();
  }
  return 0;
}
