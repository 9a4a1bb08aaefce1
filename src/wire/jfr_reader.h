// A cursor over the bytes of a JFR chunk: its integers and strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/byte_reader.h"

namespace vesta::wire {

// A string, or the key of one in the constant pool of java.lang.String.
struct JfrString {
  std::string text;  // UTF-8
  uint64_t key = 0;  // when is_reference
  bool is_reference = false;
};

// Shape:  fixed numbers are big endian, all others compressed: 7 bits per byte, lowest first, the
//         ninth byte with all its 8 bits.
// Errors: as base::ByteReader: after the first read past the end it is failed and gives zeros.
class JfrReader {
 public:
  explicit JfrReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return bytes_.ok(); }
  size_t position() const { return bytes_.position(); }
  size_t remaining() const { return bytes_.remaining(); }
  void Seek(size_t position) { bytes_.Seek(position); }
  void Skip(size_t count) { bytes_.Skip(count); }
  void Fail() { bytes_.Fail(); }

  uint64_t ReadCompressed();
  // How many things follow; fails when there are more than bytes left.
  size_t ReadCount();
  uint64_t ReadBigEndian(size_t byte_count);
  JfrString ReadString();
  void SkipString();

 private:
  base::ByteReader bytes_;
};

}  // namespace vesta::wire
