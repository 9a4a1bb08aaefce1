// A profile in memory: named or raw stacks with their values, shaped so that a pprof file that is
// read and written again loses nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/base/strong_id.h"
#include "src/profile/id_index.h"

namespace vesta::profile {

// All ids are dense, count from 0 in order of first sight, and mean something only together with
// the Profile that gave them out.
using StringId = base::StrongId<struct StringIdTag>;    // StringId{} is ""
using MappingId = base::StrongId<struct MappingIdTag>;  // not the agent's ImageId
using FunctionId = base::StrongId<struct FunctionIdTag>;
using LocationId = base::StrongId<struct LocationIdTag>;
using StackId = base::StrongId<struct StackIdTag>;        // StackId{} is the stack without frames
using LabelSetId = base::StrongId<struct LabelSetIdTag>;  // LabelSetId{} is "no labels"

inline constexpr MappingId kNoMapping{std::numeric_limits<uint32_t>::max()};

// Label keys that our recordings use; folded output starts each line with the process.
inline constexpr std::string_view kLabelProcess = "process";  // comm of the process, text
inline constexpr std::string_view kLabelThread = "thread";    // name of the thread, text
inline constexpr std::string_view kLabelPid = "pid";          // number
inline constexpr std::string_view kLabelTid = "tid";          // number

// The kernel's own mapping in our recordings; modules are "[name]" or a path that ends in .ko.
inline constexpr std::string_view kKernelPath = "[kernel]";

// One image as it is mapped (pprof's Mapping).
// Units: memory_start, memory_limit and Location::address count in the same space: process
//        addresses in most files, the ELF file's own addresses in our recordings.
struct Mapping {
  StringId path;
  StringId build_id;  // hex
  uint64_t memory_start = 0;
  uint64_t memory_limit = 0;  // first byte behind; 0 = unknown
  uint64_t file_offset = 0;   // of memory_start
  bool has_functions = false;
  bool has_filenames = false;
  bool has_line_numbers = false;
  bool has_inline_frames = false;
};

struct Function {
  StringId name;         // for people: demangled
  StringId system_name;  // as the image has it
  StringId file;
  int64_t start_line = 0;
  friend bool operator==(const Function&, const Function&) = default;
};

struct Line {
  FunctionId function;  // must exist: readers refuse lines without one
  int64_t line = 0;     // 0 = unknown
  int64_t column = 0;   // 0 = unknown
  friend bool operator==(const Line&, const Line&) = default;
};

// One address and the functions that stand there.
// Shape: lines innermost (inlined) first, the last is the function that was really called; none =
//        not symbolized. `lines` of a Location that a Profile returns live until it changes.
struct Location {
  MappingId mapping = kNoMapping;
  uint64_t address = 0;
  bool is_folded = false;  // several addresses were folded into this one
  std::span<const Line> lines = {};
};

// A text label when `text` is not "", else a number with its unit.
struct Label {
  StringId key;
  StringId text;
  int64_t number = 0;
  StringId unit;
  bool is_number() const { return text == StringId{}; }
  friend bool operator==(const Label&, const Label&) = default;
};

struct ValueType {
  StringId type;  // e.g. "cpu"
  StringId unit;  // e.g. "nanoseconds"
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

// What is true for the whole profile.
struct Header {
  ValueType period_type;
  int64_t period = 0;        // in units of period_type; 0 = none
  int64_t time_unix_ns = 0;  // start; 0 = unknown
  int64_t duration_ns = 0;   // 0 = unknown
  std::vector<StringId> comments;
  StringId default_sample_type;  // type of one of the sample types; "" = the last one
  StringId drop_frames;          // regular expressions of pprof
  StringId keep_frames;
  StringId doc_url;
  MappingId main_mapping = kNoMapping;  // pprof writes it first; kNoMapping = keep the order
};

// Shape: columns over dense ids; stacks leaf first; values row by row, one per sample type.
// Owner: one thread at a time; movable, not copyable. Strings never move, other spans live until
//        the next call that adds something.
// Cost:  interning a stack is one hash over its ids; about 4 bytes per frame plus 25 per distinct
//        stack; a sample is 8 bytes plus 8 per sample type, plus 11 when merged by AddSample.
// Errors: ids that this profile did not give out and more than 2^32 - 1 rows of a kind are
//        programmer errors (CHECK).
class Profile {
 public:
  Profile();
  Profile(Profile&&) = default;
  Profile& operator=(Profile&&) = default;

  Header& header() { return header_; }
  const Header& header() const { return header_; }

  // How much will come, so that nothing grows step by step. More or less may come.
  struct Sizes {
    size_t strings = 0;
    size_t functions = 0;
    size_t locations = 0;
    size_t samples = 0;
    size_t frames = 0;  // of all stacks
  };
  void Reserve(const Sizes& sizes);

  // Set once, before the first sample.
  void SetSampleTypes(std::vector<ValueType> types);
  std::span<const ValueType> sample_types() const { return sample_types_; }
  ValueType InternValueType(std::string_view type, std::string_view unit) {
    return {InternString(type), InternString(unit)};
  }
  // The sample type to show when nobody chose one: the default one, else the last, as pprof does.
  size_t DefaultSampleTypeIndex() const;

  StringId InternString(std::string_view text);
  MappingId AddMapping(const Mapping& mapping);
  // Add... gives a new id even to equal content (files may hold it twice), Intern... the first.
  FunctionId AddFunction(const Function& function);
  FunctionId InternFunction(const Function& function);
  LocationId AddLocation(const Location& location);
  LocationId InternLocation(const Location& location);
  StackId InternStack(std::span<const LocationId> leaf_first);
  LabelSetId InternLabels(std::span<const Label> labels);  // order matters
  Label TextLabel(std::string_view key, std::string_view text) {
    return {InternString(key), InternString(text), 0, StringId{}};
  }
  Label NumberLabel(std::string_view key, int64_t number, std::string_view unit = {}) {
    return {InternString(key), StringId{}, number, InternString(unit)};
  }
  // Adds the values to the sample with the same stack and labels (saturating), or makes it.
  // Shape: one value per sample type.
  void AddSample(StackId stack, LabelSetId labels, std::span<const int64_t> values);
  // Makes a row of its own even if an equal one is there.
  void AppendSample(StackId stack, LabelSetId labels, std::span<const int64_t> values);

  std::string_view String(StringId id) const { return strings_[id.value()]; }
  const Mapping& mapping(MappingId id) const { return mappings_[id.value()]; }
  const Function& function(FunctionId id) const { return functions_[id.value()]; }
  Location location(LocationId id) const;
  std::span<const LocationId> stack(StackId id) const { return stacks_[id.value()]; }  // leaf first
  std::span<const Label> labels(LabelSetId id) const { return label_sets_[id.value()]; }
  StackId sample_stack(size_t sample) const { return sample_stacks_[sample]; }
  LabelSetId sample_labels(size_t sample) const { return sample_labels_[sample]; }
  std::span<const int64_t> sample_values(size_t sample) const {
    return {values_.data() + sample * sample_types_.size(), sample_types_.size()};
  }

  size_t string_count() const { return strings_.size(); }
  size_t mapping_count() const { return mappings_.size(); }
  size_t function_count() const { return functions_.size(); }
  size_t location_count() const { return locations_.size(); }
  size_t stack_count() const { return stacks_.size(); }          // the empty one included
  size_t label_set_count() const { return label_sets_.size(); }  // the empty one included
  size_t sample_count() const { return sample_stacks_.size(); }

  // Whether every id that is kept inside points at something; a profile that only went through
  // the builders above with its own ids is valid.
  // Errors: InvalidInput naming the row and the field.
  base::Result<void> Validate() const;

  // Heap bytes held, capacity included.
  size_t memory_bytes() const;

 private:
  struct LocationRow {
    uint64_t address;
    MappingId mapping;
    bool is_folded;
  };

  void CatchUpFunctions();
  void CatchUpLocations();
  void CatchUpSamples();
  uint64_t HashSample(size_t sample) const;

  Header header_;
  std::vector<ValueType> sample_types_;

  std::vector<std::unique_ptr<char[]>> string_chunks_;
  size_t string_bytes_ = 0;  // of all chunks
  char* string_next_ = nullptr;
  size_t string_room_ = 0;
  std::vector<std::string_view> strings_;

  std::vector<Mapping> mappings_;
  std::vector<Function> functions_;
  std::vector<LocationRow> locations_;
  FlatLists<Line> location_lines_;
  FlatLists<LocationId> stacks_;
  FlatLists<Label> label_sets_;
  std::vector<StackId> sample_stacks_;
  std::vector<LabelSetId> sample_labels_;
  std::vector<int64_t> values_;

  IdIndex string_index_;
  IdIndex function_index_;
  IdIndex location_index_;
  IdIndex stack_index_;
  IdIndex label_set_index_;
  IdIndex sample_index_;
  // Rows that Add... and AppendSample made are indexed only when somebody interns: reading a file
  // needs no index.
  size_t functions_indexed_ = 0;
  size_t locations_indexed_ = 0;
  size_t samples_indexed_ = 0;
};

// The sum, or the nearest value that int64 can hold.
inline int64_t AddSaturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

// Whether this is code of the kernel: its mapping is "[kernel...]", a module's "[name]" or file
// (.ko), or the address is one that 64-bit machines keep for it.
bool IsKernelLocation(const Profile& profile, const Location& location);
bool IsKernelCode(std::string_view mapping_path, uint64_t address);

// What stands after the last '/' of the mapping's path; "" when there is none.
std::string_view MappingShortName(const Profile& profile, MappingId mapping);

}  // namespace vesta::profile
