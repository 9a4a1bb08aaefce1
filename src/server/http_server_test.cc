#include "src/server/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/base/descriptor.h"

namespace vesta::server {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLong{10'000};

// Answers with what it was asked; "/slow" waits until it is cancelled or released, and "/hold" does
// so on the thread that reads and accepts.
class EchoHandler final : public RequestHandler {
 public:
  Admission Admit(const Request& head) override {
    Admission admission;
    const bool is_at_once = head.path == "/now" || head.path == "/hold";
    admission.lane = is_at_once ? Lane::kAtOnce : Lane::kQuestion;
    admission.body_bytes_max = head.method == "POST" ? 10'000'000 : 0;
    admission.client_may_cancel = head.method == "GET";
    if (head.path == "/refused") admission.refusal = ErrorResponse(403, "forbidden", "no");
    ++admissions;
    return admission;
  }
  Response Answer(Request& request, const Admission& admission, BudgetShare& share,
                  const std::atomic<bool>& cancelled) override {
    EXPECT_EQ(share.bytes(), request.body.size());
    static_cast<void>(admission);
    if (request.path == "/slow" || request.path == "/hold") {
      ++waiting;
      WaitFor([&] { return cancelled || is_released; });
    }
    if (cancelled) ++cancellations;
    if (request.path == "/large") return {.body = std::string(20'000'000, 'x')};
    return {.content_type = "text/plain",
            .body = request.method + request.path + ":" + std::to_string(request.body.size())};
  }
  void Count(const Exchange& exchange) override {
    const std::lock_guard lock(mutex_);
    exchanges_.push_back(exchange);
    changed_.notify_all();
  }
  Exchange WaitForExchange(size_t index) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return exchanges_.size() > index; }));
    return exchanges_.size() > index ? exchanges_[index] : Exchange{};
  }
  template <typename Condition>
  static void WaitFor(const Condition& condition) {
    const auto end = Clock::now() + kLong;
    while (!condition() && Clock::now() < end) std::this_thread::sleep_for(milliseconds(2));
  }

  std::atomic<bool> is_released = false;
  std::atomic<int> cancellations = 0;
  std::atomic<int> admissions = 0;
  std::atomic<int> waiting = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Exchange> exchanges_;
};

class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ =
        ::connect(socket_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  bool is_connected() const { return is_connected_; }
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Until the text has come, or the server has closed the connection.
  std::string ReceiveUntil(std::string_view text) {
    std::string got;
    while (got.find(text) == std::string::npos && Receive(got)) {
    }
    return got;
  }
  std::string ReceiveAll() {
    std::string got;
    while (Receive(got)) {
    }
    return got;
  }
  bool HasBytes(milliseconds wait_max) const {
    pollfd wait{socket_.fd(), POLLIN, 0};
    return ::poll(&wait, 1, static_cast<int>(wait_max.count())) == 1;
  }
  void EndSending() { ::shutdown(socket_.fd(), SHUT_WR); }
  void Leave() { socket_ = base::Descriptor(); }

 private:
  bool Receive(std::string& got) {
    pollfd wait{socket_.fd(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(kLong.count())) != 1) return false;
    std::string piece(1 << 16, '\0');
    const ssize_t count = ::recv(socket_.fd(), piece.data(), piece.size(), 0);
    if (count <= 0) return false;
    got.append(piece, 0, static_cast<size_t>(count));
    return true;
  }

  base::Descriptor socket_;
  bool is_connected_ = false;
};

std::string Get(const std::string& path, const std::string& more = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
}

std::string PostOf(size_t size, const std::string& begin) {
  return "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
         begin;
}

class HttpServerTest : public testing::Test {
 protected:
  void Start(HttpServerOptions options = {}) {
    options.address = {"127.0.0.1", 0};
    auto server = HttpServer::Start(options, handler_, budget_);
    ASSERT_TRUE(server.ok()) << server.error().message();
    server_ = std::move(server).value();
  }
  uint16_t port() const { return server_->port(); }

  EchoHandler handler_;
  ByteBudget budget_{5'000'000};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersAndKeepsTheConnection) {
  Start();
  Client client(port());
  for (const char* path : {"/now", "/later"}) {
    ASSERT_TRUE(client.Send(Get(path)));
    const std::string got = client.ReceiveUntil(":0");
    EXPECT_TRUE(got.starts_with("HTTP/1.1 200 OK\r\n")) << got;
    EXPECT_NE(got.find("GET" + std::string(path) + ":0"), std::string::npos) << got;
  }
  EXPECT_EQ(handler_.WaitForExchange(1).status, 200);
}

TEST_F(HttpServerTest, AnswersRequestsThatComeTogetherInOrder) {
  Start();
  Client client(port());
  ASSERT_TRUE(client.Send(Get("/a") + Get("/now") + Get("/b", "Connection: close\r\n")));
  const std::string got = client.ReceiveAll();
  const size_t a = got.find("GET/a:0");
  const size_t now = got.find("GET/now:0");
  const size_t b = got.find("GET/b:0");
  ASSERT_NE(b, std::string::npos) << got;
  EXPECT_LT(a, now);
  EXPECT_LT(now, b);
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  Start();
  Client client(port());
  ASSERT_TRUE(client.Send("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  const std::string got = client.ReceiveAll();
  EXPECT_NE(got.find("Content-Length: 8\r\n"), std::string::npos) << got;
  EXPECT_TRUE(got.ends_with("\r\n\r\n")) << got;
}

TEST_F(HttpServerTest, TakesBodiesOfKnownAndUnknownLength) {
  Start();
  Client client(port());
  ASSERT_TRUE(client.Send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" +
                          std::string(100'000, 'x')));
  EXPECT_NE(client.ReceiveUntil("POST/a:100000").find("200 OK"), std::string::npos);
  ASSERT_TRUE(
      client.Send("POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n"));
  EXPECT_NE(client.ReceiveUntil("POST/b:8").find("200 OK"), std::string::npos);
  EXPECT_EQ(handler_.WaitForExchange(0).bytes_in, 100'000u);
  EXPECT_EQ(budget_.used_bytes(), 0u);
}

TEST_F(HttpServerTest, RefusesATooLargeBodyBeforeItComes) {
  Start();
  Client client(port());
  ASSERT_TRUE(client.Send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10000001\r\n\r\n"));
  EXPECT_NE(client.ReceiveUntil("}}\n").find(" 413 "), std::string::npos);
  Client other(port());
  ASSERT_TRUE(other.Send("GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"));
  EXPECT_NE(other.ReceiveUntil("}}\n").find(" 413 "), std::string::npos);
}

TEST_F(HttpServerTest, RefusesABodyThatHasNoRoomBesideTheOthers) {
  Start();
  Client client(port());
  ASSERT_TRUE(client.Send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "f4240\r\n" + std::string(1'000'000, 'x') + "\r\n";
  for (int i = 0; i < 11; ++i) ASSERT_TRUE(client.Send(chunk));
  ASSERT_TRUE(client.Send("0\r\n\r\n"));
  // The budget of this test is less than the limit of one body.
  EXPECT_NE(client.ReceiveUntil("}}\n").find(" 503 "), std::string::npos);
  EXPECT_EQ(handler_.WaitForExchange(0).bytes_in, 11'000'000u);
  EXPECT_EQ(budget_.used_bytes(), 0u);
}

TEST_F(HttpServerTest, RefusesWhatIsNoHttp) {
  Start();
  for (const std::string& text :
       {std::string("\x16\x03\x01\x02\r\n\r\n"), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\nHost: x\r\n\r\n"),
        "GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n",
        std::string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n\r\n")}) {
    Client client(port());
    static_cast<void>(client.Send(text));  // it may be closed before the end
    const std::string got = client.ReceiveAll();
    EXPECT_EQ(got.find(" 200 "), std::string::npos) << text.substr(0, 20);
  }
  Client client(port());
  ASSERT_TRUE(client.Send(Get("/%zz", "Connection: close\r\n")));
  EXPECT_NE(client.ReceiveAll().find(" 400 "), std::string::npos);
}

TEST_F(HttpServerTest, RefusesABodyOfDoubtfulLengthAndWhatFollows) {
  Start();
  for (const std::string& headers :
       {std::string("Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        std::string("Content-Length: 3\r\nContent-Length: 40\r\n\r\nabc"),
        std::string("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        std::string("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
        std::string("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n"),
        std::string("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        std::string("Transfer-Encoding: identity\r\n\r\n")}) {
    Client client(port());
    ASSERT_TRUE(client.Send("POST /a HTTP/1.1\r\nHost: x\r\n" + headers + Get("/now")));
    const std::string got = client.ReceiveAll();
    EXPECT_EQ(got.find("HTTP/1.1 400 "), 0u) << headers << got;
    EXPECT_EQ(got.find(" 200 "), std::string::npos) << headers << got;
  }
  EXPECT_EQ(handler_.admissions, 0);
}

TEST_F(HttpServerTest, RefusesByWordOfTheHandlerBeforeTheBody) {
  Start();
  Client client(port());
  ASSERT_TRUE(client.Send("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n"));
  EXPECT_NE(client.ReceiveUntil("}}\n").find(" 403 "), std::string::npos);
}

TEST_F(HttpServerTest, CancelsWorkWhoseClientHasLeft) {
  Start();
  Client client(port());
  ASSERT_TRUE(client.Send(Get("/slow")));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(handler_.cancellations, 0);
  client.Leave();
  EXPECT_TRUE(handler_.WaitForExchange(0).client_left);
  EXPECT_EQ(handler_.cancellations, 1);
}

TEST_F(HttpServerTest, ClosesAClientThatIsTooSlow) {
  Start({.address = {}, .idle_timeout_ms = 300});
  Client head(port());
  ASSERT_TRUE(head.Send("GET / HTTP/1.1\r\nHo"));
  EXPECT_EQ(head.ReceiveAll(), "");
  Client body(port());
  ASSERT_TRUE(body.Send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345"));
  body.ReceiveAll();
  EXPECT_EQ(handler_.WaitForExchange(0).status, 0);
  EXPECT_EQ(handler_.WaitForExchange(1).bytes_in, 5u);
  EXPECT_EQ(server_->status().connections_too_slow, 2u);
  EXPECT_EQ(budget_.used_bytes(), 0u);
}

TEST_F(HttpServerTest, ADripOfBytesDoesNotKeepAConnection) {
  Start({.address = {}, .idle_timeout_ms = 300});
  Client client(port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\n"));
  const auto begin = Clock::now();
  while (client.Send("X: y\r\n") && Clock::now() < begin + kLong)
    std::this_thread::sleep_for(milliseconds(20));
  EXPECT_LT(Clock::now() - begin, milliseconds(3000));
}

TEST_F(HttpServerTest, TheTimeOfABodyGrowsWithWhatCameOfIt) {
  Start({.address = {}, .idle_timeout_ms = 500});
  Client promises(port());
  ASSERT_TRUE(promises.Send(PostOf(9'000'000, "x")));
  EXPECT_EQ(handler_.WaitForExchange(0).bytes_in, 1u);
  EXPECT_EQ(server_->status().connections_too_slow, 1u);
  // Two megabytes buy half a minute.
  Client sends(port());
  ASSERT_TRUE(sends.Send(PostOf(2'000'001, std::string(2'000'000, 'x'))));
  EXPECT_FALSE(sends.HasBytes(milliseconds(1500)));
  ASSERT_TRUE(sends.Send("x"));
  EXPECT_NE(sends.ReceiveUntil("POST/a:2000001").find(" 200 "), std::string::npos);
}

TEST_F(HttpServerTest, HalfOfARequestKeepsNobodyOut) {
  Start({.address = {}, .connections_max = 8});
  for (const std::string& half : {PostOf(9'000'000, "x"), std::string("GET /a HTTP/1.1\r\nHo"),
                                  std::string(), Get("/now") + PostOf(9'000'000, "x")}) {
    std::vector<Client> clients;
    for (int i = 0; i < 40; ++i) {
      clients.emplace_back(port());
      static_cast<void>(clients.back().Send(half));  // it may be closed already
    }
    Client asks(port());
    ASSERT_TRUE(asks.Send(Get("/now")));
    EXPECT_NE(asks.ReceiveUntil(":0"), "") << half;
    Client pushes(port());
    ASSERT_TRUE(pushes.Send(PostOf(1000, std::string(1000, 'x'))));
    EXPECT_NE(pushes.ReceiveUntil(":1000"), "") << half;
    EXPECT_GE(server_->status().connections_too_slow, 32u);
  }
}

TEST_F(HttpServerTest, AConnectionAtRestMakesRoom) {
  Start({.address = {}, .connections_max = 4});
  std::vector<Client> clients;
  for (int i = 0; i < 12; ++i) {
    clients.emplace_back(port());
    ASSERT_TRUE(clients.back().Send(Get("/now")));
    ASSERT_NE(clients.back().ReceiveUntil(":0"), "") << i;
  }
}

TEST_F(HttpServerTest, SeesThatAClientLeftBeforeItWasAccepted) {
  Start();
  Client holds(port());
  ASSERT_TRUE(holds.Send(Get("/hold", "Connection: close\r\n")));
  EchoHandler::WaitFor([&] { return handler_.waiting == 1; });
  for (const std::string& half : {PostOf(10, "x"), PostOf(9'000'000, "x"), PostOf(10, ""),
                                  std::string("GET / HT"), std::string()}) {
    Client leaves(port());
    ASSERT_TRUE(leaves.Send(half));
  }
  handler_.is_released = true;
  EXPECT_NE(holds.ReceiveAll(), "");
  EchoHandler::WaitFor([&] { return handler_.admissions == 4; });
  EchoHandler::WaitFor([&] { return server_->status().connections == 0; });
  EXPECT_EQ(server_->status().connections, 0u);
}

TEST_F(HttpServerTest, AnswersAClientThatEndedSendingBeforeItWasAccepted) {
  Start();
  Client holds(port());
  ASSERT_TRUE(holds.Send(Get("/hold", "Connection: close\r\n")));
  EchoHandler::WaitFor([&] { return handler_.waiting == 1; });
  Client pushes(port());
  ASSERT_TRUE(pushes.Send(PostOf(100'000, std::string(100'000, 'x'))));
  pushes.EndSending();
  handler_.is_released = true;
  EXPECT_NE(pushes.ReceiveUntil(":100000").find(" 200 "), std::string::npos);
}

TEST_F(HttpServerTest, LimitsConnections) {
  Start({.address = {}, .connections_max = 4});
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back(port());
    ASSERT_TRUE(clients.back().Send(Get("/slow")));
    EchoHandler::WaitFor([&] { return handler_.waiting == i + 1; });
  }
  // All are worked on: one more waits until another leaves.
  Client fifth(port());
  ASSERT_TRUE(fifth.Send(Get("/now")));
  EXPECT_FALSE(fifth.HasBytes(milliseconds(100)));
  EXPECT_EQ(server_->status().connections, 4u);
  clients.pop_back();
  EXPECT_NE(fifth.ReceiveUntil(":0"), "");
}

TEST_F(HttpServerTest, RefusesWhatCannotWaitAnyMore) {
  Start({.address = {}, .lane_threads = {1, 1, 1}, .lane_queued_max = 1});
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(port());
    ASSERT_TRUE(clients.back().Send(Get("/slow")));
    EchoHandler::WaitFor([&] { return i != 1 || server_->status().queued[1] == 1; });
    if (i == 0) std::this_thread::sleep_for(milliseconds(50));  // it has the thread
  }
  const std::string got = clients[2].ReceiveUntil("}}\n");
  EXPECT_NE(got.find(" 503 "), std::string::npos) << got;
  EXPECT_NE(got.find("Retry-After: 1\r\n"), std::string::npos) << got;
  handler_.is_released = true;
  EXPECT_NE(clients[1].ReceiveUntil(":0").find(" 200 "), std::string::npos);
}

TEST_F(HttpServerTest, ManyClientsAtOnce) {
  Start();
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 25; ++j) {
        Client client(port());
        if (client.Send(Get("/a") + Get("/b", "Connection: close\r\n")) &&
            client.ReceiveAll().find("GET/b:0") != std::string::npos) {
          ++answered;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 200);
}

TEST_F(HttpServerTest, StopAnswersWhatIsInFlight) {
  Start();
  Client client(port());
  ASSERT_TRUE(client.Send(Get("/slow")));
  std::this_thread::sleep_for(milliseconds(50));
  std::thread stop([this] { server_->Stop(); });
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(Client(port()).is_connected());
  handler_.is_released = true;
  const std::string got = client.ReceiveAll();
  EXPECT_NE(got.find("GET/slow:0"), std::string::npos) << got;
  EXPECT_NE(got.find("Connection: close"), std::string::npos) << got;
  stop.join();
  EXPECT_EQ(handler_.cancellations, 0);
}

TEST_F(HttpServerTest, StopDoesNotWaitForHalfOfARequest) {
  Start();
  Client whole(port());
  ASSERT_TRUE(whole.Send(Get("/slow")));
  Client half(port());
  ASSERT_TRUE(half.Send(PostOf(9'000'000, std::string(1'000'000, 'x'))));
  EchoHandler::WaitFor([&] { return handler_.admissions == 2; });
  std::thread stop([this] { server_->Stop(); });
  EXPECT_EQ(handler_.WaitForExchange(0).status, 0);
  handler_.is_released = true;
  EXPECT_NE(whole.ReceiveAll().find("GET/slow:0"), std::string::npos);
  stop.join();
  EXPECT_EQ(handler_.cancellations, 0);
}

TEST_F(HttpServerTest, StopCancelsWhatTakesTooLong) {
  Start({.address = {}, .drain_timeout_ms = 100});
  Client client(port());
  ASSERT_TRUE(client.Send(Get("/slow")));
  std::this_thread::sleep_for(milliseconds(50));
  server_->Stop();
  EXPECT_EQ(handler_.cancellations, 1);
}

TEST_F(HttpServerTest, AReaderThatStopsReadingIsLeft) {
  Start({.address = {}, .idle_timeout_ms = 200});
  Client client(port());
  ASSERT_TRUE(client.Send(Get("/large")));
  // 20 MB would be given 305 s; the connection is closed when the client goes.
  ASSERT_NE(client.ReceiveUntil("xxxx"), "");
  client.Leave();
  EXPECT_TRUE(handler_.WaitForExchange(0).client_left);
}

TEST_F(HttpServerTest, SaysThatAnAddressIsTaken) {
  Start();
  ByteBudget budget(1);
  const auto second = HttpServer::Start({.address = {"127.0.0.1", port()}}, handler_, budget);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), base::ErrorCode::kUnavailable);
}

TEST_F(HttpServerTest, SaysThatACertificateIsNone) {
  ByteBudget budget(1);
  const auto server = HttpServer::Start(
      {.address = {"127.0.0.1", 0}, .tls_certificate = "x", .tls_key = "y"}, handler_, budget);
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().code(), base::ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace vesta::server
