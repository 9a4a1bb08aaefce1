#include "src/wire/speedscope_encoder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "src/base/check.h"
#include "src/base/json.h"
#include "src/profile/frame_name.h"

namespace vesta::wire {
namespace {

using base::AppendJsonString;
using profile::Label;
using profile::Line;
using profile::Location;
using profile::LocationId;
using profile::Profile;
using profile::StringId;

constexpr std::array<std::string_view, 5> kUnits = {"nanoseconds", "microseconds", "milliseconds",
                                                    "seconds", "bytes"};

void AppendNumber(int64_t value, std::string& out) {
  std::array<char, 24> text;
  const auto [end, status] = std::to_chars(text.data(), text.data() + text.size(), value);
  CHECK(status == std::errc{});
  out.append(text.data(), end);
}

struct Frame {
  std::string name;
  StringId file;
  StringId image;
  int64_t line = 0;
  int64_t column = 0;
  StringId label;  // the key of the label that it stands for; "" = it is code
};

class Encoder {
 public:
  Encoder(const Profile& profile, const SpeedscopeEncodeOptions& options)
      : profile_(profile), options_(options), types_(profile.sample_types().size()) {}

  std::string Run() {
    NameFrames();
    AddUpStacks();
    out_ = R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"vesta",)";
    out_ += "\"name\":";
    AppendJsonString(options_.name, out_);
    out_ += ",\"activeProfileIndex\":";
    const size_t first = options_.sample_type.value_or(profile_.DefaultSampleTypeIndex());
    AppendNumber(types_ == 0 ? 0 : static_cast<int64_t>(first), out_);
    out_ += ",\n\"shared\":{\"frames\":[";
    for (size_t i = 0; i < frames_.size(); ++i) {
      out_ += i == 0 ? "\n" : ",\n";
      WriteFrame(frames_[i]);
    }
    out_ += "\n]},\n\"profiles\":[";
    for (size_t type = 0; type < types_; ++type) {
      if (type > 0) out_ += ",\n";
      WriteProfile(type);
    }
    out_ += "]}\n";
    return std::move(out_);
  }

 private:
  uint32_t IdOf(Frame frame) {
    uint64_t hash = std::hash<std::string>{}(frame.name);
    hash = profile::HashWord(hash, frame.file.value());
    hash = profile::HashWord(hash, frame.image.value());
    const bool by_line = options_.frame_per_line;
    if (by_line) hash = profile::HashWord(hash, static_cast<uint64_t>(frame.line));
    const auto fresh = static_cast<uint32_t>(frames_.size());
    const uint32_t id = frame_index_.FindOrInsert(hash, fresh, [&](uint32_t other) {
      const Frame& row = frames_[other];
      return row.name == frame.name && row.file == frame.file && row.image == frame.image &&
             row.label == frame.label &&
             (!by_line || (row.line == frame.line && row.column == frame.column));
    });
    if (id == fresh) {
      frames_.push_back(std::move(frame));
    } else if (frame.line > 0 && (frames_[id].line == 0 || frame.line < frames_[id].line)) {
      frames_[id].line = frame.line;
    }
    return id;
  }

  uint32_t FrameOf(const Location& location, const Line* line) {
    Frame frame;
    if (location.mapping != profile::kNoMapping)
      frame.image = profile_.mapping(location.mapping).path;
    if (line != nullptr) {
      const profile::Function& function = profile_.function(line->function);
      frame.name = profile_.String(profile::FunctionName(profile_, line->function));
      frame.file = function.file;
      const bool start = !options_.frame_per_line && function.start_line > 0;
      frame.line = std::max<int64_t>(0, start ? function.start_line : line->line);
      if (options_.frame_per_line) frame.column = std::max<int64_t>(0, line->column);
    }
    if (frame.name.empty()) frame.name = profile::AddressName(profile_, location);
    return IdOf(std::move(frame));
  }

  // Gives each location its frames, root first.
  void NameFrames() {
    std::vector<uint32_t> ids;
    for (uint32_t i = 0; i < profile_.location_count(); ++i) {
      const Location location = profile_.location(LocationId{i});
      ids.clear();
      for (size_t j = location.lines.size(); j-- > 0;)
        ids.push_back(FrameOf(location, &location.lines[j]));
      if (ids.empty()) ids.push_back(FrameOf(location, nullptr));
      location_frames_.Append(ids);
    }
  }

  void FillStack(size_t sample, std::vector<uint32_t>& stack) {
    stack.clear();
    for (const std::string& key : options_.first_frame_labels) {
      for (const Label& label : profile_.labels(profile_.sample_labels(sample))) {
        if (profile_.String(label.key) != key) continue;
        Frame frame;
        frame.name = profile::LabelFrameName(profile_, label);
        frame.label = label.key;
        stack.push_back(IdOf(std::move(frame)));
        break;
      }
    }
    const auto locations = profile_.stack(profile_.sample_stack(sample));
    if (locations.empty()) {
      Frame frame;
      frame.name = profile::kNoStackName;
      stack.push_back(IdOf(std::move(frame)));
    }
    for (size_t i = locations.size(); i-- > 0;) {
      const auto ids = location_frames_[locations[i].value()];
      stack.insert(stack.end(), ids.begin(), ids.end());
    }
  }

  void AddUpStacks() {
    profile::IdIndex index;
    std::vector<uint32_t> stack;
    for (size_t i = 0; i < profile_.sample_count(); ++i) {
      FillStack(i, stack);
      uint64_t hash = stack.size();
      for (const uint32_t frame : stack) hash = profile::HashWord(hash, frame);
      const auto fresh = static_cast<uint32_t>(stacks_.size());
      const uint32_t id = index.FindOrInsert(
          hash, fresh, [&](uint32_t other) { return std::ranges::equal(stacks_[other], stack); });
      if (id == fresh) {
        stacks_.Append(stack);
        values_.resize(values_.size() + types_);
      }
      const auto values = profile_.sample_values(i);
      for (size_t type = 0; type < types_; ++type) {
        int64_t& sum = values_[id * types_ + type];
        sum = profile::AddSaturating(sum, values[type]);
      }
    }
  }

  void WriteMember(std::string_view key, std::string_view text) {
    if (text.empty()) return;
    out_ += ",\"";
    out_ += key;
    out_ += "\":";
    AppendJsonString(text, out_);
  }

  void WriteFrame(const Frame& frame) {
    out_ += "{\"name\":";
    AppendJsonString(frame.name, out_);
    WriteMember("file", profile_.String(frame.file));
    for (const auto& [key, number] :
         {std::pair{",\"line\":", frame.line}, std::pair{",\"col\":", frame.column}}) {
      if (number == 0) continue;
      out_ += key;
      AppendNumber(number, out_);
    }
    WriteMember("vestaImage", profile_.String(frame.image));
    WriteMember("vestaLabel", profile_.String(frame.label));
    out_ += '}';
  }

  void WriteProfile(size_t type) {
    const profile::ValueType& value_type = profile_.sample_types()[type];
    const std::string_view word = profile_.String(value_type.type);
    const std::string_view unit = profile_.String(value_type.unit);
    const bool known = std::ranges::find(kUnits, unit) != kUnits.end();
    out_ += "\n{\"type\":\"sampled\",\"name\":";
    AppendJsonString(std::string(word) + "/" + std::string(unit), out_);
    out_ += ",\"unit\":\"";
    out_ += known ? unit : "none";
    out_ += "\",\"vestaType\":{\"type\":";
    AppendJsonString(word, out_);
    out_ += ",\"unit\":";
    AppendJsonString(unit, out_);
    int64_t sum = 0;
    std::string weights;
    std::string_view samples_start = "},\"samples\":[\n[";
    for (size_t i = 0; i < stacks_.size(); ++i) {
      const int64_t value = values_[i * types_ + type];
      if (value <= 0) continue;
      sum = profile::AddSaturating(sum, value);
      if (!weights.empty()) weights += ',';
      AppendNumber(value, weights);
      std::string_view between = samples_start;
      samples_start = ",\n[";
      for (const uint32_t frame : stacks_[i]) {
        out_ += between;
        AppendNumber(frame, out_);
        between = ",";
      }
      out_ += ']';
    }
    if (weights.empty()) out_ += "},\"samples\":[";
    out_ += "],\n\"weights\":[" + weights + "],\"startValue\":0,\"endValue\":";
    AppendNumber(sum, out_);
    out_ += '}';
  }

  const Profile& profile_;
  const SpeedscopeEncodeOptions& options_;
  size_t types_;
  std::vector<Frame> frames_;
  profile::IdIndex frame_index_;
  profile::FlatLists<uint32_t> location_frames_;
  profile::FlatLists<uint32_t> stacks_;  // distinct ones, root first
  std::vector<int64_t> values_;          // of each stack, one per sample type
  std::string out_;
};

}  // namespace

std::string EncodeSpeedscope(const Profile& profile, const SpeedscopeEncodeOptions& options) {
  return Encoder(profile, options).Run();
}

}  // namespace vesta::wire
