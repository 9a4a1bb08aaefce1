#include "src/server/message.h"

#include <gtest/gtest.h>

#include <string>

namespace vesta::server {
namespace {

TEST(MessageTest, TakesTargetsApart) {
  const auto target =
      ParseTarget("/api/v1/labels/a%2Fb/values?query=cpu%7B%7D&from=-1h&x=a+b&y&=z#f");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/api/v1/labels/a/b/values");
  const std::vector<Parameter> expected = {
      {"query", "cpu{}"}, {"from", "-1h"}, {"x", "a b"}, {"y", ""}, {"", "z"}};
  EXPECT_EQ(target->parameters, expected);
}

TEST(MessageTest, KeepsAPlusInAPathAndAnEqualsSignInAValue) {
  const auto target = ParseTarget("/a+b?q=x=y&&");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a+b");
  EXPECT_EQ(target->parameters, (std::vector<Parameter>{{"q", "x=y"}}));
}

TEST(MessageTest, RefusesWhatIsNoTarget) {
  for (const char* text :
       {"", "x", "http://host/", "/%", "/%1", "/%zz", "/?a=%", "/?%0g=1", "/%00", "/?a=%00"}) {
    EXPECT_FALSE(ParseTarget(text)) << text;
  }
  std::string many = "/?";
  for (size_t i = 0; i < kParametersMax; ++i) many += "a=1&";
  EXPECT_TRUE(ParseTarget(many));
  EXPECT_FALSE(ParseTarget(many + "a=1"));
}

TEST(MessageTest, ReadsAcceptEncoding) {
  for (const char* header :
       {"gzip", "deflate, gzip;q=1.0, *;q=0.5", "GZIP", "*", "br , gzip;q=0.1"})
    EXPECT_TRUE(AcceptsCoding(header, "gzip")) << header;
  for (const char* header :
       {"", "identity", "gzip;q=0", "gzip; q=0.000", "*;q=0", "xgzip", "gzip;q=0, *"}) {
    EXPECT_FALSE(AcceptsCoding(header, "gzip")) << header;
  }
}

TEST(MessageTest, ErrorsAreJsonWhateverTheyHold) {
  const Response response = ErrorResponse(400, "bad_request", "a \"b\"\n\xff");
  EXPECT_EQ(response.body,
            "{\"error\":{\"code\":\"bad_request\",\"message\":\"a \\\"b\\\"\\n\xef\xbf\xbd\"}}\n");
}

}  // namespace
}  // namespace vesta::server
