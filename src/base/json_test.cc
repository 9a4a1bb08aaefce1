#include "src/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vesta::base {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(text, out);
  return out;
}

TEST(JsonTest, EscapesWhatJsonForbidsInStrings) {
  EXPECT_EQ(Quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(Quoted("\n\r\t\x01\x1f\x7f"), R"("\n\r\t\u0001\u001f\u007f")");
  EXPECT_EQ(Quoted(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(Quoted("operator<</>"), R"("operator<</>")");
}

TEST(JsonTest, KeepsValidUtf8AndReplacesTheRest) {
  EXPECT_EQ(Quoted("\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5"),
            "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5\"");
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(Quoted("a\x80z"), "\"a" + bad + "z\"");        // tail without a start
  EXPECT_EQ(Quoted("\xc0\x80"), "\"" + bad + bad + "\"");  // overlong
  EXPECT_EQ(Quoted("\xe0\x80\x80"), "\"" + bad + bad + bad + "\"");
  EXPECT_EQ(Quoted("\xed\xa0\x80"), "\"" + bad + bad + bad + "\"");  // surrogate
  EXPECT_EQ(Quoted("\xf4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"");
  EXPECT_EQ(Quoted("\xe2\x82"), "\"" + bad + bad + "\"");  // cut off
  EXPECT_EQ(Quoted("\xff"), "\"" + bad + "\"");
}

TEST(JsonTest, PutsCommasBetweenValuesOnly) {
  JsonWriter json;
  json.BeginObject().Key("a").Int(-1).Key("b").BeginArray().Uint(1).BeginObject().EndObject();
  json.BeginArray().EndArray().Bool(true).Null().EndArray().Key("c").String("x").EndObject();
  EXPECT_EQ(json.Take(), R"({"a":-1,"b":[1,{},[],true,null],"c":"x"})");
}

TEST(JsonTest, WritesNumbersThatReadBackEqual) {
  JsonWriter json;
  json.BeginArray().Double(0.1).Double(1e300).Double(std::nan("")).Double(-INFINITY);
  json.Int(std::numeric_limits<int64_t>::min()).Uint(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(json.EndArray().Take(),
            "[0.1,1e+300,null,null,-9223372036854775808,18446744073709551615]");
}

}  // namespace
}  // namespace vesta::base
