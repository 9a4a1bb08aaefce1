#include "src/base/json_reader.h"

#include <gtest/gtest.h>

#include "src/base/json.h"

namespace vesta::base {
namespace {

TEST(JsonReaderTest, ReadsEveryKind) {
  const auto parsed = ParseJson(
      " {\"a\": [1, -2.5, 1e3, true, false, null, \"x\"], \"b\": {}, \"c\": "
      "18446744073709551615} ");
  ASSERT_TRUE(parsed.ok());
  const auto& items = parsed->Find("a")->items();
  ASSERT_EQ(items.size(), 7u);
  EXPECT_EQ(items[0].AsUint(), 1u);
  EXPECT_EQ(items[1].AsUint(), std::nullopt);
  EXPECT_EQ(items[1].AsDouble(), -2.5);
  EXPECT_EQ(items[2].AsUint(), std::nullopt);
  EXPECT_EQ(items[2].AsDouble(), 1000);
  EXPECT_EQ(items[3].AsBool(), true);
  EXPECT_EQ(items[5].kind(), JsonValue::Kind::kNull);
  EXPECT_EQ(*items[6].AsString(), "x");
  EXPECT_EQ(items[6].AsUint(), std::nullopt);
  EXPECT_EQ(parsed->Find("c")->AsUint(), UINT64_MAX);
  EXPECT_EQ(parsed->Find("d"), nullptr);
  EXPECT_EQ(items[0].Find("a"), nullptr);
}

TEST(JsonReaderTest, Escapes) {
  const auto parsed = ParseJson("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\ud83d\\ude00\"");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed->AsString(), "\"\\/\b\f\n\r\t\u00e9\u20ac\U0001F600");
}

TEST(JsonReaderTest, ReadsWhatTheWriterWrites) {
  JsonWriter writer;
  writer.BeginObject().Key("k\n\"").BeginArray().Int(-1).Double(0.1).EndArray().EndObject();
  const auto parsed = ParseJson(writer.Take());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->Find("k\n\"")->items()[1].AsDouble(), 0.1);
}

TEST(JsonReaderTest, EveryTruncationIsRefused) {
  const std::string text = "{\"a\":[1,{\"b\":\"\\u00e9\"},true]}";
  ASSERT_TRUE(ParseJson(text).ok());
  for (size_t size = 0; size < text.size(); ++size) {
    const auto parsed = ParseJson(std::string_view(text).substr(0, size));
    ASSERT_FALSE(parsed.ok()) << size;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kCorrupt);
  }
}

TEST(JsonReaderTest, RefusesWhatIsNoJson) {
  for (const char* text :
       {"", "{a:1}", "[1,]", "01", "1.", ".5", "+1", "1e", "nul", "\"\x01\"", "\"\\x\"",
        "\"\\ud800\"", "\"\\udc00\"", "\"\\u12\"", "[1] 2", "{\"a\" 1}", "{\"a\":1,}"}) {
    EXPECT_FALSE(ParseJson(text).ok()) << text;
  }
  EXPECT_TRUE(ParseJson(std::string(60, '[') + std::string(60, ']')).ok());
  EXPECT_FALSE(ParseJson(std::string(100000, '[')).ok());
}

}  // namespace
}  // namespace vesta::base
