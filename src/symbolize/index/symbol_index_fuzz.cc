#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/check.h"
#include "src/symbolize/index/index_for_test.h"
#include "src/symbolize/index/symbol_index.h"

namespace {

using vesta::symbolize::IndexHeader;
using vesta::symbolize::IndexSection;
using vesta::symbolize::SymbolIndex;

// What the file itself says, so that the identity does not stop the fuzzer.
std::string IdentityOf(const std::vector<std::byte>& bytes) {
  IndexHeader header;
  if (bytes.size() < sizeof(header)) return {};
  std::memcpy(&header, bytes.data(), sizeof(header));
  const auto& section = header.sections[static_cast<size_t>(IndexSection::kIdentity)];
  if (section.offset > bytes.size() || section.size_bytes > bytes.size() - section.offset) {
    return {};
  }
  return {reinterpret_cast<const char*>(bytes.data()) + section.offset, section.size_bytes};
}

void LookUp(const SymbolIndex& index, uint64_t address) {
  std::array<SymbolIndex::Call, 64> calls;
  const size_t count = index.Find(address, calls);
  CHECK(count <= calls.size());
  size_t name_bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto function = index.function(calls[i].function);
    for (const auto text :
         {function.name, function.linkage_name, function.file, index.file(calls[i].file)}) {
      for (const char byte : text.substr(0, 64)) name_bytes += byte != 0;
    }
  }
  CHECK(name_bytes <= count * 256);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  std::vector<std::byte> bytes(given.begin(), given.end());
  (void)SymbolIndex::Open(bytes, "").ok();
  vesta::symbolize::FixChecksums(bytes);
  const auto index = SymbolIndex::Open(bytes, IdentityOf(bytes));
  if (!index.ok()) return 0;
  IndexHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const uint64_t step = header.span_bytes / 512 + 1;
  for (uint64_t offset = 0; offset < header.span_bytes; offset += step) {
    LookUp(*index, header.base + offset);
  }
  LookUp(*index, header.base + header.span_bytes - 1);
  LookUp(*index, header.base - 1);
  return 0;
}
