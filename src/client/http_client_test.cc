#include "src/client/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace vesta::client {
namespace {

using base::ErrorCode;

// A server that answers with fixed bytes, connection by connection, and keeps what it is asked.
class CannedServer {
 public:
  // On one connection; "" = none, until the client leaves.
  using Answers = std::vector<std::string>;
  static constexpr char kHangUp[] = "hangs up";

  explicit CannedServer(std::string answer) : CannedServer({Answers{std::move(answer)}}) {}
  explicit CannedServer(std::vector<Answers> connections) : connections_(std::move(connections)) {
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
    thread_ = std::thread([this] {
      for (const Answers& answers : connections_) Serve(answers);
    });
  }
  ~CannedServer() {
    Join();
    ::close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // What was asked, once all is over.
  const std::vector<std::string>& requests() {
    Join();
    return requests_;
  }
  const std::string& asked() { return requests().at(0); }
  void WaitForRequest() {
    while (!has_request_) std::this_thread::yield();
  }

 private:
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  void Serve(const Answers& answers) {
    const int connection = ::accept(listener_, nullptr, nullptr);
    for (const std::string& answer : answers) {
      requests_.push_back(ReadRequest(connection));
      has_request_ = true;
      if (answer == kHangUp) break;
      for (size_t sent = 0; sent < answer.size();) {
        const ssize_t count =
            ::send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += static_cast<size_t>(count);
      }
      char byte = 0;
      if (answer.empty()) static_cast<void>(::recv(connection, &byte, 1, 0));
    }
    ::close(connection);
  }
  static std::string ReadRequest(int connection) {
    std::string asked;
    char bytes[4096];
    while (!IsWholeRequest(asked)) {
      const ssize_t count = ::recv(connection, bytes, sizeof(bytes), 0);
      if (count <= 0) break;
      asked.append(bytes, static_cast<size_t>(count));
    }
    return asked;
  }
  static bool IsWholeRequest(const std::string& asked) {
    const size_t end = asked.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const size_t length = asked.find("Content-Length: ");
    return length == std::string::npos ||
           asked.size() >= end + 4 + std::stoul(asked.substr(length + 16));
  }

  const std::vector<Answers> connections_;
  std::vector<std::string> requests_;
  std::atomic<bool> has_request_{false};
  int listener_ = -1;
  uint16_t port_ = 0;
  std::thread thread_;
};

constexpr char kEmptyAnswer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

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
  EXPECT_EQ(response->retry_after_s, 7u);
  EXPECT_TRUE(server.asked().starts_with("GET /api/v1/x?query=1 HTTP/1.1\r\n")) << server.asked();
  EXPECT_NE(server.asked().find("\r\nAuthorization: Bearer secret\r\n"), std::string::npos);
}

TEST(HttpClient, ABodyIsSentAsItIs) {
  CannedServer server(kEmptyAnswer);
  const std::string body("a\0b\n", 4);
  const auto response =
      Send({.url = server.url()},
           {.target = "/p", .headers = {{"Vesta-Batch", "a/b/1"}}, .body = {{body}}});
  ASSERT_TRUE(response.ok()) << response.error().message();
  EXPECT_TRUE(server.asked().starts_with("POST /p HTTP/1.1\r\n"));
  EXPECT_TRUE(server.asked().ends_with("\r\n\r\n" + body));
  EXPECT_NE(server.asked().find("\r\nVesta-Batch: a/b/1\r\n"), std::string::npos);
  EXPECT_EQ(server.asked().find("Authorization"), std::string::npos);
}

TEST(HttpClient, PiecesOfABodyAreSentAsOne) {
  CannedServer server(kEmptyAnswer);
  const std::string large(300'000, 'x');  // more than libcurl asks for at once
  const auto response =
      Send({.url = server.url()}, {.target = "/p", .body = {{"head ", "", large, "", " tail"}}});
  ASSERT_TRUE(response.ok()) << response.error().message();
  EXPECT_TRUE(server.asked().ends_with("\r\n\r\nhead " + large + " tail"));
  EXPECT_NE(server.asked().find("\r\nContent-Length: 300010\r\n"), std::string::npos);
}

TEST(HttpClient, AnEmptyBodyIsAPostAsWell) {
  CannedServer server(kEmptyAnswer);
  ASSERT_TRUE(Send({.url = server.url()}, {.target = "/p", .body = {{}}}).ok());
  EXPECT_TRUE(server.asked().starts_with("POST /p HTTP/1.1\r\n"));
  EXPECT_NE(server.asked().find("\r\nContent-Length: 0\r\n"), std::string::npos);
}

TEST(HttpClient, TheConnectionIsKept) {
  CannedServer server({{kEmptyAnswer, kEmptyAnswer, kEmptyAnswer}});  // accepts once
  auto client = HttpClient::Open({.url = server.url(), .timeout_ms = 10'000});
  ASSERT_TRUE(client.ok());
  for (const char* target : {"/a", "/b", "/c"}) {
    const auto response = (*client)->Send({.target = target, .body = {{"x"}}});
    ASSERT_TRUE(response.ok()) << target << ": " << response.error().message();
  }
  EXPECT_EQ(server.requests().size(), 3u);
}

// Also when that shows only once the request is on its way: then the body begins anew.
TEST(HttpClient, AConnectionThatTheServerClosedIsMadeAnew) {
  CannedServer server({{kEmptyAnswer, CannedServer::kHangUp}, {kEmptyAnswer}});
  auto client = HttpClient::Open({.url = server.url(), .timeout_ms = 10'000});
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE((*client)->Send({.target = "/a", .body = {{"first"}}}).ok());
  const auto response = (*client)->Send({.target = "/b", .body = {{"sec", "ond"}}});
  ASSERT_TRUE(response.ok()) << response.error().message();
  ASSERT_EQ(server.requests().size(), 3u);
  EXPECT_TRUE(server.requests()[2].ends_with("\r\n\r\nsecond"));
}

TEST(HttpClient, ASinkTakesWhatIsAskedForAndNothingElse) {
  std::string taken;
  const HttpRequest request{.target = "/f", .sink = [&](std::string_view bytes) {
                              taken += bytes;
                              return base::Result<void>();
                            }};
  CannedServer good("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfile");
  auto response = Send({.url = good.url()}, request);
  ASSERT_TRUE(response.ok()) << response.error().message();
  EXPECT_EQ(taken, "file");
  EXPECT_EQ(response->body, "");

  taken.clear();
  CannedServer missing("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno");
  response = Send({.url = missing.url()}, request);
  ASSERT_TRUE(response.ok()) << response.error().message();
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "no");
  EXPECT_EQ(taken, "");
}

TEST(HttpClient, WhatTheSinkSaysEndsTheExchange) {
  CannedServer server("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfile");
  const auto response = Send({.url = server.url()}, {.target = "/f", .sink = [](std::string_view) {
                                                       return base::Result<void>(base::Error(
                                                           ErrorCode::kExhausted, "full"));
                                                     }});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::kExhausted);
  EXPECT_EQ(response.error().message(), "full");
}

TEST(HttpClient, CancelEndsWhatRunsAndWhatComes) {
  CannedServer server("");
  auto client = HttpClient::Open({.url = server.url()});
  ASSERT_TRUE(client.ok());
  std::thread canceller([&] {
    server.WaitForRequest();
    (*client)->Cancel();
  });
  const auto before = std::chrono::steady_clock::now();
  const auto response = (*client)->Send({.target = "/"});
  canceller.join();
  const auto again = (*client)->Send({.target = "/"});
  // Less than libcurl's own look-around of a second, let alone the timeout.
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(900));
  for (const auto* one : {&response, &again}) {
    ASSERT_FALSE(one->ok());
    EXPECT_EQ(one->error().code(), ErrorCode::kUnavailable);
    EXPECT_EQ(one->error().message(), "talking to " + server.url() + " was cancelled");
  }
  client->reset();  // leaves the server
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

TEST(HttpClient, ARedirectIsFollowedWhereThatIsWanted) {
  CannedServer there("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere");
  const std::string moved = "HTTP/1.1 302 Found\r\nX-Old: 1\r\nContent-Length: 4\r\nLocation: ";
  CannedServer here(moved + there.url() + "/\r\n\r\ngone");
  const auto response = Send({.url = here.url(), .redirects_max = 1}, {.target = "/"});
  ASSERT_TRUE(response.ok()) << response.error().message();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "there");
  EXPECT_EQ(response->Header("x-old"), "");

  CannedServer file(moved + "file:///etc/passwd\r\n\r\n");
  EXPECT_FALSE(Send({.url = file.url(), .redirects_max = 1}, {.target = "/"}).ok());
}

TEST(HttpClient, NobodyListensIsToldFromAllElse) {
  // A port that was free a moment ago.
  std::string url;
  {
    CannedServer server(kEmptyAnswer);
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
  for (const auto& [answer, said] :
       {std::pair{"SSH-2.0-OpenSSH_9.2\r\n", " does not speak HTTP"},
        std::pair{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
                  " ended the connection before its answer was whole"}}) {
    CannedServer server(answer);
    const auto response = Send({.url = server.url()}, {.target = "/"});
    ASSERT_FALSE(response.ok()) << answer;
    EXPECT_EQ(response.error().code(), ErrorCode::kUnavailable);
    EXPECT_TRUE(response.error().message().starts_with(server.url() + said))
        << response.error().message();
  }
}

TEST(HttpClient, WaitsNoLongerThanItsTime) {
  CannedServer server("");
  const auto response = Send({.url = server.url(), .timeout_ms = 100}, {.target = "/"});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(response.error().message(), server.url() + " did not answer within 100 ms");
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
