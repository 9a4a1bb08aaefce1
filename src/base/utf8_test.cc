#include "src/base/utf8.h"

#include <gtest/gtest.h>

namespace vesta::base {
namespace {

TEST(Utf8Test, BytesThatAreNoCharacterAreReplacedOneByOne) {
  const struct {
    std::string_view text;
    const char* utf8;
  } cases[] = {
      {"", ""},
      {"plain\x1b\n", "plain\x1b\n"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"thread-\xc3", "thread-\xef\xbf\xbd"},  // cut within a character, as the kernel cuts names
      {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                  // overlong
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // surrogate
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ToUtf8(c.text), c.utf8);
    EXPECT_EQ(IsUtf8(c.text), c.text == c.utf8) << c.utf8;
  }
}

}  // namespace
}  // namespace vesta::base
