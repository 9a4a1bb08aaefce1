#include "src/agent/runtime/frame_names.h"

#include <gtest/gtest.h>

#include <string>

namespace vesta::agent::runtime {
namespace {

FrameEra Era(uint64_t from_mono_ns, const std::string& name, uint32_t line = 0) {
  FrameEra era;
  era.from_mono_ns = from_mono_ns;
  if (!name.empty()) era.symbol.lines.push_back({name, name, "", line, 0});
  return era;
}

std::string Text(const FrameNames& names) {
  std::string text;
  for (const FrameEra& era : names) {
    text += (text.empty() ? "" : " ") + std::to_string(era.from_mono_ns) + ":" +
            (era.symbol.lines.empty() ? "-" : era.symbol.lines[0].name);
  }
  return text;
}

TEST(FrameNamesTest, WhatStaysTheSameIsOneEra) {
  FrameNames names;
  AppendEra(Era(1, "a"), names);
  AppendEra(Era(2, "a"), names);
  AppendEra(Era(3, ""), names);
  AppendEra(Era(4, ""), names);
  AppendEra(Era(5, "a"), names);
  AppendEra(Era(6, "a", 7), names);
  EXPECT_EQ(Text(names), "1:a 3:- 5:a 6:a");
}

TEST(FrameNamesTest, CodeFromBeforeAForkHasTheNameThatItHadThen) {
  const FrameNames parent = {Era(10, "old"), Era(20, "at the fork"), Era(40, "later")};
  EXPECT_EQ(Text(WithEarlier({}, parent, 30)), "0:at the fork");
  EXPECT_EQ(Text(WithEarlier({Era(35, "own")}, parent, 30)), "0:at the fork 35:own");
  // What the child says of all times counts.
  EXPECT_EQ(Text(WithEarlier({Era(0, "own")}, parent, 30)), "0:own");
  // Names that were written down only after the fork hold for before, too.
  EXPECT_EQ(Text(WithEarlier({}, parent, 5)), "0:old");
  EXPECT_EQ(Text(WithEarlier({Era(35, "own")}, {}, 30)), "35:own");
  EXPECT_EQ(Text(WithEarlier({}, {Era(10, "old"), Era(20, "")}, 30)), "");
}

}  // namespace
}  // namespace vesta::agent::runtime
