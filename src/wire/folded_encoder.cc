#include "src/wire/folded_encoder.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "src/profile/frame_name.h"

namespace vesta::wire {
namespace {

using profile::Label;
using profile::LabelSetId;
using profile::Line;
using profile::Location;
using profile::LocationId;
using profile::Profile;
using profile::StackId;

void AppendName(std::string_view name, std::string& out) {
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(c == ';' ? ':' : byte < 0x20 || byte == 0x7f ? ' ' : c);
  }
}

class Encoder {
 public:
  Encoder(const Profile& profile, const FoldedEncodeOptions& options)
      : profile_(profile), options_(options) {}

  std::string Run() {
    // Lines are kept as lists of frame numbers, so that a million of them are no million texts.
    const size_t type = options_.sample_type.value_or(FoldedSampleTypeIndex(profile_));
    if (profile_.sample_types().empty()) return {};
    NameFrames();
    std::vector<uint32_t> line;
    for (size_t i = 0; i < profile_.sample_count(); ++i) {
      const int64_t value = profile_.sample_values(i)[type];
      FillLine(i, line);
      AddLine(line, value);
    }
    std::string out;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] == 0) continue;
      std::string_view between = "";
      for (const uint32_t frame : lines_[i]) {
        out += between;
        out += frames_[frame];
        between = ";";
      }
      out += ' ';
      out += std::to_string(values_[i]);
      out += '\n';
    }
    return out;
  }

 private:
  uint32_t Frame(std::string text) {
    const auto fresh = static_cast<uint32_t>(frames_.size());
    const uint32_t id =
        frame_index_.FindOrInsert(std::hash<std::string>{}(text), fresh,
                                  [&](uint32_t other) { return frames_[other] == text; });
    if (id == fresh) frames_.push_back(std::move(text));
    return id;
  }

  // Gives each location its frames, root first.
  void NameFrames() {
    std::vector<uint32_t> frames;
    for (uint32_t i = 0; i < profile_.location_count(); ++i) {
      const Location location = profile_.location(LocationId{i});
      const bool kernel = options_.kernel_suffix && profile::IsKernelLocation(profile_, location);
      frames.clear();
      for (size_t j = location.lines.size(); j-- > 0;)
        frames.push_back(Frame(NameOf(location, &location.lines[j], kernel)));
      if (frames.empty()) frames.push_back(Frame(NameOf(location, nullptr, kernel)));
      location_frames_.Append(frames);
    }
    no_stack_ = Frame(std::string(profile::kNoStackName));
  }

  // Of one line, or of a location without any.
  std::string NameOf(const Location& location, const Line* line, bool kernel) const {
    std::string text;
    if (line != nullptr) {
      AppendName(profile_.String(profile::FunctionName(profile_, line->function)), text);
    }
    if (text.empty()) AppendName(profile::AddressName(profile_, location), text);
    if (kernel) text += "_[k]";
    return text;
  }

  void FillLine(size_t sample, std::vector<uint32_t>& line) {
    line.clear();
    for (const std::string& key : options_.first_frame_labels) {
      for (const Label& label : profile_.labels(profile_.sample_labels(sample))) {
        if (profile_.String(label.key) != key) continue;
        std::string text;
        AppendName(profile::LabelFrameName(profile_, label), text);
        line.push_back(Frame(std::move(text)));
        break;
      }
    }
    const auto stack = profile_.stack(profile_.sample_stack(sample));
    if (stack.empty()) line.push_back(no_stack_);
    for (size_t i = stack.size(); i-- > 0;) {
      const auto frames = location_frames_[stack[i].value()];
      line.insert(line.end(), frames.begin(), frames.end());
    }
  }

  void AddLine(const std::vector<uint32_t>& line, int64_t value) {
    uint64_t hash = line.size();
    for (const uint32_t frame : line) hash = profile::HashWord(hash, frame);
    const auto fresh = static_cast<uint32_t>(values_.size());
    const uint32_t id = line_index_.FindOrInsert(
        hash, fresh, [&](uint32_t other) { return std::ranges::equal(lines_[other], line); });
    if (id == fresh) {
      lines_.Append(line);
      values_.push_back(0);
    }
    values_[id] = profile::AddSaturating(values_[id], value);
  }

  const Profile& profile_;
  const FoldedEncodeOptions& options_;
  std::vector<std::string> frames_;
  profile::IdIndex frame_index_;
  profile::FlatLists<uint32_t> location_frames_;
  uint32_t no_stack_ = 0;
  profile::FlatLists<uint32_t> lines_;
  profile::IdIndex line_index_;
  std::vector<int64_t> values_;
};

}  // namespace

size_t FoldedSampleTypeIndex(const profile::Profile& profile) {
  const auto types = profile.sample_types();
  for (size_t type = 0; type < types.size(); ++type) {
    if (profile.String(types[type].type) != "samples" ||
        profile.String(types[type].unit) != "count")
      continue;
    for (size_t i = 0; i < profile.sample_count(); ++i) {
      if (profile.sample_values(i)[type] != 0) return type;
    }
  }
  return profile.DefaultSampleTypeIndex();
}

std::string EncodeFolded(const profile::Profile& profile, const FoldedEncodeOptions& options) {
  return Encoder(profile, options).Run();
}

}  // namespace vesta::wire
