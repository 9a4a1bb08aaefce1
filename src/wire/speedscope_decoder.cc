#include "src/wire/speedscope_decoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/json_pull.h"
#include "src/wire/call_tree.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::JsonDecimal;
using base::JsonPull;
using base::Result;
using profile::LocationId;
using profile::MappingId;
using profile::Profile;

constexpr size_t kAbsent = SIZE_MAX;

// How the values of a unit are counted here.
struct UnitRule {
  std::string_view unit;
  std::string_view type;
  std::string_view our_unit;
  int power;  // of ten, to our unit
};
constexpr std::array<UnitRule, 6> kUnits = {{{"none", "samples", "count", 0},
                                             {"bytes", "space", "bytes", 0},
                                             {"nanoseconds", "time", "nanoseconds", 0},
                                             {"microseconds", "time", "nanoseconds", 3},
                                             {"milliseconds", "time", "nanoseconds", 6},
                                             {"seconds", "time", "nanoseconds", 9}}};

// One profile of the file: its short members, and where its lists begin.
struct ProfilePlace {
  std::string path;  // "profiles[3]"
  std::string type;
  std::string name;
  const UnitRule* unit = nullptr;
  bool is_own = false;  // vesta wrote it, and says its sample type
  std::string own_type;
  std::string own_unit;
  size_t samples = kAbsent;
  size_t weights = kAbsent;
  size_t events = kAbsent;
  JsonDecimal start;
  JsonDecimal end;
  size_t sample_type = 0;  // index in the profile
  profile::LabelSetId labels;
};

bool TakeOnce(JsonPull& pull, size_t* offset) {
  if (*offset != kAbsent) return pull.Refuse("is there twice");
  *offset = pull.NextOffset();
  return pull.Skip();
}

bool TakeText(JsonPull& pull, std::string* out) {
  std::string_view text;
  if (!pull.String(&text)) return false;
  *out = text;
  return true;
}

class Decoder {
 public:
  explicit Decoder(std::string_view text) : pull_(text) {}

  Result<Profile> Run() {
    if (!FindParts() || !pull_.End()) return pull_.error();
    if (frames_at_ == kAbsent) return Missing("shared.frames");
    if (!has_profiles_) return Missing("profiles");
    MakeSampleTypes();
    RETURN_IF_ERROR(ReadFrames());
    for (ProfilePlace& place : places_) {
      RETURN_IF_ERROR(place.type == "sampled" ? ReadSampled(place) : ReadEvented(place));
      AddDuration(place);
    }
    if (rounded_ > 0) {
      profile_.header().comments.push_back(profile_.InternString(
          "speedscope: " + std::to_string(rounded_) +
          " values were not whole numbers of their unit (nanoseconds for times) and were rounded"));
    }
    return std::move(profile_);
  }

 private:
  static Error Missing(const std::string& field) {
    return Error(ErrorCode::kCorrupt, "no speedscope profile: " + field + " is missing");
  }

  // The first pass: where things are.
  bool FindParts() {
    std::string_view key;
    pull_.EnterObject();
    while (pull_.NextKey(&key)) {
      if (key == "shared") {
        pull_.EnterObject();
        while (pull_.NextKey(&key)) {
          key == "frames" ? TakeOnce(pull_, &frames_at_) : pull_.Skip();
        }
      } else if (key == "profiles") {
        if (has_profiles_) return pull_.Refuse("is there twice");
        has_profiles_ = true;
        pull_.EnterArray();
        while (pull_.NextItem()) FindProfile();
      } else if (key == "activeProfileIndex" && pull_.Peek() == JsonPull::Kind::kNumber) {
        ReadPosition(pull_, &shown_first_);
      } else {
        pull_.Skip();
      }
    }
    return pull_.ok();
  }

  void FindProfile() {
    ProfilePlace& place = places_.emplace_back();
    place.path = pull_.Path();
    std::string_view key;
    std::string_view unit;
    pull_.EnterObject();
    while (pull_.NextKey(&key)) {
      if (key == "type") {
        TakeText(pull_, &place.type);
        if (place.type != "sampled" && place.type != "evented")
          pull_.Refuse("is neither \"sampled\" nor \"evented\"");
      } else if (key == "name") {
        TakeText(pull_, &place.name);
      } else if (key == "unit") {
        if (!pull_.String(&unit)) return;
        const auto* rule = std::ranges::find(kUnits, unit, &UnitRule::unit);
        if (rule == kUnits.end()) pull_.Refuse("is no unit of speedscope");
        place.unit = rule;
      } else if (key == "vestaType") {
        FindOwnType(place);
      } else if (key == "startValue") {
        pull_.Number(&place.start);
      } else if (key == "endValue") {
        pull_.Number(&place.end);
      } else if (size_t* const list = ListOf(place, key); list != nullptr) {
        TakeOnce(pull_, list);
      } else {
        pull_.Skip();
      }
    }
    CheckMembers(place);
  }

  static size_t* ListOf(ProfilePlace& place, std::string_view key) {
    if (key == "samples") return &place.samples;
    if (key == "weights") return &place.weights;
    if (key == "events") return &place.events;
    return nullptr;
  }

  // Our own member: {"type":"cpu","unit":"nanoseconds"}.
  void FindOwnType(ProfilePlace& place) {
    std::string_view key;
    place.is_own = true;
    pull_.EnterObject();
    while (pull_.NextKey(&key)) {
      if (key == "type") {
        TakeText(pull_, &place.own_type);
      } else if (key == "unit") {
        TakeText(pull_, &place.own_unit);
      } else {
        pull_.Skip();
      }
    }
  }

  // At once, so that a file of empty profiles is refused before they fill the memory.
  void CheckMembers(const ProfilePlace& place) {
    const auto need = [&](bool there, const std::string& what) {
      if (!there) pull_.Refuse("lacks the member \"" + what + "\"");
    };
    need(!place.type.empty(), "type");
    need(place.unit != nullptr, "unit");
    if (place.type == "evented") {
      need(place.events != kAbsent, "events");
    } else {
      need(place.samples != kAbsent, "samples");
      need(place.weights != kAbsent, "weights");
    }
  }

  // One per distinct type and unit, in order of first sight; labels where names must tell apart.
  void MakeSampleTypes() {
    std::vector<profile::ValueType> types;
    size_t foreign = 0;
    for (const ProfilePlace& place : places_) foreign += place.is_own ? 0 : 1;
    for (ProfilePlace& place : places_) {
      const profile::ValueType type =
          place.is_own ? profile_.InternValueType(place.own_type, place.own_unit)
                       : profile_.InternValueType(place.unit->type, place.unit->our_unit);
      place.sample_type = static_cast<size_t>(std::ranges::find(types, type) - types.begin());
      if (place.sample_type == types.size()) types.push_back(type);
      if (!place.is_own && foreign > 1 && !place.name.empty()) {
        const profile::Label label = profile_.TextLabel("profile", place.name);
        place.labels = profile_.InternLabels({&label, 1});
      }
    }
    if (types.size() > 1 && shown_first_ < places_.size())
      profile_.header().default_sample_type = types[places_[shown_first_].sample_type].type;
    if (types.empty()) types.push_back(profile_.InternValueType("samples", "count"));
    profile_.SetSampleTypes(std::move(types));
    values_.resize(profile_.sample_types().size());
  }

  Result<void> ReadFrames() {
    JsonPull pull = pull_.At(frames_at_, "shared.frames");
    pull.EnterArray();
    while (pull.NextItem()) ReadFrame(pull);
    if (!pull.ok()) return pull.error();
    return {};
  }

  void ReadFrame(JsonPull& pull) {
    std::string_view key;
    std::string_view text;
    profile::Function function;
    uint64_t line = 0;
    uint64_t column = 0;
    profile::StringId image;
    profile::StringId label;
    pull.EnterObject();
    while (pull.NextKey(&key)) {
      const bool is_null = pull.Peek() == JsonPull::Kind::kNull;  // of careless writers
      if (is_null) {
        pull.Skip();
      } else if (key == "name") {
        if (pull.String(&text)) function.name = profile_.InternString(text);
      } else if (key == "file") {
        if (pull.String(&text)) function.file = profile_.InternString(text);
      } else if (key == "line") {
        ReadPosition(pull, &line);
      } else if (key == "col") {
        ReadPosition(pull, &column);
      } else if (key == "vestaImage") {
        if (pull.String(&text)) image = profile_.InternString(text);
      } else if (key == "vestaLabel") {
        if (pull.String(&text)) label = profile_.InternString(text);
      } else {
        pull.Skip();
      }
    }
    if (function.name == profile::StringId{}) function.name = profile_.InternString("[unknown]");
    function.system_name = function.name;
    labels_of_frames_.push_back(label);
    names_of_frames_.push_back(function.name);
    if (label != profile::StringId{}) {
      frames_.push_back({});  // it never stands in a stack
      return;
    }
    const profile::Line row{profile_.InternFunction(function), static_cast<int64_t>(line),
                            static_cast<int64_t>(column)};
    frames_.push_back(profile_.InternLocation({ImageOf(image), 0, false, {&row, 1}}));
  }

  // Some writers put -1 or a fraction where they know nothing.
  static void ReadPosition(JsonPull& pull, uint64_t* out) {
    JsonDecimal number;
    bool rounded = false;
    if (!pull.Number(&number)) return;
    const auto value = number.ToInt(0, &rounded);
    if (value && *value > 0 && !rounded) *out = static_cast<uint64_t>(*value);
  }

  MappingId ImageOf(profile::StringId path) {
    if (path == profile::StringId{}) return profile::kNoMapping;
    const auto fresh = static_cast<uint32_t>(profile_.mapping_count());
    const uint32_t id = image_index_.FindOrInsert(
        profile::HashWord(1, path.value()), fresh,
        [&](uint32_t other) { return profile_.mapping(MappingId{other}).path == path; });
    if (id == fresh) {
      profile::Mapping mapping;
      mapping.path = path;
      mapping.has_functions = true;
      profile_.AddMapping(mapping);
    }
    return MappingId{id};
  }

  bool ReadFrameIndex(JsonPull& pull, uint32_t* index) {
    uint64_t number = 0;
    if (!pull.Uint(&number)) return false;
    if (number >= frames_.size()) {
      return pull.Refuse("is " + std::to_string(number) + ", but there are " +
                         std::to_string(frames_.size()) + " frames");
    }
    *index = static_cast<uint32_t>(number);
    return true;
  }

  std::optional<int64_t> ToOurUnit(const JsonDecimal& number, const UnitRule& unit) {
    bool rounded = false;
    const auto value = number.ToInt(unit.power, &rounded);
    rounded_ += rounded ? 1 : 0;
    return value;
  }

  // Both lists side by side, so that neither needs to be kept.
  Result<void> ReadSampled(const ProfilePlace& place) {
    JsonPull samples = pull_.At(place.samples, place.path + ".samples");
    JsonPull weights = pull_.At(place.weights, place.path + ".weights");
    std::vector<LocationId> stack;
    JsonDecimal weight;
    samples.EnterArray();
    weights.EnterArray();
    for (;;) {
      const bool more = samples.NextItem();
      const bool more_weights = weights.NextItem();
      if (!samples.ok() || !weights.ok()) break;
      if (more != more_weights) {
        return Error(ErrorCode::kCorrupt, place.path + ": samples and weights differ in length");
      }
      if (!more) return {};
      if (!ReadStack(samples, &stack) || !weights.Number(&weight)) break;
      if (weight.is_negative()) {
        weights.Refuse("is negative");
        break;
      }
      const auto value = ToOurUnit(weight, *place.unit);
      if (!value) {
        weights.Refuse("is beyond 63 bits in our unit, " + std::string(place.unit->our_unit));
        break;
      }
      if (*value == 0) continue;
      values_[place.sample_type] = *value;
      profile_.AddSample(profile_.InternStack(stack), LabelsOf(place), values_);
      values_[place.sample_type] = 0;
    }
    return samples.ok() ? weights.error() : samples.error();
  }

  // Fills `stack` leaf first. Frames that are labels stand before all others.
  bool ReadStack(JsonPull& pull, std::vector<LocationId>* stack) {
    stack->clear();
    stack_labels_.clear();
    uint32_t index = 0;
    pull.EnterArray();
    while (pull.NextItem()) {
      if (!ReadFrameIndex(pull, &index)) break;
      if (labels_of_frames_[index] == profile::StringId{}) {
        stack->push_back(frames_[index]);
      } else if (stack->empty()) {
        stack_labels_.push_back({labels_of_frames_[index], names_of_frames_[index], 0, {}});
      } else {
        return pull.Refuse("is a label inside of a stack");
      }
    }
    std::ranges::reverse(*stack);
    return pull.ok();
  }

  // Those of the stack that was read last.
  profile::LabelSetId LabelsOf(const ProfilePlace& place) {
    return stack_labels_.empty() ? place.labels : profile_.InternLabels(stack_labels_);
  }

  struct Event {
    bool opens = false;
    uint32_t frame = 0;
    JsonDecimal at;
  };

  bool ReadEvent(JsonPull& pull, Event* event) {
    std::string_view key;
    std::string_view type;
    bool has_type = false;
    bool has_frame = false;
    bool has_at = false;
    pull.EnterObject();
    while (pull.NextKey(&key)) {
      if (key == "type") {
        has_type = true;
        if (!pull.String(&type)) return false;
        if (type != "O" && type != "C") return pull.Refuse("is neither \"O\" nor \"C\"");
        event->opens = type == "O";
      } else if (key == "frame") {
        has_frame = true;
        if (!ReadFrameIndex(pull, &event->frame)) return false;
        if (labels_of_frames_[event->frame] != profile::StringId{})
          return pull.Refuse("is a label inside of a stack");
      } else if (key == "at") {
        has_at = true;
        pull.Number(&event->at);
      } else {
        pull.Skip();
      }
    }
    if (pull.ok() && !(has_type && has_frame && has_at))
      return pull.Refuse("lacks type, frame or at");
    return pull.ok();
  }

  Result<void> ReadEvented(const ProfilePlace& place) {
    JsonPull pull = pull_.At(place.events, place.path + ".events");
    CallTree tree;
    uint32_t top = CallTree::kRoot;
    std::optional<int64_t> last;
    Event event;
    pull.EnterArray();
    while (pull.NextItem()) {
      if (!ReadEvent(pull, &event)) break;
      const auto at = ToOurUnit(event.at, *place.unit);
      int64_t passed = 0;
      if (!at || __builtin_sub_overflow(*at, last.value_or(*at), &passed)) {
        pull.Refuse("has a time beyond 63 bits in " + std::string(place.unit->our_unit));
      } else if (passed < 0) {
        pull.Refuse("goes back in time");
      } else if (!event.opens &&
                 (top == CallTree::kRoot || tree.frame(top) != frames_[event.frame])) {
        pull.Refuse("closes a frame that is not the one opened last");
      } else {
        if (top != CallTree::kRoot) tree.AddSelf(top, passed);
        top = event.opens ? tree.Child(top, frames_[event.frame]) : tree.parent(top);
        last = at;
      }
    }
    if (!pull.ok()) return pull.error();
    if (top != CallTree::kRoot) {
      size_t open = 0;
      for (; top != CallTree::kRoot; top = tree.parent(top)) ++open;
      return Error(ErrorCode::kCorrupt, place.path + ".events: " + std::to_string(open) +
                                            " frames are still open at the end");
    }
    return tree.AddSamples(profile_, place.labels, place.sample_type, budget_)
        .Context(place.path + ".events");
  }

  // Of profiles in time: the longest, since those of one file are mostly threads side by side.
  void AddDuration(const ProfilePlace& place) {
    if (place.unit->type != "time" || place.is_own) return;
    bool rounded = false;
    const auto start = place.start.ToInt(place.unit->power, &rounded);
    const auto end = place.end.ToInt(place.unit->power, &rounded);
    int64_t duration = 0;
    if (!start || !end || __builtin_sub_overflow(*end, *start, &duration)) return;
    profile_.header().duration_ns = std::max(profile_.header().duration_ns, duration);
  }

  JsonPull pull_;
  size_t frames_at_ = kAbsent;
  bool has_profiles_ = false;
  uint64_t shown_first_ = 0;
  std::vector<ProfilePlace> places_;
  Profile profile_;
  std::vector<LocationId> frames_;
  std::vector<profile::StringId> labels_of_frames_;  // key of the label that a frame stands for
  std::vector<profile::StringId> names_of_frames_;
  std::vector<profile::Label> stack_labels_;
  profile::IdIndex image_index_;
  std::vector<int64_t> values_;
  uint64_t rounded_ = 0;
  StackBudget budget_;
};

}  // namespace

Result<Profile> DecodeSpeedscope(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return Decoder(text).Run();
}

}  // namespace vesta::wire
