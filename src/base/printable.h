// Names and messages that hold foreign text, made safe for a terminal and for markup.
#pragma once

#include <string>
#include <string_view>

namespace vesta::base {

// The text with '?' for each character that a terminal would obey, C0, DEL, C1 and what turns the
// direction of text around, and for each byte that is no UTF-8.
std::string Printable(std::string_view text);

// The same, but lines stay lines.
std::string PrintableLines(std::string_view text);

// The text as XML and HTML hold it, between tags and in attributes.
std::string EscapeMarkup(std::string_view text);

}  // namespace vesta::base
