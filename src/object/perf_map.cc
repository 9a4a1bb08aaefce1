#include "src/object/perf_map.h"

#include <algorithm>
#include <charconv>

namespace vesta::object {
namespace {

constexpr size_t kNameBytesMax = 4096;  // longer names are cut
constexpr size_t kNamesBytesMax = size_t{1} << 31;

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

}  // namespace

size_t PerfMap::Append(std::string_view text) {
  const size_t end = text.rfind('\n');
  if (end == std::string_view::npos) return 0;
  const size_t taken = end + 1;
  text = text.substr(0, taken);
  Functions added;
  while (!text.empty()) {
    const size_t line_size = text.find('\n');
    const std::string_view line = text.substr(0, line_size);
    if (!line.empty() && !AppendLine(line, added)) ++skipped_line_count_;
    text.remove_prefix(line_size + 1);
  }
  if (!added.empty()) functions_ = Overlay(functions_, Resolve(added, 0, added.size()));
  return taken;
}

bool PerfMap::AppendLine(std::string_view line, Functions& added) {
  const auto start = TakeHex(line);
  if (!start) return false;
  const auto size = TakeHex(line);
  if (!size || *size == 0 || *start + *size < *start) return false;
  SkipBlanks(line);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  line = line.substr(0, kNameBytesMax);
  if (line.empty() || names_.size() + line.size() > kNamesBytesMax) return false;
  added.push_back({*start, *start + *size, static_cast<uint32_t>(names_.size()),
                   static_cast<uint32_t>(line.size())});
  names_.append(line);
  return true;
}

PerfMap::Functions PerfMap::Resolve(const Functions& in_file_order, size_t first, size_t count) {
  if (count == 1) return {in_file_order[first]};
  const size_t half = count / 2;
  return Overlay(Resolve(in_file_order, first, half),
                 Resolve(in_file_order, first + half, count - half));
}

// Everything of `above`, and of `below` what still shows between.
PerfMap::Functions PerfMap::Overlay(const Functions& below, const Functions& above) {
  Functions merged;
  merged.reserve(below.size() + above.size());
  size_t next_above = 0;
  for (Function rest : below) {
    while (next_above < above.size() && above[next_above].end <= rest.start) {
      merged.push_back(above[next_above++]);
    }
    // What covers the end of this one may cover the next one too: it is not used up here.
    for (size_t i = next_above; i < above.size() && above[i].start < rest.end; ++i) {
      if (rest.start < above[i].start) {
        Function part = rest;
        part.end = above[i].start;
        merged.push_back(part);
      }
      rest.start = std::min(rest.end, above[i].end);
      if (rest.start == rest.end) break;
      merged.push_back(above[i]);
      next_above = i + 1;
    }
    if (rest.start < rest.end) merged.push_back(rest);
  }
  merged.insert(merged.end(), above.begin() + static_cast<std::ptrdiff_t>(next_above), above.end());
  return merged;
}

std::optional<std::string_view> PerfMap::Find(uint64_t address) const {
  const auto after = std::upper_bound(
      functions_.begin(), functions_.end(), address,
      [](uint64_t value, const Function& function) { return value < function.start; });
  if (after == functions_.begin()) return std::nullopt;
  const Function& function = *std::prev(after);
  if (address >= function.end) return std::nullopt;
  return std::string_view(names_).substr(function.name_offset, function.name_size);
}

}  // namespace vesta::object
