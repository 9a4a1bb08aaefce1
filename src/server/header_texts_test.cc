#include "src/server/header_texts.h"

#include <gtest/gtest.h>

#include "src/base/json_reader.h"

namespace vesta::server {
namespace {

// What a reader of the header sees.
std::vector<std::string> Read(const std::string& header) {
  const auto json = base::ParseJson(header);
  EXPECT_TRUE(json.ok()) << header;
  std::vector<std::string> texts;
  for (const base::JsonValue& text : json->items()) texts.push_back(*text.AsString());
  return texts;
}

TEST(HeaderTextsTest, AnyTextIsAsciiAndComesBack) {
  const std::vector<std::string> texts = {
      "plain", "\"quoted\"\\", "line\r\nbreak\x7f", "\u00fcml\u00e4ut", "\u20ac", "\U0001f525", ""};
  const std::string header = HeaderTexts(texts);
  for (const char c : header) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << header;
  EXPECT_EQ(Read(header), texts);
  EXPECT_EQ(HeaderTexts({}), "[]");
}

TEST(HeaderTextsTest, WhatDoesNotFitIsCounted) {
  const std::vector<std::string> texts(100, std::string(90, 'x'));
  const std::string header = HeaderTexts(texts);
  EXPECT_LT(header.size(), 4100u);
  const auto read = Read(header);
  ASSERT_GT(read.size(), 30u);
  EXPECT_EQ(read.back(), std::to_string(100 - (read.size() - 1)) + " more notes do not fit here");
  EXPECT_EQ(Read(HeaderTexts({std::string(9000, 'x')})),
            (std::vector<std::string>{"1 more notes do not fit here"}));
}

}  // namespace
}  // namespace vesta::server
