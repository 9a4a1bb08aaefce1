#include "src/wire/perf_script_lines.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace vesta::wire {
namespace {

constexpr std::string_view kInlined = "(inlined)";
constexpr size_t kAddressColumns = 16;
constexpr size_t kTimeFractionDigitsMin = 6;
constexpr size_t kTimeFractionDigitsMax = 9;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsSpace(char c) { return c == ' ' || c == '\t'; }

bool AreDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the first word off, the spaces in front of it too.
std::string_view TakeWord(std::string_view& text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  size_t length = 0;
  while (length < text.size() && !IsSpace(text[length])) ++length;
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

// The number, or the largest one that fits.
int64_t Number(std::string_view digits) {
  int64_t value = 0;
  const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  static_cast<void>(stop);
  return status == std::errc{} ? value : std::numeric_limits<int64_t>::max();
}

// "24751.033949:" with six digits behind the point, nine after --ns.
std::optional<int64_t> TimeOf(std::string_view word) {
  if (!word.ends_with(':')) return std::nullopt;
  word.remove_suffix(1);
  const size_t point = word.find('.');
  if (point == std::string_view::npos || !AreDigits(word.substr(0, point))) return std::nullopt;
  const std::string_view fraction = word.substr(point + 1);
  if (!AreDigits(fraction) || fraction.size() < kTimeFractionDigitsMin ||
      fraction.size() > kTimeFractionDigitsMax)
    return std::nullopt;
  int64_t fraction_ns = Number(fraction);
  for (size_t digits = fraction.size(); digits < kTimeFractionDigitsMax; ++digits)
    fraction_ns *= 10;
  constexpr int64_t kSecondsMax = std::numeric_limits<int64_t>::max() / 1'000'000'000 - 1;
  return std::min(Number(word.substr(0, point)), kSecondsMax) * 1'000'000'000 + fraction_ns;
}

// "tid" or "pid/tid"; the kernel's idle threads have 0, those that are gone -1.
bool ReadIds(std::string_view word, PerfScriptHeader& header) {
  const auto read = [](std::string_view text, int64_t& id) {
    if (text == "-1") {
      id = -1;
      return true;
    }
    if (!AreDigits(text) || text.size() > 10) return false;
    id = Number(text);
    return true;
  };
  const size_t slash = word.find('/');
  header.pid.reset();
  int64_t pid = 0;
  int64_t tid = 0;
  if (slash != std::string_view::npos) {
    if (!read(word.substr(0, slash), pid)) return false;
    header.pid = pid;
    word.remove_prefix(slash + 1);
  }
  if (!read(word, tid)) return false;
  header.tid = tid;
  return true;
}

bool IsCpu(std::string_view word) {
  return word.size() > 2 && word.front() == '[' && word.back() == ']' &&
         AreDigits(word.substr(1, word.size() - 2));
}

// The letters of -F misc, "U" or "KH".
bool IsMisc(std::string_view word) {
  return !word.empty() && word.size() <= 4 &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

// Reads "[period] event: rest"; false when no colon ends an event.
bool ReadEvent(std::string_view text, PerfScriptHeader& header) {
  std::string_view behind = text;
  const std::string_view first = TakeWord(behind);
  if (AreDigits(first)) {
    header.period = Number(first);
    text = behind;
  }
  text = Trimmed(text);
  if (text.empty()) return header.period.has_value();
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] != ':' || (i + 1 < text.size() && !IsSpace(text[i + 1]))) continue;
    header.event = text.substr(0, i);
    // Without a time nothing but the event's single word tells a header.
    if (!header.time_ns.has_value() && header.event.find(' ') != std::string_view::npos) break;
    header.rest = text.substr(i + 1);
    return true;
  }
  // Without an event the one frame may follow at once.
  header.event = {};
  header.rest = text;
  return header.time_ns.has_value();
}

// Reads what follows the comm; false when it does not look like that.
bool ReadFields(std::string_view text, bool needs_time, PerfScriptHeader& header) {
  if (!ReadIds(TakeWord(text), header)) return false;
  std::string_view behind = text;
  if (IsCpu(TakeWord(behind))) text = behind;
  behind = text;
  if (IsMisc(TakeWord(behind))) text = behind;
  behind = text;
  header.time_ns = TimeOf(TakeWord(behind));
  if (header.time_ns.has_value()) text = behind;
  if (needs_time && !header.time_ns.has_value()) return false;
  header.period.reset();
  header.event = {};
  header.rest = {};
  if (header.time_ns.has_value() && Trimmed(text).starts_with("PERF_RECORD_")) {
    header.is_record = true;
    return true;
  }
  if (header.time_ns.has_value() && Trimmed(text).empty()) return true;
  return ReadEvent(text, header);
}

// Calls visit(line) for the first lines that say anything, until it returns true.
template <typename Visit>
void VisitLines(std::string_view text, const Visit& visit) {
  constexpr size_t kLinesMax = 200;
  for (size_t i = 0; i < kLinesMax && !text.empty(); ++i) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (Trimmed(line).empty() || line.front() == '#') continue;
    if (visit(line)) return;
  }
}

// Reads "[ids] [cpu] [misc] [time:] [period] [event:]"; false when anything else is there.
bool ReadBareFields(std::string_view text, PerfScriptHeader& header) {
  const std::string_view comm = header.comm;
  header = {};
  header.comm = comm;
  std::string_view word = TakeWord(text);
  const auto take_if = [&](bool is_there) {
    if (is_there) word = TakeWord(text);
  };
  take_if(ReadIds(word, header));
  take_if(IsCpu(word));
  take_if(IsMisc(word));
  header.time_ns = TimeOf(word);
  take_if(header.time_ns.has_value());
  if (AreDigits(word)) header.period = Number(word);
  take_if(header.period.has_value());
  if (word.size() > 1 && word.ends_with(':')) header.event = word.substr(0, word.size() - 1);
  take_if(!header.event.empty());
  return word.empty();
}

// Where " (" begins the dso behind a symbol without an offset. A dso is nearly always a path or
// in brackets; both it and the symbol may hold " (".
size_t DsoOf(std::string_view text) {
  for (const std::string_view start : {" (/", " ([", " (inlined)"}) {
    const size_t at = text.find(start);
    if (at != std::string_view::npos) return at;
  }
  return text.rfind(" (");
}

}  // namespace

std::optional<PerfScriptHeader> ParsePerfScriptHeader(std::string_view line, bool needs_time) {
  PerfScriptHeader header;
  // A word may stand in front: an empty comm is possible, too.
  for (size_t i = 0; i < line.size(); ++i) {
    const bool starts_word = !IsSpace(line[i]) && (i == 0 || IsSpace(line[i - 1]));
    if (i == 0 || !starts_word || !(IsDigit(line[i]) || line[i] == '-')) continue;
    if (!ReadFields(line.substr(i), needs_time, header)) continue;
    header.comm = Trimmed(line.substr(0, i));
    return header;
  }
  return std::nullopt;
}

PerfScriptHeader ParsePerfScriptBareHeader(std::string_view line) {
  const size_t frame = std::min(FindPerfScriptFrame(line), line.size());
  const std::string_view text = line.substr(0, frame);
  PerfScriptHeader header;
  bool is_read = false;
  for (size_t i = 0; i < text.size() && !is_read; ++i) {
    if (IsSpace(text[i]) || (i > 0 && !IsSpace(text[i - 1]))) continue;
    header.comm = Trimmed(text.substr(0, i));
    is_read = ReadBareFields(text.substr(i), header);
  }
  if (!is_read) {
    header = {};
    header.comm = Trimmed(text);
  }
  header.rest = line.substr(frame);
  return header;
}

size_t FindPerfScriptFrame(std::string_view line) {
  for (size_t end = kAddressColumns; end <= line.size(); ++end) {
    if (!IsHexDigit(line[end - 1]) || (end < line.size() && line[end] != ' ')) continue;
    const size_t start = end - kAddressColumns;
    if (start > 0 && !IsSpace(line[start - 1])) continue;
    const size_t digits = line.find_first_not_of(' ', start);
    const auto address = line.substr(digits, end - digits);
    if (std::all_of(address.begin(), address.end(), IsHexDigit)) return start;
  }
  return std::string_view::npos;
}

bool HasPerfScriptFrames(std::string_view text) {
  bool has_frames = false;
  VisitLines(text, [&](std::string_view line) {
    const size_t frame = FindPerfScriptFrame(line);
    if (line.front() == '\t') {
      has_frames = frame == 1;
      return true;
    }
    // A folded stack may look like that, too; but it ends in its count.
    const bool is_folded = AreDigits(line.substr(line.find_last_of(" \t") + 1));
    has_frames = frame != std::string_view::npos && !is_folded;
    return has_frames;
  });
  return has_frames;
}

bool IsBarePerfScript(std::string_view text) {
  bool is_header = false;
  VisitLines(text, [&](std::string_view line) {
    is_header = ParsePerfScriptHeader(line, true) || ParsePerfScriptHeader(line, false);
    return true;
  });
  return !is_header && HasPerfScriptFrames(text);
}

std::optional<PerfScriptFrame> ParsePerfScriptFrame(std::string_view line) {
  PerfScriptFrame frame;
  std::string_view text = line;
  const std::string_view address = TakeWord(text);
  const auto [stop, status] =
      std::from_chars(address.data(), address.data() + address.size(), frame.address, 16);
  if (status != std::errc{} || stop != address.data() + address.size()) return std::nullopt;
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  // The offset tells best where the symbol ends.
  for (size_t at = text.find("+0x"); at != std::string_view::npos; at = text.find("+0x", at + 1)) {
    size_t end = at + 3;
    while (end < text.size() && IsHexDigit(text[end])) ++end;
    if (end == at + 3 || (end != text.size() && text.substr(end, 2) != " (")) continue;
    frame.symbol = Trimmed(text.substr(0, at));
    frame.dso = Trimmed(text.substr(end));
    break;
  }
  if (frame.symbol.empty()) {
    const size_t dso = text.ends_with(')') ? DsoOf(text) : std::string_view::npos;
    frame.symbol = Trimmed(text.substr(0, dso));
    if (dso != std::string_view::npos) frame.dso = Trimmed(text.substr(dso));
  }
  if (frame.dso == kInlined) {
    frame.is_inlined = true;
    frame.dso = {};
  } else if (frame.dso.size() >= 2 && frame.dso.ends_with(')')) {
    frame.dso = frame.dso.substr(1, frame.dso.size() - 2);
  }
  if (frame.symbol == "[unknown]") frame.symbol = {};
  if (frame.dso == "[unknown]") frame.dso = {};
  return frame;
}

PerfScriptPlace ParsePerfScriptPlace(std::string_view line) {
  PerfScriptPlace place;
  line = Trimmed(line);
  if (line.ends_with(kInlined)) {
    place.is_inlined = true;
    line = Trimmed(line.substr(0, line.size() - kInlined.size()));
  }
  line = line.substr(0, line.find(" (discriminator "));
  const size_t colon = line.rfind(':');
  if (colon == std::string_view::npos || !AreDigits(line.substr(colon + 1))) return place;
  const std::string_view file = line.substr(0, colon);
  const int64_t number = Number(line.substr(colon + 1));
  if (number == 0 || file == "??") return place;
  place.file = file;
  place.line = number;
  return place;
}

}  // namespace vesta::wire
