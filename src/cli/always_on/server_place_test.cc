#include "src/cli/always_on/server_place.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace vesta::cli {
namespace {

class ServerPlaceTest : public testing::Test {
 protected:
  ServerPlaceTest() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~ServerPlaceTest() override {
    RemoveServerPlace(folder_);
    EXPECT_EQ(::rmdir(folder_.c_str()), 0) << "nothing else was left there";
  }
  // What is read where a server listens at this URL, or the error.
  std::string Url(const std::string& url) {
    EXPECT_TRUE(WriteServerPlace(folder_, {url, "0123"}).ok());
    const auto place = ReadServerPlace(folder_);
    return place.ok() ? place->url : place.error().message();
  }
  std::string folder_ = testing::TempDir() + "vesta_place_XXXXXX";
};

TEST_F(ServerPlaceTest, IsReadAsThisMachineReachesIt) {
  for (const char* url : {"http://127.0.0.1:7171", "https://[::1]:80", "http://localhost:1"})
    EXPECT_EQ(Url(url), url);
  EXPECT_EQ(Url("http://0.0.0.0:7171"), "http://127.0.0.1:7171");
  EXPECT_EQ(Url("https://[::]:7171"), "https://[::1]:7171");
  // A token goes to no other machine because a file says so.
  for (const char* url : {"http://10.0.0.1:7171", "http://127.evil.com:1", "http://evil.com"})
    EXPECT_EQ(Url(url),
              "its server listens at " + std::string(url) + ": ask it by --server " + url);
  EXPECT_EQ(Url("ftp://127.0.0.1"), "it names no URL");
  EXPECT_EQ(ReadServerPlace(folder_).error().code(), base::ErrorCode::kCorrupt);
}

TEST_F(ServerPlaceTest, WhatIsNoneIsAnError) {
  EXPECT_EQ(ReadServerPlace(folder_).error().code(), base::ErrorCode::kNotFound);
  for (const char* text :
       {"", "{}", "[]", "{\"url\":1,\"instance\":\"x\"}", "{\"url\":\"http://\""}) {
    std::ofstream(folder_ + "/SERVER") << text;
    EXPECT_EQ(ReadServerPlace(folder_).error().code(), base::ErrorCode::kCorrupt) << text;
  }
}

TEST_F(ServerPlaceTest, NoTwoServersHaveOneInstance) {
  EXPECT_EQ(NewInstance().size(), 32u);
  EXPECT_NE(NewInstance(), NewInstance());
}

}  // namespace
}  // namespace vesta::cli
