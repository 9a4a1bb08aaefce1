#include "src/flame/frame_table.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "src/base/utf8.h"
#include "src/profile/frame_name.h"

namespace vesta::flame {
namespace {

using profile::HashWord;

constexpr uint32_t kUnseen = std::numeric_limits<uint32_t>::max();
constexpr int64_t kLineMax = std::numeric_limits<int32_t>::max();

// Files may hold any number; those that no editor could open are no lines.
uint32_t LineNumber(int64_t line) {
  return line > 0 && line <= kLineMax ? static_cast<uint32_t>(line) : 0;
}

}  // namespace

FrameTable::FrameTable() {
  InternString("");
  InternFunction(InternString("all"), 0, 0, FunctionKind::kOther);
}

uint32_t FrameTable::InternString(std::string_view foreign) {
  if (!base::IsUtf8(foreign)) return InternString(base::ToUtf8(foreign));
  const auto fresh = static_cast<uint32_t>(strings_.size());
  const uint32_t id =
      string_index_.FindOrInsert(std::hash<std::string_view>{}(foreign), fresh,
                                 [&](uint32_t other) { return strings_[other] == foreign; });
  if (id == fresh) strings_.emplace_back(foreign);
  return id;
}

uint32_t FrameTable::InternFunction(uint32_t name, uint32_t image, uint32_t file,
                                    FunctionKind kind) {
  const auto fresh = static_cast<uint32_t>(functions_.size());
  // One binary may well have a function of two files: a macro, or a file moved between versions.
  const bool by_file = image == 0;
  uint64_t hash = HashWord(HashWord(name, image), static_cast<uint64_t>(kind));
  if (by_file) hash = HashWord(hash, file);
  const uint32_t id = function_index_.FindOrInsert(hash, fresh, [&](uint32_t other) {
    const TreeFunction& row = functions_[other];
    // The root is nobody's equal: a process may be called "all".
    return other != 0 && row.name == name && row.image == image && row.kind == kind &&
           (!by_file || row.file == file);
  });
  if (id == fresh) functions_.push_back({.name = name, .image = image, .file = file, .kind = kind});
  return id;
}

uint32_t FrameTable::InternLine(uint32_t function, uint32_t line) {
  const auto fresh = static_cast<uint32_t>(lines_.size());
  const uint32_t id =
      line_index_.FindOrInsert(HashWord(function, line), fresh, [&](uint32_t other) {
        return lines_[other].function == function && lines_[other].line == line;
      });
  if (id == fresh) lines_.push_back({function, line});
  return id;
}

uint32_t FrameTable::InternPlace(std::span<const PlaceFrame> outermost_first) {
  uint64_t hash = outermost_first.size();
  for (const PlaceFrame& frame : outermost_first)
    hash = HashWord(HashWord(hash, frame.function), frame.line);
  const auto fresh = static_cast<uint32_t>(places_.size());
  const uint32_t id = place_index_.FindOrInsert(hash, fresh, [&](uint32_t other) {
    return std::ranges::equal(places_[other], outermost_first);
  });
  if (id == fresh) places_.Append(outermost_first);
  return id;
}

void FrameTable::Describe(uint32_t function, uint32_t file, int64_t start_line, bool is_inlined) {
  TreeFunction& row = functions_[function];
  if (row.file == 0) row.file = file;
  if (row.start_line == 0) row.start_line = LineNumber(start_line);
  const Inlined here = is_inlined ? Inlined::kAlways : Inlined::kNever;
  described_.resize(functions_.size());
  if (!described_[function]) row.inlined = here;
  if (row.inlined != here) row.inlined = Inlined::kSometimes;
  described_[function] = true;
}

ProfileFrames::ProfileFrames(const profile::Profile& profile, FrameTable& table, Aliases aliases)
    : profile_(profile),
      table_(table),
      aliases_(std::move(aliases)),
      strings_(profile.string_count(), kUnseen),
      locations_(profile.location_count(), kUnseen) {}

uint32_t ProfileFrames::String(profile::StringId id) {
  uint32_t& known = strings_[id.value()];
  if (known == kUnseen) known = table_.InternString(profile_.String(id));
  return known;
}

uint32_t ProfileFrames::PlaceOf(profile::LocationId location) {
  uint32_t& known = locations_[location.value()];
  if (known == kUnseen) known = MakePlace(profile_.location(location));
  return known;
}

uint32_t ProfileFrames::PlaceOfLabel(const profile::Label& label) {
  const uint32_t name = table_.InternString(profile::LabelFrameName(profile_, label));
  const PlaceFrame frame{table_.InternFunction(name, 0, 0, FunctionKind::kProcess), kNoLine};
  return table_.InternPlace({&frame, 1});
}

uint32_t ProfileFrames::PlaceOfNoStack() {
  const uint32_t name = table_.InternString(profile::kNoStackName);
  const PlaceFrame frame{table_.InternFunction(name, 0, 0, FunctionKind::kOther), kNoLine};
  return table_.InternPlace({&frame, 1});
}

uint32_t ProfileFrames::MakePlace(const profile::Location& location) {
  uint32_t image = 0;
  if (location.mapping != profile::kNoMapping) {
    const profile::StringId path = profile_.mapping(location.mapping).path;
    const auto alias = aliases_.find(profile_.String(path));
    image = alias == aliases_.end() ? String(path) : table_.InternString(alias->second);
  }
  const FunctionKind named = profile::IsKernelLocation(profile_, location) ? FunctionKind::kKernel
                             : image != 0                                  ? FunctionKind::kNative
                                                                           : FunctionKind::kOther;
  const auto unnamed = [&] {
    const uint32_t name = table_.InternString(profile::AddressName(profile_, location));
    return table_.InternFunction(name, image, 0, FunctionKind::kUnnamed);
  };
  frames_.clear();
  for (size_t i = location.lines.size(); i-- > 0;) {
    const profile::Line& line = location.lines[i];
    const profile::Function& row = profile_.function(line.function);
    const uint32_t name = String(profile::FunctionName(profile_, line.function));
    const uint32_t file = String(row.file);
    const uint32_t function =
        name == 0 ? unnamed() : table_.InternFunction(name, image, file, named);
    table_.Describe(function, file, row.start_line, i + 1 < location.lines.size());
    const uint32_t number = LineNumber(line.line);
    frames_.push_back({function, number == 0 ? kNoLine : table_.InternLine(function, number)});
  }
  if (frames_.empty()) frames_.push_back({unnamed(), kNoLine});
  return table_.InternPlace(frames_);
}

}  // namespace vesta::flame
