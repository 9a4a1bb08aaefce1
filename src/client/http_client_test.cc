#include "src/client/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace vesta::client {
namespace {

using base::ErrorCode;

// A server of one connection: keeps what it is asked and answers with fixed bytes.
class CannedServer {
 public:
  explicit CannedServer(std::string answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, plain, size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, plain, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~CannedServer() {
    Join();
    ::close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // What was asked, once the exchange is over.
  const std::string& asked() {
    Join();
    return asked_;
  }

 private:
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  void Serve() {
    const int connection = ::accept(listener_, nullptr, nullptr);
    char bytes[4096];
    while (!HasWholeRequest()) {
      const ssize_t count = ::recv(connection, bytes, sizeof(bytes), 0);
      if (count <= 0) break;
      asked_.append(bytes, static_cast<size_t>(count));
    }
    for (size_t sent = 0; sent < answer_.size();) {
      const ssize_t count =
          ::send(connection, answer_.data() + sent, answer_.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<size_t>(count);
    }
    if (answer_.empty()) {  // never answers: waits until the client leaves
      static_cast<void>(::recv(connection, bytes, sizeof(bytes), 0));
    }
    ::close(connection);
  }
  bool HasWholeRequest() const {
    const size_t end = asked_.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const size_t length = asked_.find("Content-Length: ");
    return length == std::string::npos ||
           asked_.size() >= end + 4 + std::stoul(asked_.substr(length + 16));
  }

  std::string answer_;
  std::string asked_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::thread thread_;
};

base::Result<HttpResponse> Send(HttpClientOptions options, const HttpRequest& request) {
  auto client = HttpClient::Open(options);
  if (!client.ok()) return client.error();
  return (*client)->Send(request);
}

TEST(HttpClient, AsksWithTheTokenAndReadsAnAnswerOfAnyStatus) {
  CannedServer server(
      "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nhello");
  const auto response =
      Send({.url = server.url() + "/", .token = "secret"}, {.target = "/api/v1/x?query=1"});
  ASSERT_TRUE(response.ok()) << response.error().message();
  EXPECT_EQ(response->status, 429);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->Header("retry-after"), "7");
  EXPECT_EQ(response->Header("retry"), "");
  EXPECT_TRUE(server.asked().starts_with("GET /api/v1/x?query=1 HTTP/1.1\r\n")) << server.asked();
  EXPECT_NE(server.asked().find("\r\nAuthorization: Bearer secret\r\n"), std::string::npos);
}

TEST(HttpClient, ABodyIsSentAsItIs) {
  CannedServer server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  const std::string body("a\0b\n", 4);
  const auto response =
      Send({.url = server.url()},
           {.target = "/p", .headers = {{"Vesta-Batch", "a/b/1"}}, .body = &body});
  ASSERT_TRUE(response.ok()) << response.error().message();
  EXPECT_TRUE(server.asked().starts_with("POST /p HTTP/1.1\r\n"));
  EXPECT_TRUE(server.asked().ends_with("\r\n\r\n" + body));
  EXPECT_NE(server.asked().find("\r\nVesta-Batch: a/b/1\r\n"), std::string::npos);
  EXPECT_EQ(server.asked().find("Authorization"), std::string::npos);
}

TEST(HttpClient, AHeaderCannotSmuggleAnother) {
  const auto response = Send({.url = "http://127.0.0.1:1"},
                             {.target = "/p", .headers = {{"Vesta-Labels", "a=b\r\nX: y"}}});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::kInvalidInput);
}

TEST(HttpClient, ARedirectIsAnAnswer) {
  CannedServer server(
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  const auto response = Send({.url = server.url(), .token = "secret"}, {.target = "/"});
  ASSERT_TRUE(response.ok()) << response.error().message();
  EXPECT_EQ(response->status, 302);
}

TEST(HttpClient, NobodyListensIsToldFromAllElse) {
  // A port that was free a moment ago.
  std::string url;
  {
    CannedServer server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    url = server.url();
    ASSERT_TRUE(Send({.url = url}, {.target = "/"}).ok());
  }
  const auto response = Send({.url = url}, {.target = "/"});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(response.error().message(), "nobody listens at " + url);
}

TEST(HttpClient, AnAnswerBeyondTheLimitIsRefused) {
  for (const char* head : {"Content-Length: 100\r\n", ""}) {
    CannedServer server("HTTP/1.1 200 OK\r\n" + std::string(head) + "\r\n" + std::string(100, 'x'));
    const auto response = Send({.url = server.url(), .answer_bytes_max = 99}, {.target = "/"});
    ASSERT_FALSE(response.ok());
    EXPECT_EQ(response.error().code(), ErrorCode::kExhausted) << response.error().message();
  }
}

TEST(HttpClient, WhatIsNoHttpAndWhatEndsEarlyIsUnavailable) {
  for (const char* answer :
       {"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"}) {
    CannedServer server(answer);
    const auto response = Send({.url = server.url()}, {.target = "/"});
    ASSERT_FALSE(response.ok()) << answer;
    EXPECT_EQ(response.error().code(), ErrorCode::kUnavailable) << response.error().message();
    EXPECT_NE(response.error().message().find(server.url()), std::string::npos);
  }
}

TEST(HttpClient, WaitsNoLongerThanItsTime) {
  CannedServer server("");
  const auto response = Send({.url = server.url(), .timeout_ms = 100}, {.target = "/"});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(response.error().message().find("did not answer"), std::string::npos);
}

TEST(HttpClient, RefusesWhatIsNoAddress) {
  for (const char* url : {"", "127.0.0.1:7171", "ftp://x", "http://", "http:///x", "http://a b",
                          "http://u@h", "http://h?x", "file:///etc/passwd"}) {
    const auto client = HttpClient::Open({.url = url});
    ASSERT_FALSE(client.ok()) << url;
    EXPECT_EQ(client.error().code(), ErrorCode::kInvalidInput);
  }
  EXPECT_FALSE(HttpClient::Open({.url = "http://h", .token = "a\nb"}).ok());
}

TEST(EscapeQuery, KeepsOnlyWhatNeedsNoEscape) {
  EXPECT_EQ(EscapeQuery("cpu{a=\"b\"} \xff-._~Z9"), "cpu%7Ba%3D%22b%22%7D%20%FF-._~Z9");
  EXPECT_EQ(EscapeQuery("a&b=c+d#%"), "a%26b%3Dc%2Bd%23%25");
}

}  // namespace
}  // namespace vesta::client
