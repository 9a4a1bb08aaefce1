#include "src/ingest/pusher_labels.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace vesta::ingest {
namespace {

using store::Labels;

TEST(ParsePusherLabels, ReadsPairsAndResolvesAliases) {
  const auto labels = ParsePusherLabels("version=1.2, service = checkout ,tier=gold");
  ASSERT_TRUE(labels.ok()) << labels.error().message();
  EXPECT_EQ(*labels,
            (Labels{{"service.name", "checkout"}, {"service.version", "1.2"}, {"tier", "gold"}}));
}

TEST(ParsePusherLabels, TakesAnythingInQuotes) {
  const auto labels = ParsePusherLabels(R"(a="x, y=\"z\"\\" , b=c"d,e=" ")");
  ASSERT_TRUE(labels.ok()) << labels.error().message();
  EXPECT_EQ(*labels, (Labels{{"a", R"(x, y="z"\)"}, {"b", "c\"d"}, {"e", " "}}));
}

TEST(ParsePusherLabels, KeepsABackslashThatEscapesNothing) {
  const auto labels = ParsePusherLabels(R"(a="C:\dir")");
  ASSERT_TRUE(labels.ok());
  EXPECT_EQ(*labels, (Labels{{"a", R"(C:\dir)"}}));
}

TEST(ParsePusherLabels, NothingAndEmptyValuesAreNoLabels) {
  for (const std::string_view text : {"", "  ", "a=", "a=,b=\"\""}) {
    const auto labels = ParsePusherLabels(text);
    ASSERT_TRUE(labels.ok()) << text;
    EXPECT_TRUE(labels->empty()) << text;
  }
}

TEST(ParsePusherLabels, ValuesMayHoldEqualSigns) {
  const auto labels = ParsePusherLabels("a=b=c");
  ASSERT_TRUE(labels.ok());
  EXPECT_EQ(*labels, (Labels{{"a", "b=c"}}));
}

TEST(ParsePusherLabels, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"service", "'service' has no '='"},
      {"a=b,c", "'c' has no '='"},
      {"=b", "the value 'b' has no name"},
      {"a=b,", "end with a comma"},
      {",a=b", "has no '='"},
      {"a=b,,c=d", "has no '='"},
      {"a=\"b", "does not end"},
      {"a=\"b\\\"", "does not end"},
      {"a=\"b\"c", "instead of a comma"},
      {"a=1,a=2", "a is there twice"},
      {"a=1,a=", "a is there twice"},
      {"service=1,service.name=1", "service.name is there twice"},
      {"a=\xff", "no UTF-8"},
      {"a=" + std::string(2049, 'x'), "longer than 2048"},
      {std::string(129, 'n') + "=x", "longer than 128"},
  };
  for (const auto& [text, message] : cases) {
    const auto labels = ParsePusherLabels(text);
    ASSERT_FALSE(labels.ok()) << text;
    EXPECT_EQ(labels.error().code(), base::ErrorCode::kInvalidInput);
    EXPECT_NE(labels.error().message().find(message), std::string::npos)
        << text << ": " << labels.error().message();
  }
}

TEST(PusherLabels, SortsPairsThatCameApart) {
  const auto labels = PusherLabels({{"version", "2"}, {"a", ""}, {"service", "x, y"}});
  ASSERT_TRUE(labels.ok());
  EXPECT_EQ(*labels, (Labels{{"service.name", "x, y"}, {"service.version", "2"}}));
}

}  // namespace
}  // namespace vesta::ingest
