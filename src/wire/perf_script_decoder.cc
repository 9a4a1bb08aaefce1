#include "src/wire/perf_script_decoder.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/wire/perf_events.h"
#include "src/wire/perf_script_lines.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using profile::LocationId;
using profile::MappingId;
using profile::Profile;

constexpr std::string_view kPerfKernel = "[kernel.kallsyms]";
constexpr std::string_view kDeleted = " (deleted)";

Error LineError(size_t line_number, const std::string& what) {
  return Error(ErrorCode::kCorrupt,
               "no output of perf script: line " + std::to_string(line_number) + " " + what);
}

// Behind the event stands the text of a tracepoint, or the one frame of a sample without call
// chain: its address is as wide as perf prints addresses, or the line ends as frames do.
bool IsFrameInHeader(std::string_view rest) {
  constexpr size_t kAddressWidth = 16;
  const auto frame = ParsePerfScriptFrame(rest);
  if (!frame.has_value()) return false;
  const size_t start = rest.find_first_not_of(" \t");
  if (std::min(rest.find(' ', start), rest.size()) > kAddressWidth) return true;
  return rest.ends_with(')') && rest.find(' ', start) < rest.rfind(" (");
}

class Decoder {
 public:
  explicit Decoder(bool is_bare) : is_bare_(is_bare) {}

  Result<void> AddLine(std::string_view line, size_t line_number) {
    if (line.starts_with('#')) return {};
    if (line.find_first_not_of(" \t") == std::string_view::npos) {
      EndSample();
      return {};
    }
    const bool is_indented = line.front() == ' ' || line.front() == '\t';
    if (is_bare_) return AddBareLine(line);
    if (const auto header = ParsePerfScriptHeader(line, true)) return StartSample(*header);
    // Behind a frame on the header's line, other samples follow, not frames.
    if (is_indented && in_sample_ && !frame_in_header_) {
      if (const auto frame = ParsePerfScriptFrame(line)) {
        AddFrame(*frame, line);
        return {};
      }
    }
    if (is_indented && in_sample_ && !frames_.empty() && !frame_in_header_) {
      AddPlace(ParsePerfScriptPlace(line), line);
      return {};
    }
    if (const auto header = ParsePerfScriptHeader(line, false)) return StartSample(*header);
    if (in_record_) return {};
    if (is_indented && ParsePerfScriptFrame(line))
      return LineError(line_number,
                       "is a frame without a header before it; perf script -F must print comm, "
                       "tid and event");
    return LineError(line_number, "is neither the header of a sample nor a frame");
  }

  Result<Profile> Take() {
    EndSample();
    RETURN_IF_ERROR(samples_.MoveTo(profile_));
    return std::move(profile_);
  }

 private:
  struct NamedFrame {
    PerfScriptFrame frame;
    PerfScriptPlace place;
    std::string_view text;  // the lines that it was read from
  };

  // Frames begin with a tab. Other lines are headers: the first one behind an empty line, or, where
  // there are no call chains, each that holds a frame.
  Result<void> AddBareLine(std::string_view line) {
    const bool is_chain = line.front() == '\t';
    const size_t at = FindPerfScriptFrame(line);
    const bool has_frame = at != std::string_view::npos;
    if (!is_chain && (!in_sample_ || (frame_in_header_ && has_frame)))
      return StartSample(ParsePerfScriptBareHeader(line));
    if (!in_sample_) RETURN_IF_ERROR(StartSample({}));
    if (is_chain && at == 1)
      AddFrame(*ParsePerfScriptFrame(line), line);
    else if (!frames_.empty())
      AddPlace(ParsePerfScriptPlace(line), line);
    return {};
  }

  Result<void> StartSample(const PerfScriptHeader& header) {
    EndSample();
    in_record_ = header.is_record;
    if (header.is_record) return {};
    in_sample_ = true;
    event_ = samples_.EventOf(header.event.empty() ? "event" : header.event);
    if (samples_.event_count() > PerfEventSamples::kEventsMax)
      return PerfEventSamples::TooManyEvents();
    period_ = header.period;
    sample_labels_ = Labels(header);
    if (header.time_ns.has_value()) samples_.AddTime(*header.time_ns);
    const bool has_frame = is_bare_ ? !header.rest.empty() : IsFrameInHeader(header.rest);
    if (!has_frame) return {};
    frame_in_header_ = true;
    AddFrame(*ParsePerfScriptFrame(header.rest), header.rest);
    return {};
  }

  void AddFrame(const PerfScriptFrame& frame, std::string_view line) {
    frames_.push_back({frame, {}, line});
  }

  void AddPlace(const PerfScriptPlace& place, std::string_view line) {
    NamedFrame& last = frames_.back();
    last.place = place;
    last.frame.is_inlined = last.frame.is_inlined || place.is_inlined;
    last.text = {last.text.data(),
                 static_cast<size_t>(line.data() + line.size() - last.text.data())};
  }

  void EndSample() {
    if (in_sample_) {
      stack_.clear();
      for (size_t begin = 0; begin < frames_.size();) {
        // Inlined functions, innermost first, then the function that they are in.
        size_t end = begin;
        while (end + 1 < frames_.size() && frames_[end].frame.is_inlined &&
               frames_[end + 1].frame.address == frames_[begin].frame.address)
          ++end;
        stack_.push_back(LocationOf(begin, end + 1));
        begin = end + 1;
      }
      samples_.Add(event_, profile_.InternStack(stack_), sample_labels_, period_);
    }
    in_sample_ = false;
    in_record_ = false;
    frame_in_header_ = false;
    frames_.clear();
  }

  // Most frames of a recording were there before, letter by letter.
  LocationId LocationOf(size_t begin, size_t end) {
    const std::string_view last = frames_[end - 1].text;
    const char* const start = frames_[begin].text.data();
    const std::string_view text(start, static_cast<size_t>(last.data() + last.size() - start));
    const auto known = locations_.find(text);
    if (known != locations_.end()) return known->second;
    const NamedFrame& outermost = frames_[end - 1];
    lines_.clear();
    for (size_t i = begin; i < end; ++i) {
      if (const auto line = LineOf(frames_[i])) lines_.push_back(*line);
    }
    const LocationId location = profile_.InternLocation(
        {MappingOf(outermost.frame.dso), outermost.frame.address, false, lines_});
    locations_.emplace(text, location);
    return location;
  }

  std::optional<profile::Line> LineOf(const NamedFrame& named) {
    std::string name(named.frame.symbol);
    if (name.empty()) name = NameOfDso(named.frame.dso);
    const profile::StringId id = profile_.InternString(name);
    const profile::StringId file = profile_.InternString(named.place.file);
    return profile::Line{profile_.InternFunction({id, id, file, 0}), named.place.line, 0};
  }

  // What stands for a function without a name: its binary, so that the tree does not fall apart
  // into addresses, of which perf's text does not tell which space they count in.
  static std::string NameOfDso(std::string_view dso) {
    if (dso.empty()) return "[unknown]";
    const std::string_view path = PathOf(dso);
    if (path.front() == '[') return std::string(path);
    return "[" + std::string(path.substr(path.rfind('/') + 1)) + "]";
  }

  static std::string_view PathOf(std::string_view dso) {
    if (dso.starts_with(kPerfKernel)) return profile::kKernelPath;
    if (dso.size() > kDeleted.size() && dso.ends_with(kDeleted)) dso.remove_suffix(kDeleted.size());
    return dso;
  }

  MappingId MappingOf(std::string_view dso) {
    if (dso.empty()) return profile::kNoMapping;
    const auto [row, is_new] = mappings_.try_emplace(PathOf(dso), profile::kNoMapping);
    if (is_new) {
      profile::Mapping mapping;
      mapping.path = profile_.InternString(row->first);
      mapping.has_functions = true;
      row->second = profile_.AddMapping(mapping);
    }
    return row->second;
  }

  profile::LabelSetId Labels(const PerfScriptHeader& header) {
    labels_.clear();
    if (!header.comm.empty())
      labels_.push_back(profile_.TextLabel(profile::kLabelProcess, header.comm));
    if (header.pid.has_value())
      labels_.push_back(profile_.NumberLabel(profile::kLabelPid, *header.pid));
    if (header.tid.has_value())
      labels_.push_back(profile_.NumberLabel(profile::kLabelTid, *header.tid));
    return profile_.InternLabels(labels_);
  }

  Profile profile_;
  PerfEventSamples samples_;
  std::unordered_map<std::string_view, LocationId> locations_;
  std::unordered_map<std::string_view, MappingId> mappings_;

  const bool is_bare_;  // headers may say anything

  // The sample that is being read.
  bool in_sample_ = false;
  bool in_record_ = false;  // below a PERF_RECORD_... line
  bool frame_in_header_ = false;
  size_t event_ = 0;
  std::optional<int64_t> period_;
  profile::LabelSetId sample_labels_;
  std::vector<NamedFrame> frames_;

  std::vector<LocationId> stack_;
  std::vector<profile::Line> lines_;
  std::vector<profile::Label> labels_;
};

}  // namespace

Result<Profile> DecodePerfScript(std::string_view text) {
  if (text.substr(0, 64).find('\0') != std::string_view::npos)
    return LineError(1, "is no text; convert UTF-16 first: iconv -f UTF-16 -t UTF-8 FILE");
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const bool is_last_line_whole = text.empty() || text.ends_with('\n');
  Decoder decoder(IsBarePerfScript(text));
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (text.empty() && !is_last_line_whole)
      return LineError(line_number, "ends without a line break: the text was cut off there");
    if (line.ends_with('\r')) line.remove_suffix(1);
    RETURN_IF_ERROR(decoder.AddLine(line, line_number));
  }
  return decoder.Take();
}

}  // namespace vesta::wire
