#include "src/base/printable.h"

#include <gtest/gtest.h>

namespace vesta::base {
namespace {

TEST(PrintableTest, WhatATerminalObeysIsReplaced) {
  const struct {
    std::string_view text;
    const char* printable;
    const char* lines;
  } cases[] = {
      {"", "", ""},
      {"plain", "plain", "plain"},
      {"\x1b[2Jx\x1b]0;title\x07", "?[2Jx?]0;title?", "?[2Jx?]0;title?"},
      {"a\nb\r\tc\x7f", "a?b??c?", "a\nb??c?"},
      {{"a\0b", 3}, "a?b", "a?b"},
      {"\xc2\x9b"
       "31m",
       "?31m", "?31m"},  // C1 as UTF-8
      {"caf\xc3\xa9 \xc2\xa0", "caf\xc3\xa9 \xc2\xa0", "caf\xc3\xa9 \xc2\xa0"},
      {"cut \xc2", "cut ?", "cut ?"},
      {"\x9b"
       "31m",
       "?31m", "?31m"},                     // C1 as a byte
      {"a\xe2\x80\xae(b", "a?(b", "a?(b"},  // right-to-left override
      {"a\xe2\x81\xa6\xe2\x81\xa9", "a??", "a??"},
      {"\xd8\x9c\xe2\x80\x8f", "??", "??"},
      {"\xe2\x80\x8d\xe2\x80\xa6\xe2\x81\xaa", "\xe2\x80\x8d\xe2\x80\xa6\xe2\x81\xaa",
       "\xe2\x80\x8d\xe2\x80\xa6\xe2\x81\xaa"},
      {"\xd7\xa9\xd7\x9c \xf0\x9f\x98\x80", "\xd7\xa9\xd7\x9c \xf0\x9f\x98\x80",
       "\xd7\xa9\xd7\x9c \xf0\x9f\x98\x80"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Printable(c.text), c.printable);
    EXPECT_EQ(PrintableLines(c.text), c.lines);
  }
}

TEST(EscapeMarkupTest, LeavesNothingThatMarkupWouldObey) {
  EXPECT_EQ(EscapeMarkup("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
}

}  // namespace
}  // namespace vesta::base
