#include "src/flame/frame_table.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
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

// Of several sources and first lines the first in order is taken, so that it does not matter what
// was seen first.
void FrameTable::Describe(uint32_t function, uint32_t file, int64_t start_line, bool is_inlined) {
  TreeFunction& row = functions_[function];
  const uint32_t start = LineNumber(start_line);
  if (file == row.file) {
    if (start != 0 && (row.start_line == 0 || start < row.start_line)) row.start_line = start;
  } else if (file != 0 && (row.file == 0 || strings_[file] < strings_[row.file])) {
    row.file = file;
    row.start_line = start;
  }
  Observe(function, is_inlined ? Inlined::kAlways : Inlined::kNever);
}

void FrameTable::Observe(uint32_t function, Inlined inlined) {
  TreeFunction& row = functions_[function];
  described_.resize(functions_.size());
  if (!described_[function]) row.inlined = inlined;
  if (row.inlined != inlined) row.inlined = Inlined::kSometimes;
  described_[function] = true;
}

uint32_t FrameTable::PlaceOfAddress(const SourceFrame& source) {
  const FunctionKind named = profile::IsKernelCode(source.address.path, source.address.address)
                                 ? FunctionKind::kKernel
                             : source.image != 0 ? FunctionKind::kNative
                                                 : FunctionKind::kOther;
  const auto unnamed = [&] {
    const uint32_t name = InternString(profile::AddressName(source.address));
    return InternFunction(name, source.image, 0, FunctionKind::kUnnamed);
  };
  frames_.clear();
  for (size_t i = source.lines.size(); i-- > 0;) {
    const SourceLine& line = source.lines[i];
    const uint32_t function =
        line.name == 0 ? unnamed() : InternFunction(line.name, source.image, line.file, named);
    Describe(function, line.file, line.start_line, i + 1 < source.lines.size());
    const uint32_t number = LineNumber(line.line);
    frames_.push_back({function, number == 0 ? kNoLine : InternLine(function, number)});
  }
  if (frames_.empty()) frames_.push_back({unnamed(), kNoLine});
  return InternPlace(frames_);
}

uint32_t FrameTable::PlaceOfLabel(std::string_view text) {
  return PlaceOfFunction(InternFunction(InternString(text), 0, 0, FunctionKind::kProcess));
}

uint32_t FrameTable::PlaceOfFunction(uint32_t function) {
  const PlaceFrame frame{function, kNoLine};
  return InternPlace({&frame, 1});
}

uint32_t FrameTable::PlaceOfRest() {
  return PlaceOfFunction(InternFunction(InternString(kRestName), 0, 0, FunctionKind::kOther));
}

uint32_t FrameTable::PlaceOfNoStack() {
  const uint32_t name = InternString(profile::kNoStackName);
  return PlaceOfFunction(InternFunction(name, 0, 0, FunctionKind::kOther));
}

uint32_t FrameTable::WithImages(uint32_t place, std::span<const uint32_t> image_of) {
  frames_.assign(places_[place].begin(), places_[place].end());
  for (PlaceFrame& frame : frames_) {
    const TreeFunction row = functions_[frame.function];
    if (image_of[row.image] == row.image) continue;
    const uint32_t function = InternFunction(row.name, image_of[row.image], row.file, row.kind);
    Describe(function, row.file, row.start_line, row.inlined == Inlined::kAlways);
    if (row.inlined == Inlined::kSometimes) Observe(function, Inlined::kSometimes);
    frame.function = function;
    if (frame.line != kNoLine) frame.line = InternLine(function, lines_[frame.line].line);
  }
  return InternPlace(frames_);
}

ImageAliases MatchImages(std::span<const std::string_view> from,
                         std::span<const std::string_view> to) {
  using PathsByName = std::map<std::string_view, std::set<std::string_view>>;
  const auto only_in = [](std::span<const std::string_view> mine,
                          std::span<const std::string_view> others) {
    const std::set<std::string_view> known(others.begin(), others.end());
    PathsByName result;
    for (const std::string_view path : mine) {
      if (!path.empty() && !known.contains(path))
        result[path.substr(path.rfind('/') + 1)].insert(path);
    }
    return result;
  };
  const PathsByName candidates = only_in(to, from);
  ImageAliases aliases;
  for (const auto& [name, paths] : only_in(from, to)) {
    const auto match = candidates.find(name);
    if (paths.size() == 1 && match != candidates.end() && match->second.size() == 1)
      aliases.emplace(*paths.begin(), *match->second.begin());
  }
  return aliases;
}

ProfileFrames::ProfileFrames(const profile::Profile& profile, FrameTable& table,
                             ImageAliases aliases)
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
  return table_.PlaceOfLabel(profile::LabelFrameName(profile_, label));
}

uint32_t ProfileFrames::MakePlace(const profile::Location& location) {
  SourceFrame source{.address = profile::PlaceOfAddress(profile_, location)};
  if (location.mapping != profile::kNoMapping) {
    const profile::StringId path = profile_.mapping(location.mapping).path;
    const auto alias = aliases_.find(profile_.String(path));
    source.image = alias == aliases_.end() ? String(path) : table_.InternString(alias->second);
  }
  lines_.clear();
  for (const profile::Line& line : location.lines) {
    const profile::Function& row = profile_.function(line.function);
    lines_.push_back({String(profile::FunctionName(profile_, line.function)), String(row.file),
                      row.start_line, line.line});
  }
  source.lines = lines_;
  return table_.PlaceOfAddress(source);
}

}  // namespace vesta::flame
