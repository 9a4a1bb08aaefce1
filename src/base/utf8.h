// Foreign text for formats that demand UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vesta::base {

// U+FFFD.
constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

// Length of the valid UTF-8 sequence at the start of text, 0 when there is none.
// Source: Unicode 15, table 3-7 (well-formed byte sequences).
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

// The text with U+FFFD for each byte that is no part of a character.
std::string ToUtf8(std::string_view text);

}  // namespace vesta::base
