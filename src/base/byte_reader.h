// A cursor over foreign bytes that cannot leave them: after the first read past the end it is
// failed, every further read gives zero, and the caller checks ok() once at the end of a step.
// Shape: little endian, as on every machine vesta supports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace vesta::base {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  bool AtEnd() const { return position_ == bytes_.size(); }

  void Seek(size_t position) {
    if (position > bytes_.size()) return Fail();
    position_ = position;
  }
  void Skip(size_t count) {
    if (count > remaining()) return Fail();
    position_ += count;
  }

  template <typename T>
  T Read() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (sizeof(T) > remaining()) {
      Fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  // LEB128; more than 64 bits fail the reader.
  uint64_t ReadUleb128() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = Read<uint8_t>();
      if (!ok_) return 0;
      value |= static_cast<uint64_t>(byte & 0x7fu) << shift;
      if ((byte & 0x80u) == 0) return value;
    }
    Fail();
    return 0;
  }
  int64_t ReadSleb128() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = Read<uint8_t>();
      if (!ok_) return 0;
      value |= static_cast<uint64_t>(byte & 0x7fu) << shift;
      if ((byte & 0x80u) == 0) {
        if (shift + 7 < 64 && (byte & 0x40u) != 0) value |= ~uint64_t{0} << (shift + 7);
        return static_cast<int64_t>(value);
      }
    }
    Fail();
    return 0;
  }

  // Up to the next NUL, which is consumed; fails when there is none.
  std::string_view ReadCString() {
    const char* start = reinterpret_cast<const char*>(bytes_.data()) + position_;
    // memchr wants no null pointer, which an empty span may have.
    const void* end = remaining() == 0 ? nullptr : std::memchr(start, 0, remaining());
    if (end == nullptr) {
      Fail();
      return {};
    }
    const auto length = static_cast<size_t>(static_cast<const char*>(end) - start);
    position_ += length + 1;
    return {start, length};
  }

  std::span<const std::byte> ReadBytes(size_t count) {
    if (count > remaining()) {
      Fail();
      return {};
    }
    const auto part = bytes_.subspan(position_, count);
    position_ += count;
    return part;
  }

  void Fail() {
    ok_ = false;
    position_ = bytes_.size();
  }

 private:
  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace vesta::base
