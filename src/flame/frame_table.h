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
#include "src/profile/profile.h"

namespace vesta::flame {

inline constexpr uint32_t kNoLine = std::numeric_limits<uint32_t>::max();

// One function that stands at an address.
struct PlaceFrame {
  uint32_t function = 0;
  uint32_t line = kNoLine;  // row of FrameTable::lines
  friend bool operator==(const PlaceFrame&, const PlaceFrame&) = default;
};

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
  // Adds what a frame tells of its function.
  void Describe(uint32_t function, uint32_t file, int64_t start_line, bool is_inlined);

  std::span<const PlaceFrame> place(uint32_t id) const { return places_[id]; }
  std::vector<std::string>& strings() { return strings_; }
  std::vector<TreeFunction>& functions() { return functions_; }
  std::vector<TreeLine>& lines() { return lines_; }

 private:
  std::vector<std::string> strings_;
  std::vector<TreeFunction> functions_;
  std::vector<TreeLine> lines_;
  std::vector<bool> described_;  // by function
  profile::FlatLists<PlaceFrame> places_;
  profile::IdIndex string_index_;
  profile::IdIndex function_index_;
  profile::IdIndex line_index_;
  profile::IdIndex place_index_;
};

// The locations of one profile as places of the table; each is looked at when it is first asked
// for.
class ProfileFrames {
 public:
  // Path in this profile -> the path that it stands for in the tree.
  using Aliases = std::unordered_map<std::string_view, std::string_view>;

  ProfileFrames(const profile::Profile& profile, FrameTable& table, Aliases aliases);

  uint32_t PlaceOf(profile::LocationId location);
  uint32_t PlaceOfLabel(const profile::Label& label);
  uint32_t PlaceOfNoStack();

 private:
  uint32_t MakePlace(const profile::Location& location);
  uint32_t String(profile::StringId id);

  const profile::Profile& profile_;
  FrameTable& table_;
  Aliases aliases_;
  std::vector<uint32_t> strings_;    // by StringId
  std::vector<uint32_t> locations_;  // by LocationId
  std::vector<PlaceFrame> frames_;   // of the place being made
};

}  // namespace vesta::flame
