#include "src/server/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "src/store/memory/memory_store.h"

namespace vesta::server {
namespace {

using base::ErrorCode;

class File {
 public:
  explicit File(const std::string& text) : path_(testing::TempDir() + "vesta_server_test_XXXXXX") {
    const int fd = ::mkstemp(path_.data());
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(fd);
  }
  ~File() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string StartError(const ServerOptions& options) {
  store::MemoryStore store;
  const auto server = Server::Start(store, options);
  return server.ok() ? "" : server.error().message();
}

TEST(ServerTest, TellsThePortThatItHasTaken) {
  store::MemoryStore store;
  const auto server = Server::Start(store, {.listen = "127.0.0.1:0"});
  ASSERT_TRUE(server.ok()) << server.error().message();
  EXPECT_TRUE((*server)->url().starts_with("http://127.0.0.1:"));
  EXPECT_FALSE((*server)->url().ends_with(":0"));
  (*server)->Stop();
}

TEST(ServerTest, ListensToOthersOnlyWithTlsAndTokensOrWhenToldThatItIsInsecure) {
  const File tokens("0123456789abcdef\n");
  const std::string error = StartError({.listen = "0.0.0.0:0"});
  for (const char* word : {"--tls-cert", "--tls-key", "--token-file", "--insecure"})
    EXPECT_NE(error.find(word), std::string::npos) << error;
  EXPECT_NE(StartError({.listen = "[::]:0"}), "");
  EXPECT_NE(StartError({.listen = "0.0.0.0:0", .token_file = tokens.path()}), "");
  EXPECT_EQ(StartError({.listen = "0.0.0.0:0", .insecure = true}), "");
  EXPECT_EQ(StartError({.listen = "127.0.0.1:0", .token_file = tokens.path()}), "");
}

TEST(ServerTest, RefusesHalvesOfTls) {
  const File pem("no certificate\n");
  EXPECT_NE(StartError({.listen = "127.0.0.1:0", .tls_cert_file = pem.path()}).find("--tls-key"),
            std::string::npos);
  EXPECT_NE(StartError({.listen = "127.0.0.1:0", .tls_key_file = pem.path()}), "");
  EXPECT_NE(StartError(
                {.listen = "127.0.0.1:0", .tls_cert_file = pem.path(), .tls_key_file = pem.path()}),
            "");
}

TEST(ServerTest, NamesATokenFileThatIsNone) {
  EXPECT_NE(StartError({.listen = "127.0.0.1:0", .token_file = "/no/such/file"}).find("/no/such"),
            std::string::npos);
  const File tokens("secret\n");
  const std::string error = StartError({.listen = "127.0.0.1:0", .token_file = tokens.path()});
  EXPECT_NE(error.find("line 1"), std::string::npos) << error;
  EXPECT_EQ(error.find("secret"), std::string::npos) << error;
}

TEST(ServerTest, ServesUntilItIsToldToStop) {
  store::MemoryStore store;
  const auto first = Server::Start(store, {.listen = "127.0.0.1:0"});
  ASSERT_TRUE(first.ok()) << first.error().message();
  const std::string address = (*first)->url().substr(std::string("http://").size());
  const std::string taken = StartError({.listen = address});
  EXPECT_NE(taken.find("(process " + std::to_string(::getpid()) + ") listens there"),
            std::string::npos)
      << taken;
  (*first)->Stop();
  EXPECT_TRUE(Server::Start(store, {.listen = address}).ok());
}

}  // namespace
}  // namespace vesta::server
