#include <cstddef>
#include <cstdint>

#include "src/base/check.h"
#include "src/object/jitdump.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace object = vesta::object;
  const vesta::base::MemorySource source(std::as_bytes(std::span(data, size)));
  const auto header = object::ParseJitDumpHeader(source);
  if (!header.ok()) return 0;
  for (uint64_t at = header->records_offset;;) {
    const auto record = object::ReadJitRecord(source, at);
    if (!record.ok() || !*record) break;
    CHECK((*record)->end_offset > at);
    if ((*record)->kind == object::JitRecordKind::kLoad) {
      CHECK((*record)->address + (*record)->size_bytes > (*record)->address);
      const auto name = object::ReadJitName(source, **record);
      CHECK(!name.ok() || name->size() <= object::kJitNameBytesMax);
    }
    if ((*record)->kind == object::JitRecordKind::kDebug) {
      for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{16}}) {
        const auto line = object::FindJitLine(source, **record, (*record)->address + offset);
        CHECK(!line.ok() || !*line || (*line)->file.size() <= object::kJitNameBytesMax);
      }
    }
    at = (*record)->end_offset;
  }
  return 0;
}
