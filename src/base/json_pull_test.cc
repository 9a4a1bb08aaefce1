#include "src/base/json_pull.h"

#include <gtest/gtest.h>

namespace vesta::base {
namespace {

JsonDecimal DecimalOf(std::string_view text) {
  JsonPull pull(text);
  JsonDecimal number;
  EXPECT_TRUE(pull.Number(&number) && pull.End()) << text;
  return number;
}

// Sums all numbers of {"name": {"x": [..]}, ...} and says where it failed.
std::string SumOf(std::string_view text, uint64_t* sum) {
  JsonPull pull(text);
  std::string_view key;
  uint64_t number = 0;
  *sum = 0;
  pull.EnterObject();
  while (pull.NextKey(&key)) {
    if (key != "x") {
      pull.Skip();
      continue;
    }
    pull.EnterArray();
    while (pull.NextItem()) {
      if (pull.Uint(&number)) *sum += number;
    }
  }
  return pull.End() ? "" : pull.error().message();
}

TEST(JsonPullTest, TakesWhatIsWantedAndPassesOverTheRest) {
  uint64_t sum = 0;
  const std::string text =
      " {\"a\":{\"x\":[5]},\"x\" : [ 1,2e1 , 3.00],\"b\":[[],{},[{\"c\":\"]\\\"\"}],true,null]} ";
  EXPECT_EQ(SumOf(text, &sum), "");
  EXPECT_EQ(sum, 24u);
}

TEST(JsonPullTest, EveryTruncationSaysThatTheTextEnds) {
  const std::string text =
      R"({"a":{"y":[5, true, false, null, "\u00e9\n"]},"x":[1,20,300],"b":-1.5e+3})";
  uint64_t sum = 0;
  ASSERT_EQ(SumOf(text, &sum), "");
  for (size_t size = 0; size < text.size(); ++size) {
    const std::string message = SumOf(std::string_view(text).substr(0, size), &sum);
    EXPECT_NE(message.find("is cut off"), std::string::npos) << size << ": " << message;
  }
}

TEST(JsonPullTest, ErrorsNameTheFieldAndTheByte) {
  uint64_t sum = 0;
  EXPECT_EQ(SumOf(R"({"x":[1,-2]})", &sum), "x[1] is negative (byte 8)");
  EXPECT_EQ(SumOf(R"({"x":[1,2.5]})", &sum), "x[1] is no whole number (byte 8)");
  EXPECT_EQ(SumOf(R"({"x":[1,"2"]})", &sum), "x[1] is no number (byte 8)");
  EXPECT_EQ(SumOf(R"({"x":[1,1e19]})", &sum), "x[1] is beyond 63 bits (byte 8)");
  EXPECT_EQ(SumOf(R"({"x":{}})", &sum), "x is no array (byte 5)");
  EXPECT_EQ(SumOf(R"([])", &sum), "the text is no object (byte 0)");
  EXPECT_EQ(SumOf(R"({"q":{"w":[0,[NaN]]}})", &sum),
            "q.w[1][0] is no valid JSON: a value is missing (byte 14)");
  EXPECT_EQ(SumOf(R"({"x":[01]})", &sum), "x[0] is no valid JSON: ',' or ']' is missing (byte 7)");
}

TEST(JsonPullTest, AReaderOfOneValueNamesItsOwnField) {
  const std::string text = R"({"skip":1,"x":[1,[7,true]]})";
  JsonPull pull(text);
  std::string_view key;
  size_t offset = 0;
  ASSERT_TRUE(pull.EnterObject());
  while (pull.NextKey(&key)) {
    if (key == "x") offset = pull.NextOffset();
    pull.Skip();
  }
  JsonPull inner = pull.At(offset, "file.x");
  uint64_t number = 0;
  ASSERT_TRUE(inner.EnterArray() && inner.NextItem() && inner.Uint(&number));
  ASSERT_TRUE(inner.NextItem() && inner.EnterArray() && inner.NextItem() && inner.Uint(&number));
  EXPECT_EQ(number, 7u);
  ASSERT_TRUE(inner.NextItem());
  EXPECT_EQ(inner.Path(), "file.x[1][1]");
  EXPECT_FALSE(inner.Uint(&number));
  EXPECT_EQ(inner.error().message(), "file.x[1][1] is no number (byte 20)");
  EXPECT_FALSE(inner.NextItem()) << "after a failure everything fails";
}

TEST(JsonPullTest, DecimalsMoveTheirPointWithoutRounding) {
  bool rounded = false;
  EXPECT_EQ(DecimalOf("0.1").ToInt(9, &rounded), 100'000'000);
  EXPECT_EQ(DecimalOf("123456789.123456789").ToInt(9, &rounded), 123456789123456789);
  EXPECT_EQ(DecimalOf("-1.5e-3").ToInt(6, &rounded), -1500);
  EXPECT_EQ(DecimalOf("0e999999999999").ToInt(9, &rounded), 0);
  EXPECT_EQ(DecimalOf("9223372036854775807").ToInt(0, &rounded), INT64_MAX);
  EXPECT_EQ(DecimalOf("1000000000000000000000e-21").ToInt(0, &rounded), 1);
  EXPECT_FALSE(rounded);
}

TEST(JsonPullTest, DecimalsRoundOnceHalvesAwayFromZero) {
  const auto round = [](std::string_view text, int power) {
    bool rounded = false;
    const auto value = DecimalOf(text).ToInt(power, &rounded);
    EXPECT_TRUE(rounded) << text;
    return value;
  };
  EXPECT_EQ(round("0.0005", 3), 1);
  EXPECT_EQ(round("-0.0005", 3), -1);
  EXPECT_EQ(round("0.00049", 3), 0);
  EXPECT_EQ(round("9999999999999999999e-19", 0), 1);
  EXPECT_EQ(round("9999999999999999999e-20", 0), 0);
  EXPECT_EQ(round("1e-99999999999999", 9), 0);
  EXPECT_EQ(round("0.12345678901234567890123", 9), 123456789);
}

TEST(JsonPullTest, DecimalsBeyondInt64AreNone) {
  for (const char* text : {"9223372036854775808", "1e19", "1e999999999999", "-9223372036854775808",
                           "99999999999999999999999999"}) {
    bool rounded = false;
    EXPECT_EQ(DecimalOf(text).ToInt(0, &rounded), std::nullopt) << text;
  }
}

TEST(JsonPullTest, NestingIsBoundedAndNeedsNoStack) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  JsonPull bounded(deep);
  EXPECT_FALSE(bounded.Skip());
  EXPECT_EQ(bounded.error().code(), ErrorCode::kExhausted);
  EXPECT_NE(bounded.error().message().find("is nested deeper than 64 levels (byte 64)"),
            std::string::npos)
      << bounded.error().message();
  JsonPull unbounded(deep, 1'000'000);
  EXPECT_TRUE(unbounded.Skip() && unbounded.End());
}

TEST(JsonPullTest, SkippingAnItemLeavesTheNext) {
  JsonPull pull("[1,2,[3,4],5]");
  uint64_t number = 0;
  ASSERT_TRUE(pull.EnterArray() && pull.NextItem() && pull.Skip());
  ASSERT_TRUE(pull.NextItem() && pull.Uint(&number));
  EXPECT_EQ(number, 2u);
  ASSERT_TRUE(pull.NextItem() && pull.Skip() && pull.NextItem() && pull.Uint(&number));
  EXPECT_EQ(number, 5u);
  EXPECT_FALSE(pull.NextItem());
  EXPECT_TRUE(pull.End());
  for (const char* text : {"[1,]", "[[1,]]", "[[1 2]]", "[[01]]", "[1,2"}) {
    JsonPull refused(text);
    EXPECT_FALSE(refused.Skip()) << text;
  }
}

TEST(JsonPullTest, KeysWithEscapesAreRead) {
  JsonPull pull(R"({"\u0078\n":{"y":1}})");
  std::string_view key;
  ASSERT_TRUE(pull.EnterObject() && pull.NextKey(&key));
  EXPECT_EQ(key, "x\n");
  EXPECT_TRUE(pull.Skip());
  EXPECT_FALSE(pull.NextKey(&key));
  EXPECT_TRUE(pull.End());
}

}  // namespace
}  // namespace vesta::base
