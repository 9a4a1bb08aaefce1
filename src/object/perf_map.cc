#include "src/object/perf_map.h"

#include <charconv>

namespace vesta::object {
namespace {

void SkipBlanks(std::string_view& text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

// Takes one hexadecimal number and the blank after it off the front.
std::optional<uint64_t> TakeHex(std::string_view& text) {
  SkipBlanks(text);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (result.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(result.ptr - text.data()));
  if (text.empty() || (text.front() != ' ' && text.front() != '\t')) return std::nullopt;
  return value;
}

std::optional<PerfMapLine> ParseLine(std::string_view line) {
  const auto start = TakeHex(line);
  if (!start) return std::nullopt;
  const auto size = TakeHex(line);
  if (!size || *size == 0 || *start + *size < *start) return std::nullopt;
  SkipBlanks(line);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  line = line.substr(0, kPerfMapNameBytesMax);
  if (line.empty()) return std::nullopt;
  return PerfMapLine{*start, *start + *size, line, 0};
}

}  // namespace

PerfMapParser::PerfMapParser(std::string_view text)
    // npos + 1 is 0.
    : text_(text.substr(0, text.rfind('\n') + 1)) {}

std::optional<PerfMapLine> PerfMapParser::Next() {
  while (position_ < text_.size()) {
    const size_t offset = position_;
    const size_t end = text_.find('\n', offset);
    position_ = end + 1;
    if (end == offset) continue;
    auto line = ParseLine(text_.substr(offset, end - offset));
    if (line) {
      line->line_offset = offset;
      return line;
    }
    ++skipped_line_count_;
  }
  return std::nullopt;
}

}  // namespace vesta::object
