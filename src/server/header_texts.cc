#include "src/server/header_texts.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "src/base/json.h"

namespace vesta::server {
namespace {

constexpr size_t kBytesMax = 4000;

// A JSON string without a byte that a header may not have.
std::string AsciiJson(std::string_view text) {
  std::string utf8;
  base::AppendJsonString(text, utf8);
  std::string out;
  for (size_t i = 0; i < utf8.size();) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x7f) {
      out += utf8[i++];
      continue;
    }
    // What the writer gives is valid UTF-8.
    const size_t size = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    uint32_t code = byte == 0x7f ? byte : byte & (0x7fu >> size);
    const size_t length = byte == 0x7f ? 1 : size;
    for (size_t j = 1; j < length; ++j)
      code = code << 6 | (static_cast<unsigned char>(utf8[i + j]) & 0x3fu);
    i += length;
    const auto add = [&out](uint32_t unit) {
      std::array<char, 16> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04x", unit);
      out += escape.data();
    };
    if (code < 0x10000) {
      add(code);
    } else {
      add(0xd800 + ((code - 0x10000) >> 10));
      add(0xdc00 + ((code - 0x10000) & 0x3ff));
    }
  }
  return out;
}

}  // namespace

std::string HeaderTexts(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string one = (i == 0 ? "" : ", ") + AsciiJson(texts[i]);
    if (out.size() + one.size() > kBytesMax) {
      const std::string more = std::to_string(texts.size() - i) + " more notes do not fit here";
      return out + (i == 0 ? "" : ", ") + AsciiJson(more) + ']';
    }
    out += one;
  }
  return out + ']';
}

}  // namespace vesta::server
