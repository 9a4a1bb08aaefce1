#include "src/base/printable.h"

#include "src/base/utf8.h"

namespace vesta::base {
namespace {

// Whether a character of more than one byte steers a terminal, or the order in which it shows text.
// Source: Unicode 15: C1 is U+0080-9F; Bidi_Control is U+061C, 200E-F, 202A-E and 2066-9.
bool Steers(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 2)
    return (byte(0) == 0xc2 && byte(1) < 0xa0) || (byte(0) == 0xd8 && byte(1) == 0x9c);
  if (character.size() != 3 || byte(0) != 0xe2) return false;
  if (byte(1) == 0x80)
    return byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xaa && byte(2) <= 0xae);
  return byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
}

std::string Replaced(std::string_view text, bool keep_newlines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    // A byte that is no UTF-8 may be a C1 control of a terminal that knows nothing else.
    const size_t length = Utf8Length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    const bool is_obeyed = byte < 0x20 || byte == 0x7f || length == 0 || Steers(character);
    if (is_obeyed && !(keep_newlines && byte == '\n'))
      out += '?';
    else
      out += character;
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view text) { return Replaced(text, false); }

std::string PrintableLines(std::string_view text) { return Replaced(text, true); }

std::string EscapeMarkup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace vesta::base
