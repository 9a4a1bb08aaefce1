#include "src/flame/table_text.h"

#include <algorithm>

#include "src/base/printable.h"
#include "src/flame/top_render.h"
#include "src/flame/units.h"

namespace vesta::flame {

using base::Printable;

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80; }));
}

std::string PadLeft(const std::string& text, size_t columns) {
  return text.size() < columns ? std::string(columns - text.size(), ' ') + text : text;
}

std::string NameText(std::string_view name, size_t unnamed_address_count) {
  if (!name.empty()) return Printable(name);
  return '(' + std::to_string(unnamed_address_count) +
         (unnamed_address_count == 1 ? " address" : " addresses") + " without a name)";
}

std::string BinaryText(std::string_view image, std::string_view file) {
  if (image.empty()) {
    if (file.empty()) return {};
    const size_t last = file.rfind('/');
    const bool is_deep = last != std::string_view::npos && last > 0;
    const size_t folder = is_deep ? file.rfind('/', last - 1) : std::string_view::npos;
    return " (" + Printable(file.substr(folder + 1)) + ')';
  }
  const std::string text = Printable(image);
  return text.front() == '[' ? ' ' + text : " [" + text + ']';
}

std::string FitName(const std::string& name, size_t width_columns, size_t taken_columns) {
  if (width_columns == 0) return name;
  const size_t room = width_columns > taken_columns ? width_columns - taken_columns : 0;
  return ShortenMiddle(name, std::max(room, kNameColumnsMin));
}

std::string SamplesText(int64_t count) {
  return std::to_string(count) + (count == 1 ? " sample" : " samples");
}

std::string SumText(int64_t value, std::string_view unit) {
  std::string text = ScaledText(value, unit);
  const bool is_plain = ScaledText(1, unit) == "1";
  if (is_plain && !unit.empty() && unit != "count") text += ' ' + Printable(unit);
  return text;
}

}  // namespace vesta::flame
