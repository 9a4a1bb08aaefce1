#include "src/wire/folded_decoder.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using profile::LocationId;
using profile::MappingId;
using profile::Profile;

constexpr std::string_view kKernelSuffix = "_[k]";

Error LineError(size_t line_number, const std::string& what) {
  return Error(ErrorCode::kCorrupt,
               "no folded stacks: line " + std::to_string(line_number) + " " + what);
}

// A mark alone may be the start of a name in some other encoding; ASCII in UTF-16 has zeros too.
bool IsUtf16(std::string_view text) {
  return (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) &&
         text.substr(0, 64).find('\0') != std::string_view::npos;
}

class Decoder {
 public:
  base::Result<void> AddLine(std::string_view line, size_t line_number) {
    const size_t space = line.find_last_of(" \t");
    if (space == std::string_view::npos)
      return LineError(line_number, "has no count behind a space");
    const std::string_view count_text = line.substr(space + 1);
    int64_t count = 0;
    const char* const end = count_text.data() + count_text.size();
    const auto [stop, status] = std::from_chars(count_text.data(), end, count);
    if (status == std::errc::result_out_of_range)
      return LineError(line_number, "has a count beyond 64 bits");
    if (status != std::errc{} || stop != end)
      return LineError(line_number, "does not end in a space and a whole number");
    AddStack(line.substr(0, space));
    profile_.AddSample(profile_.InternStack(stack_), {}, {&count, 1});
    return {};
  }

  Decoder() { profile_.SetSampleTypes({profile_.InternValueType("samples", "count")}); }
  Profile Take() { return std::move(profile_); }

 private:
  // Fills stack_ from the frames of a line, which stand root first.
  void AddStack(std::string_view frames) {
    stack_.clear();
    while (!frames.empty()) {
      const size_t end = std::min(frames.find(';'), frames.size());
      stack_.push_back(Frame(frames.substr(0, end)));
      frames.remove_prefix(std::min(end + 1, frames.size()));
    }
    std::ranges::reverse(stack_);
  }

  LocationId Frame(std::string_view name) {
    MappingId mapping = profile::kNoMapping;
    if (name.size() > kKernelSuffix.size() && name.ends_with(kKernelSuffix)) {
      name.remove_suffix(kKernelSuffix.size());
      mapping = KernelMapping();
    }
    if (name.empty()) name = "[unknown]";
    const profile::StringId id = profile_.InternString(name);
    const profile::Line line{profile_.InternFunction({id, id, {}, 0}), 0, 0};
    return profile_.InternLocation({mapping, 0, false, {&line, 1}});
  }

  MappingId KernelMapping() {
    if (kernel_ == profile::kNoMapping) {
      profile::Mapping mapping;
      mapping.path = profile_.InternString(profile::kKernelPath);
      mapping.has_functions = true;
      kernel_ = profile_.AddMapping(mapping);
    }
    return kernel_;
  }

  Profile profile_;
  MappingId kernel_ = profile::kNoMapping;
  std::vector<LocationId> stack_;
};

}  // namespace

base::Result<Profile> DecodeFolded(std::string_view text) {
  if (IsUtf16(text))
    return LineError(1, "is UTF-16; convert the file first: iconv -f UTF-16 -t UTF-8 FILE");
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Decoder decoder;
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    RETURN_IF_ERROR(decoder.AddLine(line, line_number));
  }
  return decoder.Take();
}

}  // namespace vesta::wire
