// The functions, lines and texts of a tree while it is built: the same thing of two profiles gets
// one number.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/flame/stack_tree.h"
#include "src/profile/frame_name.h"
#include "src/profile/profile.h"

namespace vesta::flame {

inline constexpr uint32_t kNoLine = std::numeric_limits<uint32_t>::max();

// One function that stands at an address.
struct PlaceFrame {
  uint32_t function = 0;
  uint32_t line = kNoLine;  // row of FrameTable::lines
  friend bool operator==(const PlaceFrame&, const PlaceFrame&) = default;
};

// A function as a source of frames has it: texts of the table, name 0 = without.
struct SourceLine {
  uint32_t name = 0;
  uint32_t file = 0;
  int64_t start_line = 0;
  int64_t line = 0;  // any number; what no editor could open is unknown
};
// An address and the functions that stand there, wherever it was read from.
struct SourceFrame {
  uint32_t image = 0;  // text of the path that it is counted for; address.path may be another
  profile::AddressPlace address;
  std::span<const SourceLine> lines = {};  // innermost (inlined) first; none = without a name
};

// Paths of binaries that only one side has, where they can only mean one that the other side alone
// has: of the same file name, and the only such on both sides.
// Shape: from the paths of `from` to those of `to`; "" is no path.
using ImageAliases = std::unordered_map<std::string_view, std::string_view>;
ImageAliases MatchImages(std::span<const std::string_view> from,
                         std::span<const std::string_view> to);

// Shape: numbers count from 0 in order of first sight; string 0 is "", function 0 the root. A place
//        is what a location stands for: its frames, outermost first, never none.
class FrameTable {
 public:
  FrameTable();

  // Bytes that are no UTF-8 become U+FFFD.
  uint32_t InternString(std::string_view foreign);
  // Functions of one name are told apart by the image; where that is unknown (0), by the file.
  uint32_t InternFunction(uint32_t name, uint32_t image, uint32_t file, FunctionKind kind);
  uint32_t InternLine(uint32_t function, uint32_t line);
  uint32_t InternPlace(std::span<const PlaceFrame> outermost_first);
  // What an address stands for.
  uint32_t PlaceOfAddress(const SourceFrame& source);
  // A frame that stands for a label, such as the process.
  uint32_t PlaceOfLabel(std::string_view text);
  // A function, wherever in it.
  uint32_t PlaceOfFunction(uint32_t function);
  // The frame that stands for what was cut.
  uint32_t PlaceOfRest();
  // The frame of a sample that has none.
  uint32_t PlaceOfNoStack();
  // The place with its functions taken for those of another binary.
  // Shape: image_of: for each text, the one that stands for it.
  uint32_t WithImages(uint32_t place, std::span<const uint32_t> image_of);
  size_t place_count() const { return places_.size(); }

  std::span<const PlaceFrame> place(uint32_t id) const { return places_[id]; }
  std::vector<std::string>& strings() { return strings_; }
  const std::vector<std::string>& strings() const { return strings_; }
  std::vector<TreeFunction>& functions() { return functions_; }
  const std::vector<TreeFunction>& functions() const { return functions_; }
  const std::vector<TreeLine>& lines() const { return lines_; }

 private:
  // Adds what a frame tells of its function.
  void Describe(uint32_t function, uint32_t file, int64_t start_line, bool is_inlined);
  void Observe(uint32_t function, Inlined inlined);

  std::vector<std::string> strings_;
  std::vector<TreeFunction> functions_;
  std::vector<TreeLine> lines_;
  std::vector<bool> described_;  // by function
  profile::FlatLists<PlaceFrame> places_;
  profile::IdIndex string_index_;
  profile::IdIndex function_index_;
  profile::IdIndex line_index_;
  profile::IdIndex place_index_;
  std::vector<PlaceFrame> frames_;  // of the place being made
};

// The locations of one profile as places of the table; each is looked at when it is first asked
// for.
class ProfileFrames {
 public:
  // Aliases: path in this profile -> the path that it stands for in the tree.
  ProfileFrames(const profile::Profile& profile, FrameTable& table, ImageAliases aliases);

  uint32_t PlaceOf(profile::LocationId location);
  uint32_t PlaceOfLabel(const profile::Label& label);

 private:
  uint32_t MakePlace(const profile::Location& location);
  uint32_t String(profile::StringId id);

  const profile::Profile& profile_;
  FrameTable& table_;
  ImageAliases aliases_;
  std::vector<uint32_t> strings_;    // by StringId
  std::vector<uint32_t> locations_;  // by LocationId
  std::vector<SourceLine> lines_;    // of the location being looked at
};

}  // namespace vesta::flame
