#include "src/wire/losses.h"

#include <algorithm>

#include "src/base/utf8.h"

namespace vesta::wire {
namespace {

using profile::Function;
using profile::FunctionId;
using profile::kKernelPath;
using profile::Label;
using profile::LabelSetId;
using profile::Line;
using profile::Location;
using profile::LocationId;
using profile::Mapping;
using profile::MappingId;
using profile::Profile;
using profile::StringId;

// What a format holds of what a profile may have.
struct Holds {
  bool sample_types = false;  // more than one
  bool negative_values = false;
  bool files = false;
  bool lines = false;
  bool columns = false;
  bool start_lines = false;
  bool linkage_names = false;
  bool binaries = false;  // of functions with names
  bool build_ids = false;
  bool addresses = false;  // of functions with names
  bool labels = false;
  bool times = false;
  bool period = false;
  bool comments = false;
};

Holds HoldsOf(ProfileFormat format) {
  Holds all = {true, true, true, true, true, true, true, true, true, true, true, true, true, true};
  switch (format) {
    case ProfileFormat::kFolded:
      return {.negative_values = true};
    case ProfileFormat::kSpeedscope:
      return {.sample_types = true, .files = true, .start_lines = true, .binaries = true};
    case ProfileFormat::kFirefox:
      return {.negative_values = true,
              .files = true,
              .lines = true,
              .columns = true,
              .start_lines = true,
              .binaries = true,
              .build_ids = true,
              .addresses = true,
              .times = true,
              .period = true};
    case ProfileFormat::kHtml:
      return {.sample_types = true,
              .negative_values = true,
              .files = true,
              .lines = true,
              .start_lines = true,
              .binaries = true,
              .times = true,
              .comments = true};
    case ProfileFormat::kSvg:
      return {.negative_values = true, .binaries = true, .comments = true};
    default:
      return all;
  }
}

// "a", "a and b", "a, b and c"
std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

// "1 function", "2 functions"
std::string Count(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

class Finder {
 public:
  Finder(const Profile& profile, const Holds& holds, const LossOptions& options)
      : profile_(profile), holds_(holds), options_(options) {}

  std::vector<std::string> Run() {
    LookAtFunctions();
    LookAtPlaces();
    LookAtBinaries();
    LookAtLabels();
    LookAtSampleTypes();
    LookAtHeader();
    return std::move(losses_);
  }

 private:
  void Lose(std::string what) { losses_.push_back(std::move(what)); }

  void LookAtFunctions() {
    std::vector<bool> has_line(profile_.function_count());
    for (uint32_t i = 0; i < profile_.location_count(); ++i) {
      for (const Line& line : profile_.location(LocationId{i}).lines) {
        if (line.line != 0) has_line[line.function.value()] = true;
      }
    }
    size_t files = 0;
    size_t lines = 0;
    size_t start_lines = 0;
    size_t linkage_names = 0;
    for (uint32_t i = 0; i < profile_.function_count(); ++i) {
      const Function& function = profile_.function(FunctionId{i});
      files += function.file != StringId{};
      lines += has_line[i];
      start_lines += function.start_line != 0;
      linkage_names += function.system_name != StringId{} && function.name != StringId{} &&
                       function.system_name != function.name;
    }
    const bool no_files = files != 0 && !holds_.files;
    const bool no_lines = lines != 0 && !holds_.lines;
    const size_t both = std::max(files, lines);
    if (no_files && no_lines) {
      Lose("file and line of " + Count(both, "function"));
    } else if (no_files || no_lines) {
      Lose((no_files ? "the file of " : "the lines of ") + Count(both, "function"));
    }
    if (start_lines != 0 && !holds_.start_lines && holds_.lines)
      Lose("the first line of " + Count(start_lines, "function"));
    if (linkage_names != 0 && !holds_.linkage_names)
      Lose("the linkage name of " + Count(linkage_names, "function"));
  }

  void LookAtPlaces() {
    size_t columns = 0;
    size_t addresses = 0;
    for (uint32_t i = 0; i < profile_.location_count(); ++i) {
      const Location location = profile_.location(LocationId{i});
      addresses += location.address != 0 && !location.lines.empty();
      for (const Line& line : location.lines) columns += line.column != 0;
    }
    if (columns != 0 && !holds_.columns && holds_.lines)
      Lose("the column of " + Count(columns, "line"));
    if (addresses != 0 && !holds_.addresses) Lose("the address of " + Count(addresses, "place"));
  }

  void LookAtBinaries() {
    size_t binaries = 0;
    size_t build_ids = 0;
    for (uint32_t i = 0; i < profile_.mapping_count(); ++i) {
      const Mapping& mapping = profile_.mapping(MappingId{i});
      // The kernel is told by its name everywhere.
      binaries += mapping.path != StringId{} && profile_.String(mapping.path) != kKernelPath;
      build_ids += mapping.build_id != StringId{};
    }
    if (binaries != 0 && !holds_.binaries) Lose("the binary of each function");
    if (build_ids != 0 && !holds_.build_ids)
      Lose("the build id of " +
           (build_ids == 1 ? "1 binary" : std::to_string(build_ids) + " binaries"));
  }

  void LookAtLabels() {
    if (holds_.labels) return;
    std::vector<bool> seen(profile_.string_count());
    std::vector<bool> is_looked_at(profile_.label_set_count());
    std::vector<std::string> keys;
    for (size_t i = 0; i < profile_.sample_count(); ++i) {
      const LabelSetId set = profile_.sample_labels(i);
      if (is_looked_at[set.value()]) continue;
      is_looked_at[set.value()] = true;
      for (const Label& label : profile_.labels(set)) {
        if (seen[label.key.value()]) continue;
        seen[label.key.value()] = true;
        const std::string key(profile_.String(label.key));
        if (std::ranges::find(options_.first_frame_labels, key) ==
            options_.first_frame_labels.end())
          keys.push_back(key);
      }
    }
    constexpr size_t kShown = 8;
    if (keys.empty()) return;
    std::ranges::sort(keys);
    if (keys.size() > kShown) {
      const size_t rest = keys.size() - kShown;
      keys.resize(kShown);
      keys.push_back(std::to_string(rest) + " more");
    }
    Lose((keys.size() == 1 ? "the label " : "the labels ") + Join(keys));
  }

  void LookAtSampleTypes() {
    const auto types = profile_.sample_types();
    if (types.size() > 1 && !holds_.sample_types) {
      std::vector<std::string> others;
      for (size_t i = 0; i < types.size(); ++i) {
        if (i != options_.sample_type) others.emplace_back(profile_.String(types[i].type));
      }
      Lose((others.size() == 1 ? "the sample type " : "the sample types ") + Join(others));
    }
    if (holds_.negative_values) return;
    size_t negative = 0;
    for (size_t i = 0; i < profile_.sample_count(); ++i) {
      negative += std::ranges::any_of(profile_.sample_values(i), [](int64_t v) { return v < 0; });
    }
    if (negative != 0) Lose("the negative values of " + Count(negative, "sample"));
  }

  void LookAtHeader() {
    const profile::Header& header = profile_.header();
    if (!holds_.times) {
      std::vector<std::string> times;
      if (header.time_unix_ns != 0) times.emplace_back("start time");
      if (header.duration_ns != 0) times.emplace_back("duration");
      if (!times.empty()) Lose("the " + Join(times));
    }
    if (header.period != 0 && !holds_.period) Lose("the sampling period");
    if (!header.comments.empty() && !holds_.comments)
      Lose(header.comments.size() == 1 ? "the comment"
                                       : std::to_string(header.comments.size()) + " comments");
  }

  const Profile& profile_;
  const Holds holds_;
  const LossOptions& options_;
  std::vector<std::string> losses_;
};

// Nearly all is kept: text of OTLP is UTF-8, its lines count from 0, and attributes have names.
std::vector<std::string> LossesOfOtlp(const Profile& profile) {
  size_t names = 0;
  for (uint32_t i = 0; i < profile.string_count(); ++i)
    names += !base::IsUtf8(profile.String(StringId{i}));
  size_t lines = 0;
  for (uint32_t i = 0; i < profile.location_count(); ++i) {
    for (const Line& line : profile.location(LocationId{i}).lines)
      lines += line.line < 0 || line.column < 0;
  }
  size_t labels = 0;
  for (uint32_t i = 0; i < profile.label_set_count(); ++i) {
    for (const Label& label : profile.labels(LabelSetId{i})) labels += label.key == StringId{};
  }
  std::vector<std::string> losses;
  if (names != 0) losses.push_back("the bytes that are no UTF-8 of " + Count(names, "name"));
  if (lines != 0) losses.push_back("the negative numbers of " + Count(lines, "line"));
  if (labels != 0) losses.push_back("the labels without a name of some samples");
  return losses;
}

}  // namespace

std::vector<std::string> LossesOf(const Profile& profile, ProfileFormat to,
                                  const LossOptions& options) {
  if (to == ProfileFormat::kOtlp) return LossesOfOtlp(profile);
  if (to != ProfileFormat::kFirefox) return Finder(profile, HoldsOf(to), options).Run();
  // Its threads are told by these, not by frames.
  using profile::kLabelPid, profile::kLabelProcess, profile::kLabelThread, profile::kLabelTid;
  LossOptions threads = options;
  threads.first_frame_labels.clear();
  for (const std::string_view key : {kLabelProcess, kLabelPid, kLabelThread, kLabelTid})
    threads.first_frame_labels.emplace_back(key);
  return Finder(profile, HoldsOf(to), threads).Run();
}

std::string LossText(const std::vector<std::string>& losses, ProfileFormat to) {
  if (losses.empty()) return {};
  static constexpr std::string_view kPlurals[] = {
      "file ",      "the lines ",    "the labels ",        "the sample types ",
      "the bytes ", "the negative ", "the start time and "};
  const auto starts = [&](std::string_view start) { return losses[0].starts_with(start); };
  const bool plural = losses.size() > 1 || std::ranges::any_of(kPlurals, starts) ||
                      losses[0].ends_with(" comments");
  std::string text(SpecOf(to).title);
  text += ": ";
  for (size_t i = 0; i < losses.size(); ++i) {
    if (i > 0) text += i + 1 == losses.size() ? (losses.size() == 2 ? " and " : ", and ") : ", ";
    text += losses[i];
  }
  return text + (plural ? " are not kept" : " is not kept");
}

}  // namespace vesta::wire
