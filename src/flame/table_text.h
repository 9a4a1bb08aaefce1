// What tables for a terminal are put together from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vesta::flame {

inline constexpr size_t kNameColumnsMin = 16;  // narrower than that, the line wraps

// Characters, not bytes, of UTF-8.
size_t CountCharacters(std::string_view text);

// The text at the right edge of a column.
std::string PadLeft(const std::string& text, size_t columns);

// The name without what a terminal would obey; "(18 addresses without a name)" when it is "".
std::string NameText(std::string_view name, size_t unnamed_address_count);

// " [app]"; what has brackets of its own, such as [kernel], keeps them. Where it is unknown,
// " (package/file.py)": the file with its folder, since many packages have an __init__.py.
std::string BinaryText(std::string_view image, std::string_view file);

// The name, shortened so that a line of `width_columns` has room for what stands around it.
std::string FitName(const std::string& name, size_t width_columns, size_t taken_columns);

// "12 samples", "1 sample".
std::string SamplesText(int64_t count);

// "1.23s", "5 cycles": with its unit unless it is a plain count.
std::string SumText(int64_t value, std::string_view unit);

}  // namespace vesta::flame
