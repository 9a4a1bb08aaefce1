#include "src/base/printable.h"

namespace vesta::base {
namespace {

std::string Replaced(std::string_view text, bool keep_newlines) {
  std::string out(text);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    const bool is_c1 = byte == 0xc2 && i + 1 < out.size() &&
                       (static_cast<unsigned char>(out[i + 1]) & 0xe0u) == 0x80;
    if (keep_newlines && out[i] == '\n') continue;
    if (byte < 0x20 || byte == 0x7f) out[i] = '?';
    if (is_c1) out.replace(i, 2, "?");
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view text) { return Replaced(text, false); }

std::string PrintableLines(std::string_view text) { return Replaced(text, true); }

}  // namespace vesta::base
