// The checksum by which .gnu_debuglink knows its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vesta::object {

// The CRC of ISO 3309, as gzip has it. Cost: one pass over the bytes.
uint32_t Crc32(std::span<const std::byte> bytes);

}  // namespace vesta::object
