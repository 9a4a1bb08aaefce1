#include "src/base/host_name.h"

#include <gtest/gtest.h>

namespace vesta::base {
namespace {

TEST(HostName, IsWhatStandsBeforeThePort) {
  EXPECT_EQ(HostOf("box:7171"), "box");
  EXPECT_EQ(HostOf("box"), "box");
  EXPECT_EQ(HostOf("[::1]:7171"), "::1");
  EXPECT_EQ(HostOf("[::1]"), "::1");
  EXPECT_EQ(HostOf("[::1"), "");
  EXPECT_EQ(HostOf(":80"), "");
  EXPECT_EQ(HostOf(""), "");
}

TEST(HostName, KnowsLoopback) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"})
    EXPECT_TRUE(IsLoopback(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "localhost.evil.example",
                           "127.evil.example", "127.", "127.0.0.1.evil.example", ""})
    EXPECT_FALSE(IsLoopback(host)) << host;
}

TEST(HostName, KnowsAddresses) {
  for (const char* host : {"10.0.0.1", "::", "fe80::1"}) EXPECT_TRUE(IsIpAddress(host)) << host;
  for (const char* host : {"box", "10.0.0", "10.0.0.1:80", "[::]", ""})
    EXPECT_FALSE(IsIpAddress(host)) << host;
}

}  // namespace
}  // namespace vesta::base
