// Files of late names, sorted ones and records of the log, with any bytes in them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "src/store/symbols/fact_codec.h"
#include "src/store/symbols/symbol_log.h"
#include "src/store/symbols/symbol_run.h"

namespace {

using namespace vesta;
using store::symbols::FactBlock;

class View final : public base::ByteSource {
 public:
  explicit View(std::string_view bytes) : bytes_(bytes) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  base::Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    return base::MemorySource(std::as_bytes(std::span(bytes_))).ReadAt(offset, out);
  }

 private:
  std::string_view bytes_;
};

size_t Touch(const FactBlock& block) {
  size_t seen = block.memory_bytes();
  for (size_t i = 0; i < block.count(); ++i) {
    seen += static_cast<size_t>(block.place(i).address);
    for (const auto& line : block.fact(i).lines) seen += line.function->name.size();
  }
  return seen;
}

// What was read is written again as the same.
void RoundTrip(const FactBlock& block) {
  store::symbols::FactWriter writer;
  for (size_t i = 0; i < block.count(); ++i) writer.Add(block.place(i), block.fact(i));
  const auto again = FactBlock::Decode(writer.Finish());
  if (!again.ok() || (*again)->count() != block.count()) std::abort();
  for (size_t i = 0; i < block.count(); ++i) {
    if ((*again)->place(i) != block.place(i) ||
        (*again)->fact(i).version != block.fact(i).version ||
        !store::symbols::SameLines((*again)->fact(i).lines, block.fact(i).lines)) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto block = FactBlock::Decode(std::string(bytes)); block.ok()) {
    if (Touch(**block) == 1) return 1;
    if (bytes.size() < 4'096) RoundTrip(**block);
  }
  if (const auto log = store::symbols::ReadLog(bytes); log.ok()) {
    if (log->good_bytes > bytes.size()) std::abort();
    for (const auto& block : log->blocks) (void)Touch(*block);
  }
  store::index::PageCache cache(1 << 20);
  const auto run = store::symbols::SymbolRun::Open(std::make_unique<View>(bytes), &cache);
  if (!run.ok()) return 0;
  for (size_t i = 0; i < (*run)->block_count(); ++i) {
    const auto block = (*run)->block(i);
    if (!block.ok()) continue;
    std::shared_ptr<const FactBlock> owner;
    for (size_t fact = 0; fact < (*block)->count(); ++fact) {
      (void)(*run)->Find((*block)->place(fact), 0, &owner).ok();
    }
  }
  return 0;
}
