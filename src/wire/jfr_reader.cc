#include "src/wire/jfr_reader.h"

#include <algorithm>

#include "src/base/utf8.h"

namespace vesta::wire {
namespace {

// How the text of a string follows.
enum StringEncoding : uint8_t {
  kNull = 0,
  kEmpty = 1,
  kReference = 2,
  kUtf8 = 3,
  kUtf16 = 4,  // compressed units
  kLatin1 = 5,
};

void AppendCodePoint(uint32_t code, std::string& out) {
  const auto push = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xc0 | code >> 6);
    push(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    push(0xe0 | code >> 12);
    push(0x80 | (code >> 6 & 0x3f));
    push(0x80 | (code & 0x3f));
  } else {
    push(0xf0 | code >> 18);
    push(0x80 | (code >> 12 & 0x3f));
    push(0x80 | (code >> 6 & 0x3f));
    push(0x80 | (code & 0x3f));
  }
}

bool IsHighSurrogate(uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool IsLowSurrogate(uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

}  // namespace

uint64_t JfrReader::ReadCompressed() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 56; shift += 7) {
    const auto byte = bytes_.Read<uint8_t>();
    value |= static_cast<uint64_t>(byte & 0x7fu) << shift;
    if ((byte & 0x80u) == 0) return value;
  }
  return value | static_cast<uint64_t>(bytes_.Read<uint8_t>()) << 56;
}

size_t JfrReader::ReadCount() {
  const uint64_t count = ReadCompressed();
  if (count > remaining()) {
    Fail();
    return 0;
  }
  return count;
}

uint64_t JfrReader::ReadBigEndian(size_t byte_count) {
  uint64_t value = 0;
  for (size_t i = 0; i < byte_count; ++i) value = value << 8 | bytes_.Read<uint8_t>();
  return value;
}

JfrString JfrReader::ReadString() {
  JfrString string;
  switch (bytes_.Read<uint8_t>()) {
    case kNull:
    case kEmpty:
      break;
    case kReference:
      string.is_reference = true;
      string.key = ReadCompressed();
      break;
    case kUtf8: {
      const auto text = bytes_.ReadBytes(ReadCount());
      string.text = base::ToUtf8({reinterpret_cast<const char*>(text.data()), text.size()});
      break;
    }
    case kUtf16: {
      uint32_t high = 0;
      for (size_t left = ReadCount(); left > 0 && ok(); --left) {
        const auto unit = static_cast<uint32_t>(ReadCompressed() & 0xffff);
        if (IsLowSurrogate(unit) && high != 0) {
          AppendCodePoint(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00), string.text);
          high = 0;
          continue;
        }
        if (high != 0) string.text += base::kReplacementCharacter;
        high = IsHighSurrogate(unit) ? unit : 0;
        if (IsLowSurrogate(unit))
          string.text += base::kReplacementCharacter;
        else if (high == 0)
          AppendCodePoint(unit, string.text);
      }
      if (high != 0) string.text += base::kReplacementCharacter;
      break;
    }
    case kLatin1:
      for (const std::byte byte : bytes_.ReadBytes(ReadCount()))
        AppendCodePoint(static_cast<uint32_t>(byte), string.text);
      break;
    default:
      Fail();
  }
  return string;
}

void JfrReader::SkipString() {
  switch (bytes_.Read<uint8_t>()) {
    case kNull:
    case kEmpty:
      break;
    case kReference:
      ReadCompressed();
      break;
    case kUtf8:
    case kLatin1:
      Skip(ReadCount());
      break;
    case kUtf16:
      for (size_t left = ReadCount(); left > 0 && ok(); --left) ReadCompressed();
      break;
    default:
      Fail();
  }
}

}  // namespace vesta::wire
