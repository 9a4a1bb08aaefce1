// Bytes in memory that live as long as whoever reads them.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "src/base/byte_source.h"

namespace vesta::object {

class OwningSource final : public base::ByteSource {
 public:
  explicit OwningSource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  base::Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    return base::MemorySource(bytes_).ReadAt(offset, out);
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace vesta::object
