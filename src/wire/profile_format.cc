#include "src/wire/profile_format.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "src/wire/otlp_file.h"
#include "src/wire/perf_script_lines.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr FormatSpec kFormats[] = {
    {ProfileFormat::kPprof, "pprof", "pprof", ".pb.gz .pprof .prof .pb", true, false},
    {ProfileFormat::kOtlp, "otlp", "OTLP profiles", ".otlp", true, true},
    {ProfileFormat::kFolded, "folded", "folded stacks", ".folded", true, true},
    {ProfileFormat::kSpeedscope, "speedscope", "speedscope", ".speedscope.json", true, true},
    {ProfileFormat::kPerfScript, "perf-script", "text of perf script", "", true, false},
    {ProfileFormat::kPerfData, "perf-data", "perf.data", "", true, false},
    {ProfileFormat::kJfr, "jfr", "Java Flight Recorder", "", true, false},
    {ProfileFormat::kCpuProfile, "cpuprofile", "V8 CPU profile", "", true, false},
    {ProfileFormat::kFirefox, "firefox", "Firefox Profiler", ".firefox.json .profile.json", false,
     true},
    {ProfileFormat::kHtml, "html", "HTML", ".html", false, false},
    {ProfileFormat::kSvg, "svg", "SVG", ".svg", false, false},
};

// Calls visit(part) for each part of text between spaces until it returns true.
template <typename Visit>
bool AnyWord(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const size_t space = text.find(' ');
    if (visit(text.substr(0, space))) return true;
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  }
  return false;
}

template <typename Chosen, typename TextOf>
std::string List(const Chosen& chosen, const TextOf& text_of) {
  std::string list;
  std::string last;
  for (const FormatSpec& spec : kFormats) {
    if (!chosen(spec)) continue;
    if (!last.empty()) list += (list.empty() ? "" : ", ") + last;
    last = text_of(spec);
  }
  return list + " or " + last;
}

bool IsReadable(const FormatSpec& spec) { return spec.readable; }
bool IsWritable(const FormatSpec& spec) { return !spec.endings.empty(); }
std::string WordOf(const FormatSpec& spec) { return std::string(spec.word); }

template <typename Chosen>
Result<ProfileFormat> FormatOfWord(std::string_view word, const Chosen& chosen) {
  for (const FormatSpec& spec : kFormats) {
    if (spec.word == word && chosen(spec)) return spec.format;
  }
  return Error(ErrorCode::kInvalidInput, "is not known: give " + List(chosen, WordOf));
}

std::string EndingsOf(const FormatSpec& spec) {
  std::string endings;
  AnyWord(spec.endings, [&](std::string_view ending) {
    endings += (endings.empty() ? "" : " ") + std::string(ending);
    return false;
  });
  return endings + " (" + std::string(spec.title) + ")";
}

// The outermost keys of a JSON object that begins at text[0], as far as they can be told without
// checking what lies between: a damaged file is the decoder's business.
class KeyScan {
 public:
  explicit KeyScan(std::string_view text) : text_(text) {}

  // The next key; nothing at the end.
  std::optional<std::string_view> Next() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') {
        const std::string_view string = String();
        if (depth_ == 1 && expects_key_) {
          expects_key_ = false;
          return string;
        }
      } else if (c == '{' || c == '[') {
        if (++depth_ == 1) expects_key_ = c == '{';
      } else if (c == '}' || c == ']') {
        if (--depth_ == 0) return std::nullopt;
      } else if (c == ',' && depth_ == 1) {
        expects_key_ = true;
      }
    }
    return std::nullopt;
  }

 private:
  // From behind the opening quote to behind the closing one.
  std::string_view String() {
    const size_t start = at_;
    while (true) {
      const size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) {
        at_ = text_.size();
        return text_.substr(start);
      }
      size_t slashes = quote;
      while (slashes > at_ && text_[slashes - 1] == '\\') --slashes;
      at_ = quote + 1;
      if ((quote - slashes) % 2 == 0) return text_.substr(start, quote - start);
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  bool expects_key_ = false;
};

constexpr std::string_view kUnknownJson = "it is JSON of a kind that vesta does not read";

Sniffed SniffJson(std::string_view text) {
  if (text.front() == '[') {
    // The array form of Chrome's traces: each event has a phase.
    constexpr size_t kLookBytes = 4096;
    const bool is_trace = text.substr(0, kLookBytes).find("\"ph\"") != std::string_view::npos;
    return {ProfileFormat::kCpuProfile, is_trace ? std::string_view{} : kUnknownJson};
  }
  struct Known {
    std::string_view key;
    Sniffed what;
  };
  static constexpr Known kKnown[] = {
      {"shared", {ProfileFormat::kSpeedscope, ""}},
      {"$schema", {ProfileFormat::kSpeedscope, ""}},
      {"profiles", {ProfileFormat::kSpeedscope, ""}},
      {"traceEvents", {ProfileFormat::kCpuProfile, ""}},
      {"nodes", {ProfileFormat::kCpuProfile, ""}},
      {"timeDeltas", {ProfileFormat::kCpuProfile, ""}},
      {"head", {ProfileFormat::kCpuProfile, ""}},
      {"meta",
       {ProfileFormat::kSpeedscope,
        "it is a profile of the Firefox Profiler, which vesta writes and does not read"}},
  };
  KeyScan keys(text);
  while (const auto key = keys.Next()) {
    for (const Known& known : kKnown) {
      if (known.key == *key) return known.what;
    }
  }
  return {ProfileFormat::kSpeedscope, kUnknownJson};
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether a line is a heading of `perf script`: "comm 12/34 [000] 56.789: ...", with its task at
// the left edge or aligned to the right.
bool IsPerfHeading(std::string_view line) {
  for (size_t colon = line.find(": ");; colon = line.find(": ", colon + 1)) {
    if (colon == std::string_view::npos) {
      if (line.empty() || line.back() != ':') return false;
      colon = line.size() - 1;
    }
    // Backwards: the time, perhaps a CPU in brackets, then a number.
    size_t at = colon;
    const auto digits = [&] {
      const size_t end = at;
      while (at > 0 && IsDigit(line[at - 1])) --at;
      return end - at;
    };
    const auto spaces = [&] {
      const size_t end = at;
      while (at > 0 && (line[at - 1] == ' ' || line[at - 1] == '\t')) --at;
      return end - at;
    };
    if (digits() > 0 && at > 0 && line[at - 1] == '.') {
      --at;
      if (digits() > 0 && spaces() > 0) {
        if (at > 0 && line[at - 1] == ']') {
          --at;
          if (digits() == 0 || at == 0 || line[at - 1] != '[') return false;
          --at;
          spaces();
        }
        return digits() > 0 && at > 0;
      }
    }
    if (colon + 1 >= line.size()) return false;
  }
}

bool LooksLikePerfScript(std::string_view all) {
  std::string_view text = all;
  constexpr size_t kLinesMax = 200;
  for (size_t i = 0; i < kLinesMax && !text.empty(); ++i) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.empty() || line.front() == '#' || line == "\r") continue;
    if (IsPerfHeading(line.back() == '\r' ? line.substr(0, line.size() - 1) : line)) return true;
    break;
  }
  return HasPerfScriptFrames(all);
}

// A pprof message holds many bytes below 0x20 near its start, and the 0 that is the length of its
// empty string; it nearly always begins with one, too. Text holds white space, and at most a few of
// a name that is odd.
bool LooksLikeText(std::string_view bytes) {
  constexpr size_t kLookBytes = 4096;
  constexpr size_t kTextBytesPerOddByte = 32;
  const std::string_view start = bytes.substr(0, kLookBytes);
  const auto is_odd = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
  };
  const auto odd_count = static_cast<size_t>(std::ranges::count_if(start, is_odd));
  if (odd_count == 0) return true;
  return !is_odd(start.front()) && start.front() != '\n' &&
         start.find('\0') == std::string_view::npos &&
         odd_count * kTextBytesPerOddByte <= start.size();
}

bool IsUtf16(std::string_view bytes) {
  return bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff");
}

// Whether the first byte is the tag of one of the fields 1 to 15 of a pprof profile.
bool MayBePprof(std::string_view bytes) {
  const auto tag = static_cast<unsigned char>(bytes.front());
  const unsigned field = tag >> 3;
  const unsigned wire = tag & 7;
  return field >= 1 && field <= 15 && (wire == 0 || wire == 2);
}

// What people might give us by mistake; "" when we do not know it.
std::string_view OtherKind(std::string_view bytes) {
  struct Known {
    std::string_view start;
    std::string_view what;
  };
  static constexpr Known kKnown[] = {
      {"go 1.", "it is a Go execution trace and no profile; `go tool trace` reads it"},
      {"heap profile:", "it is in pprof's old text format; `go tool pprof -proto` converts it"},
      {"--- ", "it is in one of pprof's old text formats; `go tool pprof -proto` converts it"},
      {"\x7f\x45LF", "it is a program and no profile"},
      {"\x1f\x8b", "it is packed by gzip twice; unpack it first"},
      {"\xfd"
       "7zXZ",
       "it is packed by xz; unpack it first"},
      {"\x28\xb5\x2f\xfd", "it is packed by zstd; unpack it first"},
      {"BZh", "it is packed by bzip2; unpack it first"},
      {"PK\x03\x04", "it is a zip archive; unpack it first"},
      {"<", "it is HTML, XML or SVG, which vesta does not read"},
  };
  for (const Known& known : kKnown) {
    if (bytes.starts_with(known.start)) return known.what;
  }
  return {};
}

// The first words of a CPU profile of gperftools: 0, 3, 0, period, 0; of 8 or 4 bytes, in either
// order of bytes.
bool IsGperftoolsCpu(std::string_view bytes) {
  const auto begins = [&](size_t word, bool big_endian) {
    const size_t three = word + (big_endian ? word - 1 : 0);
    if (bytes.size() < 5 * word) return false;
    for (size_t i = 0; i < 3 * word; ++i) {
      if (bytes[i] != (i == three ? 3 : 0)) return false;
    }
    return true;
  };
  return begins(8, false) || begins(4, false) || begins(8, true) || begins(4, true);
}

// Where JSON begins, if it does: "{closure} 3" is a folded line.
bool IsJson(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) return false;
  const size_t second = text.find_first_not_of(" \t\r\n", first + 1);
  if (second == std::string_view::npos) return true;
  const char c = text[second];
  return text[first] == '{' ? c == '"' || c == '}' : c == '{' || c == ']';
}

}  // namespace

std::span<const FormatSpec> AllFormats() { return kFormats; }

const FormatSpec& SpecOf(ProfileFormat format) { return kFormats[static_cast<size_t>(format)]; }

std::string ReadableFormats() {
  return List(IsReadable, [](const FormatSpec& spec) { return std::string(spec.title); });
}

Result<ProfileFormat> ReadableFormatOfWord(std::string_view word) {
  return FormatOfWord(word, IsReadable);
}

Result<ProfileFormat> WritableFormatOfWord(std::string_view word) {
  return FormatOfWord(word, IsWritable);
}

Result<OutputFormat> FormatOfName(std::string_view path) {
  if (path == "-" || path.starts_with("/dev/")) return OutputFormat{ProfileFormat::kPprof, true};
  for (const FormatSpec& spec : kFormats) {
    std::string_view name = path;
    const bool packed = spec.may_be_packed && name.ends_with(".gz");
    if (packed) name.remove_suffix(3);
    const bool found =
        AnyWord(spec.endings, [name](std::string_view ending) { return name.ends_with(ending); });
    if (!found) continue;
    return OutputFormat{spec.format,
                        packed || (spec.format == ProfileFormat::kPprof && !name.ends_with(".pb"))};
  }
  return Error(ErrorCode::kInvalidInput, "the name " + std::string(path) +
                                             " does not tell the format; let it end in " +
                                             List(IsWritable, EndingsOf));
}

Result<OutputFormat> FormatOfWordAndName(std::string_view word, std::string_view path) {
  ASSIGN_OR_RETURN(const ProfileFormat format, WritableFormatOfWord(word));
  if (format == ProfileFormat::kPprof) return OutputFormat{format, !path.ends_with(".pb")};
  return OutputFormat{format, SpecOf(format).may_be_packed && path.ends_with(".gz")};
}

std::string_view NoProfileByStart(std::string_view bytes) {
  constexpr size_t kStartBytes = 64;
  if (bytes.size() < kStartBytes) return {};
  const std::string_view start = bytes.substr(0, kStartBytes);
  const Sniffed sniffed = SniffFormat(start);
  // Text may turn out as folded stacks of odd names, and a byte that begins a pprof as one.
  if (sniffed.format != ProfileFormat::kPprof || MayBePprof(start)) return {};
  return sniffed.otherwise;
}

Sniffed SniffFormat(std::string_view bytes) {
  static constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
  if (bytes.starts_with("PERFILE2") || bytes.starts_with("2ELIFREP"))
    return {ProfileFormat::kPerfData, ""};
  if (bytes.starts_with(std::string_view("FLR\0", 4))) return {ProfileFormat::kJfr, ""};
  if (IsUtf16(bytes)) return {ProfileFormat::kFolded, ""};
  if (IsOtlp(bytes)) return {ProfileFormat::kOtlp, ""};
  std::string_view text = bytes;
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  if (!bytes.empty() && LooksLikeText(bytes)) {
    if (IsJson(text)) return SniffJson(text.substr(text.find_first_of("{[")));
    if (LooksLikePerfScript(text)) return {ProfileFormat::kPerfScript, ""};
    return {ProfileFormat::kFolded, OtherKind(bytes)};
  }
  if (IsGperftoolsCpu(bytes)) {
    return {
        ProfileFormat::kPprof,
        "it is a CPU profile of gperftools in pprof's old format; `go tool pprof -proto` converts "
        "it"};
  }
  const std::string_view other = OtherKind(bytes);
  if (other.empty() && BeginsAsOtlp(bytes)) return {ProfileFormat::kOtlp, ""};
  if (other.empty() && !bytes.empty() && !MayBePprof(bytes))
    return {ProfileFormat::kPprof, "it is in no format that vesta knows"};
  return {ProfileFormat::kPprof, other};
}

}  // namespace vesta::wire
