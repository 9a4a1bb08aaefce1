#include "src/agent/process/maps_parser.h"

#include <sys/sysmacros.h>

#include <charconv>

namespace vesta::agent::process {
namespace {

// Takes fields off the front of one line.
class Fields {
 public:
  explicit Fields(std::string_view line) : line_(line) {}

  template <typename Number>
  bool TakeNumber(int base, Number& number) {
    const auto parsed = std::from_chars(line_.data(), line_.data() + line_.size(), number, base);
    if (parsed.ec != std::errc()) return false;
    line_.remove_prefix(static_cast<size_t>(parsed.ptr - line_.data()));
    return true;
  }
  bool Take(char expected) {
    if (line_.empty() || line_.front() != expected) return false;
    line_.remove_prefix(1);
    return true;
  }
  bool TakeText(size_t length, std::string_view& text) {
    if (line_.size() < length) return false;
    text = line_.substr(0, length);
    line_.remove_prefix(length);
    return true;
  }
  std::string_view rest() const { return line_; }

 private:
  std::string_view line_;
};

std::string UnescapeNewlines(std::string_view escaped) {
  std::string path;
  path.reserve(escaped.size());
  while (!escaped.empty()) {
    if (escaped.substr(0, 4) == "\\012") {
      path += '\n';
      escaped.remove_prefix(4);
    } else {
      path += escaped.front();
      escaped.remove_prefix(1);
    }
  }
  return path;
}

enum class Line { kExecutable, kOther, kDamaged };
enum class Wanted { kExecutable, kAll };

Line ParseLine(std::string_view line, Wanted wanted, MapsEntry& entry) {
  Fields fields(line);
  std::string_view permissions;
  if (!fields.TakeNumber(16, entry.start) || !fields.Take('-') ||
      !fields.TakeNumber(16, entry.end) || !fields.Take(' ') || !fields.TakeText(4, permissions) ||
      !fields.Take(' ') || entry.end <= entry.start) {
    return Line::kDamaged;
  }
  if (permissions[2] != 'x' && wanted == Wanted::kExecutable) return Line::kOther;
  unsigned device_major = 0;
  unsigned device_minor = 0;
  if (!fields.TakeNumber(16, entry.file_offset) || !fields.Take(' ') ||
      !fields.TakeNumber(16, device_major) || !fields.Take(':') ||
      !fields.TakeNumber(16, device_minor) || !fields.Take(' ') ||
      !fields.TakeNumber(10, entry.inode)) {
    return Line::kDamaged;
  }
  entry.device = makedev(device_major, device_minor);
  std::string_view path = fields.rest();
  const size_t path_start = path.find_first_not_of(' ');
  path.remove_prefix(path_start == std::string_view::npos ? path.size() : path_start);
  entry.path = UnescapeNewlines(path);
  entry.deleted = StripDeleted(entry.path);
  entry.kind = KindOfMapping(entry.path);
  return entry.kind == MappingKind::kVsyscall ? Line::kOther : Line::kExecutable;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

}  // namespace

MappingKind KindOfMapping(std::string_view path) {
  if (path == "[vdso]") return MappingKind::kVdso;
  if (path == "[vsyscall]") return MappingKind::kVsyscall;
  if (path.empty() || path.front() == '[' || StartsWith(path, "//anon") ||
      StartsWith(path, "anon_inode:") || StartsWith(path, "/anon_hugepage") ||
      StartsWith(path, "/SYSV") || path == "/dev/zero") {
    return MappingKind::kAnonymous;
  }
  return MappingKind::kFile;
}

bool StripDeleted(std::string& path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.size() < kDeleted.size() ||
      path.compare(path.size() - kDeleted.size(), kDeleted.size(), kDeleted) != 0) {
    return false;
  }
  path.resize(path.size() - kDeleted.size());
  return true;
}

std::optional<MapsEntry> MapsParser::Next() {
  while (!text_.empty()) {
    const size_t line_end = text_.find('\n');
    const std::string_view line = text_.substr(0, line_end);
    text_.remove_prefix(line_end == std::string_view::npos ? text_.size() : line_end + 1);
    MapsEntry entry;
    const Line kind = ParseLine(line, Wanted::kExecutable, entry);
    if (kind == Line::kDamaged) {
      ++damaged_line_count_;
      continue;
    }
    if (entry.start != run_end_) file_line_ = {};
    run_end_ = entry.end;
    file_below_ = file_line_;
    if (line.find('/') != std::string_view::npos) file_line_ = line;
    if (kind == Line::kExecutable) return entry;
  }
  return std::nullopt;
}

std::optional<MapsEntry> MapsParser::FileBelow() const {
  MapsEntry entry;
  if (file_below_.empty() || ParseLine(file_below_, Wanted::kAll, entry) != Line::kExecutable ||
      entry.kind != MappingKind::kFile) {
    return std::nullopt;
  }
  return entry;
}

}  // namespace vesta::agent::process
