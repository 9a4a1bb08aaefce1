#include "src/server/access.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vesta::server {
namespace {

constexpr char kReader[] = "reader-0123456789abcdef";
constexpr char kWriter[] = "writer-0123456789abcdef";
constexpr char kAdmin[] = "admin--0123456789abcdef";

Request With(std::vector<Parameter> headers) {
  return {.method = "GET", .path = "/", .headers = std::move(headers)};
}

int StatusOf(const AccessRules& rules, const Request& request, Scope scope = Scope::kRead) {
  const auto refusal = CheckAccess(rules, request, scope);
  return refusal ? refusal->status : 200;
}

AccessRules WithTokens() {
  auto tokens = ParseTokens(std::string("# who asks\n") + kReader + " read\r\n" + kWriter +
                            "  write \n\n" + kAdmin + "\n");
  EXPECT_TRUE(tokens.ok());
  return {.tokens = *tokens, .host_name = "box"};
}

TEST(AccessTest, ReadsAddresses) {
  struct Case {
    const char* text;
    const char* host;
    uint16_t port;
  };
  for (const Case& one :
       {Case{"127.0.0.1:7171", "127.0.0.1", 7171}, Case{"[::1]:0", "::1", 0},
        Case{"localhost:80", "localhost", 80}, Case{":65535", "0.0.0.0", 65535}}) {
    const auto address = ParseListenAddress(one.text);
    ASSERT_TRUE(address.ok()) << one.text << ": " << address.error().message();
    EXPECT_EQ(address->host, one.host);
    EXPECT_EQ(address->port, one.port);
  }
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                           "127.0.0.1:80x", "::1:80", "[127.0.0.1]:80", "[]:80", "host.name:80"}) {
    EXPECT_FALSE(ParseListenAddress(text).ok()) << text;
  }
}

TEST(AccessTest, RefusesTokensThatAreNoneAndNeverRepeatsThem) {
  for (const std::string& text :
       {std::string("short\n"), std::string("0123456789abcdef everything\n"),
        std::string("# none\n"), std::string("0123456789abcdef\x01zz\n"), std::string(513, 'x')}) {
    const auto tokens = ParseTokens(text);
    ASSERT_FALSE(tokens.ok()) << text;
    EXPECT_EQ(tokens.error().message().find("0123456789abcdef"), std::string::npos);
  }
}

TEST(AccessTest, GrantsWhatATokenIsGoodFor) {
  const AccessRules rules = WithTokens();
  struct Case {
    const char* token;
    int read;
    int write;
    int admin;
  };
  for (const Case& one :
       {Case{kReader, 200, 403, 403}, Case{kWriter, 403, 200, 403}, Case{kAdmin, 200, 200, 200},
        Case{"reader-0123456789abcdeF", 401, 401, 401},
        Case{"reader-0123456789abcde", 401, 401, 401}, Case{"", 401, 401, 401}}) {
    const Request request = With({{"authorization", std::string("Bearer ") + one.token}});
    EXPECT_EQ(StatusOf(rules, request, Scope::kRead), one.read) << one.token;
    EXPECT_EQ(StatusOf(rules, request, Scope::kWrite), one.write) << one.token;
    EXPECT_EQ(StatusOf(rules, request, Scope::kAdmin), one.admin) << one.token;
    EXPECT_EQ(StatusOf(rules, request, Scope::kNone), 200);
  }
  EXPECT_EQ(StatusOf(rules, With({})), 401);
  EXPECT_EQ(StatusOf(rules, With({{"authorization", std::string("Basic ") + kAdmin}})), 401);
  EXPECT_EQ(StatusOf(rules, With({{"authorization", std::string("bearer  ") + kAdmin}})), 200);
}

TEST(AccessTest, ChallengesAndRepeatsNoToken) {
  const auto refusal = CheckAccess(
      WithTokens(), With({{"authorization", "Bearer wrong-0123456789abcdef"}}), Scope::kRead);
  ASSERT_TRUE(refusal);
  ASSERT_EQ(refusal->headers.size(), 1u);
  EXPECT_EQ(refusal->headers[0].name, "WWW-Authenticate");
  EXPECT_EQ(refusal->body.find("wrong"), std::string::npos);
}

TEST(AccessTest, RefusesHostsThatAreNotOurs) {
  const AccessRules rules{.host_name = "box"};
  for (const char* host : {"127.0.0.1:7171", "localhost", "LOCALHOST:1", "[::1]:7171", "127.0.0.1"})
    EXPECT_EQ(StatusOf(rules, With({{"host", host}})), 200) << host;
  for (const char* host : {"evil.example", "evil.example:7171", "10.0.0.1:7171", "box", "[::1", "",
                           "localhost.evil.example"}) {
    EXPECT_EQ(StatusOf(rules, With({{"host", host}})), 403) << host;
  }
}

TEST(AccessTest, BeyondThisMachineAddressesAndItsOwnNameAreOurs) {
  const AccessRules rules{.is_loopback = false, .host_name = "box"};
  for (const char* host : {"10.0.0.1:7171", "box:7171", "[fe80::1]:7171"})
    EXPECT_EQ(StatusOf(rules, With({{"host", host}})), 200) << host;
  EXPECT_EQ(StatusOf(rules, With({{"host", "evil.example"}})), 403);
}

TEST(AccessTest, WhoKnowsATokenMayCallUsAsHeLikes) {
  const Request request =
      With({{"host", "profiles.example"}, {"authorization", std::string("Bearer ") + kAdmin}});
  EXPECT_EQ(StatusOf(WithTokens(), request), 200);
}

TEST(AccessTest, RefusesPagesOfOtherSites) {
  const AccessRules rules{.host_name = "box"};
  const Parameter host{"host", "127.0.0.1:7171"};
  EXPECT_EQ(StatusOf(rules, With({host, {"origin", "http://127.0.0.1:7171"}})), 200);
  for (const char* origin : {"https://127.0.0.1:7171", "http://127.0.0.1:8080", "null", "",
                             "http://evil.example", "http://localhost:7171"}) {
    EXPECT_EQ(StatusOf(rules, With({host, {"origin", origin}}), Scope::kWrite), 403) << origin;
  }
  EXPECT_EQ(StatusOf(rules, With({host, {"sec-fetch-site", "cross-site"}})), 403);
  EXPECT_EQ(
      StatusOf(rules,
               With({host, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}})),
      200);
}

}  // namespace
}  // namespace vesta::server
