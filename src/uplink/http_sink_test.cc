#include "src/uplink/http_sink.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "src/base/ascii.h"
#include "src/uplink/uplink_fixture.h"
#include "src/wire/gzip.h"
#include "src/wire/otlp_decoder.h"
#include "src/wire/otlp_response.h"
#include "src/wire/zstd.h"

namespace vesta::uplink {
namespace {

struct Asked {
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct Answer {
  int status = 200;
  std::string body = "";
  std::string headers = "";  // lines
};

// Serves one connection after another; each answer ends its connection.
class TestServer {
 public:
  using Answering = std::function<Answer(const Asked& asked)>;

  explicit TestServer(Answering answering) : answering_(std::move(answering)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, plain, size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, plain, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      while (!is_over_) Serve();
    });
  }
  ~TestServer() {
    is_over_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<Asked> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void Serve() {
    const int connection = ::accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    std::string bytes;
    Asked asked;
    if (Read(connection, &bytes, &asked)) {
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(asked);
      }
      const Answer answer = answering_(asked);
      if (answer.status != 0) Write(connection, answer);
    }
    ::close(connection);
  }
  static bool Read(int connection, std::string* bytes, Asked* asked) {
    size_t end = std::string::npos;
    size_t length = 0;
    while (end == std::string::npos || bytes->size() < end + 4 + length) {
      char chunk[4096];
      const ssize_t count = ::recv(connection, chunk, sizeof(chunk), 0);
      if (count <= 0) return false;
      bytes->append(chunk, static_cast<size_t>(count));
      if (end != std::string::npos) continue;
      end = bytes->find("\r\n\r\n");
      if (end == std::string::npos) continue;
      ParseHead(bytes->substr(0, end), asked);
      length = std::stoul("0" + asked->Header("content-length"));
    }
    asked->body = bytes->substr(end + 4, length);
    return true;
  }
  static void ParseHead(const std::string& head, Asked* asked) {
    size_t line = head.find("\r\n");
    const size_t target = head.find(' ') + 1;
    asked->target = head.substr(target, head.find(' ', target) - target);
    while (line != std::string::npos) {
      const size_t begin = line + 2;
      line = head.find("\r\n", begin);
      const std::string text = head.substr(begin, line == std::string::npos ? line : line - begin);
      const size_t colon = text.find(": ");
      if (colon == std::string::npos) continue;
      asked->headers[base::LowerCase(text.substr(0, colon))] = text.substr(colon + 2);
    }
  }
  static void Write(int connection, const Answer& answer) {
    const std::string bytes =
        "HTTP/1.1 " + std::to_string(answer.status) + " X\r\n" + answer.headers +
        "Connection: close\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" +
        answer.body;
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count =
          ::send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<size_t>(count);
    }
  }

  Answering answering_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> is_over_ = false;
  mutable std::mutex mutex_;
  std::vector<Asked> asked_;
  std::thread thread_;
};

std::unique_ptr<HttpSink> OpenSink(const std::string& url, HttpSinkOptions options = {}) {
  options.client.url = url;
  auto sink = HttpSink::Open(options);
  EXPECT_TRUE(sink.ok()) << sink.error().message();
  return *std::move(sink);
}

Delivery DeliverBatch(HttpSink& sink, uint64_t number) {
  Parcel parcel(MakeBatch(number, 100));
  return sink.Deliver(parcel);
}

Answer Error(int status, const std::string& code, const std::string& headers = "") {
  return {status, R"({"error":{"code":")" + code + R"(","message":"what to do"}})", headers};
}

// A server that keeps the batches that it takes; what it unpacks is in `plain`, by the header that
// named the batch before.
class KeepingServer {
 public:
  explicit KeepingServer(uint64_t kept_bytes_max = 1 << 20)
      : kept_bytes_max_(kept_bytes_max),
        server_([this](const Asked& asked) { return Take(asked); }) {}
  std::string url() const { return server_.url(); }
  std::vector<Asked> asked() const { return server_.asked(); }
  // Of the batches that it took, in order.
  std::vector<std::string> plain() const {
    const std::lock_guard lock(mutex_);
    return plain_;
  }
  void Forget() {
    const std::lock_guard lock(mutex_);
    kept_.clear();
  }
  void Announce(uint64_t kept_bytes_max) { kept_bytes_max_ = kept_bytes_max; }

 private:
  Answer Take(const Asked& asked) {
    const std::lock_guard lock(mutex_);
    const std::string name = asked.Header("vesta-dictionary");
    if (!name.empty() && kept_.count(name) == 0) return Error(409, "dictionary_unknown");
    auto plain = wire::Unzstd(asked.body, 1 << 20, name.empty() ? "" : kept_[name]);
    if (!plain.ok()) return {.status = 400};
    if (asked.target == "/v1development/profiles") {
      const auto id = wire::DecodeOtlp(*plain, {})->batch.id;
      kept_[BatchIdText(*id)] = *plain;
    }
    plain_.push_back(*std::move(plain));
    return {.headers = "Vesta-Dictionary: " + std::to_string(kept_bytes_max_) + "\r\n"};
  }

  std::atomic<uint64_t> kept_bytes_max_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> kept_;
  std::vector<std::string> plain_;
  TestServer server_;  // last: it uses all of these
};

// The samples of a message, whatever its tables are.
std::string RowsOf(const std::string& plain) {
  const auto decoded = wire::DecodeOtlp(plain, {});
  std::string text = decoded.ok() ? "" : decoded.error().message();
  if (!decoded.ok()) return text;
  for (const batch::BatchRow& row : decoded->batch.rows) {
    text += std::to_string(row.time_unix_ms) + ":" + std::to_string(row.value);
    for (const profile::LocationId id : decoded->profile->stack(row.stack)) {
      for (const profile::Line& line : decoded->profile->location(id).lines) {
        const profile::StringId name = decoded->profile->function(line.function).name;
        text += " " + std::string(decoded->profile->String(name));
      }
    }
    text += "\n";
  }
  return text;
}

TEST(HttpSink, SendsOtlpWithZstdAgainstTheLastBatch) {
  KeepingServer server;
  const auto sink = OpenSink(server.url() + "/", {.read_token = [] { return std::string("key"); }});
  Parcel first(MakeBatch(1, 100));
  const std::string plain = first.Plain();
  EXPECT_EQ(sink->Deliver(first).verdict, Verdict::kDelivered);
  EXPECT_EQ(DeliverBatch(*sink, 2).verdict, Verdict::kDelivered);
  Parcel symbols(MakeSymbols(3));
  const std::string plain_symbols = symbols.Plain();
  EXPECT_EQ(sink->Deliver(symbols).verdict, Verdict::kDelivered);
  EXPECT_EQ(DeliverBatch(*sink, 4).verdict, Verdict::kDelivered);
  const std::vector<Asked> asked = server.asked();
  ASSERT_EQ(asked.size(), 4u);
  EXPECT_EQ(asked[0].target, "/v1development/profiles");
  EXPECT_EQ(asked[0].Header("content-type"), "application/x-protobuf");
  EXPECT_EQ(asked[0].Header("content-encoding"), "zstd");
  EXPECT_EQ(asked[0].Header("authorization"), "Bearer key");
  EXPECT_EQ(asked[0].Header("vesta-dictionary"), "");
  EXPECT_EQ(server.plain()[0], plain);
  EXPECT_EQ(asked[1].Header("vesta-dictionary"), "agent/boot/1");
  EXPECT_LT(asked[1].body.size() * 4, asked[0].body.size());
  Parcel second(MakeBatch(2, 100));
  EXPECT_EQ(RowsOf(server.plain()[1]), RowsOf(second.Plain()));
  EXPECT_EQ(asked[2].target, "/api/v1/symbols");
  EXPECT_EQ(asked[2].Header("vesta-dictionary"), "");
  EXPECT_EQ(server.plain()[2], plain_symbols);
  EXPECT_EQ(asked[3].Header("vesta-dictionary"), "agent/boot/2");
}

TEST(HttpSink, AServerThatForgotTheLastBatchGetsTheNextOneAgainAtOnceAlone) {
  KeepingServer server;
  const auto sink = OpenSink(server.url());
  EXPECT_EQ(DeliverBatch(*sink, 1).verdict, Verdict::kDelivered);
  server.Forget();
  Parcel second(MakeBatch(2));
  EXPECT_EQ(sink->Deliver(second).verdict, Verdict::kDelivered);
  EXPECT_EQ(DeliverBatch(*sink, 3).verdict, Verdict::kDelivered);
  const std::vector<Asked> asked = server.asked();
  ASSERT_EQ(asked.size(), 4u);
  EXPECT_EQ(asked[1].Header("vesta-dictionary"), "agent/boot/1");
  EXPECT_EQ(asked[2].Header("vesta-dictionary"), "");
  EXPECT_EQ(server.plain()[1], second.Plain()) << "nothing of the batch before";
  EXPECT_EQ(asked[3].Header("vesta-dictionary"), "agent/boot/2");
}

TEST(HttpSink, WhatTheServerDoesNotKeepIsNotReferredTo) {
  // It says that it would keep nothing, something smaller, or what is no number.
  for (const char* announced : {"", "Vesta-Dictionary: 100\r\n", "Vesta-Dictionary: 1 MB\r\n",
                                "Vesta-Dictionary: -1\r\n"}) {
    TestServer server([&](const Asked&) { return Answer{.headers = announced}; });
    const auto sink = OpenSink(server.url());
    for (uint64_t number = 1; number <= 3; ++number) {
      EXPECT_EQ(DeliverBatch(*sink, number).verdict, Verdict::kDelivered);
    }
    for (const Asked& asked : server.asked()) {
      EXPECT_EQ(asked.Header("vesta-dictionary"), "") << announced;
      const auto plain = wire::Unzstd(asked.body, 1 << 20);
      ASSERT_TRUE(plain.ok()) << announced;
      EXPECT_EQ(plain->find("work7"), std::string::npos);
    }
    EXPECT_EQ(server.asked().size(), 3u);
  }
}

TEST(HttpSink, TablesThatGrewTooLargeBeginAnew) {
  const std::string name = "function_with_a_name_" + std::to_string(99 * 7919);
  const auto has_names_of_before = [&](HttpSinkOptions options, uint64_t kept_bytes_max) {
    KeepingServer server(kept_bytes_max);
    const auto sink = OpenSink(server.url(), std::move(options));
    for (const size_t frames : {size_t{3}, size_t{100}, size_t{3}}) {
      Parcel parcel(MakeBatch(server.asked().size() + 1, frames));
      EXPECT_EQ(sink->Deliver(parcel).verdict, Verdict::kDelivered);
    }
    EXPECT_EQ(server.asked()[2].Header("vesta-dictionary"), "agent/boot/2");
    EXPECT_NE(server.plain()[1].find(name), std::string::npos);
    Parcel third(MakeBatch(3, 3));
    EXPECT_EQ(RowsOf(server.plain()[2]), RowsOf(third.Plain()));
    return server.plain()[2].find(name) != std::string::npos;
  };
  EXPECT_TRUE(has_names_of_before({}, 1 << 20));
  EXPECT_FALSE(has_names_of_before({.tables_bytes_max = 1'000}, 1 << 20));
  Parcel large(MakeBatch(2, 100));
  EXPECT_FALSE(has_names_of_before({}, large.Plain().size() + 500))
      << "the server would not keep much more";
}

TEST(HttpSink, WhatCouldNotBeDeliveredComesAgainAgainstTheLastThatWas) {
  std::atomic<int> status = 200;
  TestServer server([&status](const Asked&) {
    return Answer{.status = status, .headers = "Vesta-Dictionary: 1000000\r\n"};
  });
  const auto sink = OpenSink(server.url());
  EXPECT_EQ(DeliverBatch(*sink, 1).verdict, Verdict::kDelivered);
  status = 503;
  EXPECT_EQ(DeliverBatch(*sink, 2).verdict, Verdict::kLater);
  status = 200;
  EXPECT_EQ(DeliverBatch(*sink, 2).verdict, Verdict::kDelivered);
  EXPECT_EQ(server.asked()[2].Header("vesta-dictionary"), "agent/boot/1");
  EXPECT_EQ(server.asked()[2].body, server.asked()[1].body);
}

TEST(HttpSink, AServerThatAlwaysRefusesThemIsLeftAloneWithThemForAWhile) {
  TestServer server([](const Asked& asked) {
    return asked.Header("vesta-dictionary").empty()
               ? Answer{.headers = "Vesta-Dictionary: 1000000\r\n"}
               : Answer{.status = 400};
  });
  const auto sink = OpenSink(server.url());
  for (uint64_t number = 1; number <= 6; ++number) {
    EXPECT_EQ(DeliverBatch(*sink, number).verdict, Verdict::kDelivered);
  }
  EXPECT_EQ(server.asked().size(), 6u + 3);
  for (uint64_t number = 7; number <= 300; ++number) {
    EXPECT_EQ(DeliverBatch(*sink, number % 10).verdict, Verdict::kDelivered);
  }
  EXPECT_EQ(server.asked().size(), 300u + 3 * 3) << "once more after each hundred";
}

TEST(HttpSink, ABatchOfTheSpoolDoesNotBreakTheRowOfFreshOnes) {
  KeepingServer server;
  const auto sink = OpenSink(server.url());
  const auto deliver_spooled = [&](uint64_t number) {
    Parcel made(MakeBatch(number, 100));
    Parcel spooled(true, made.id(), 100, made.Plain());
    EXPECT_EQ(sink->Deliver(spooled).verdict, Verdict::kDelivered);
  };
  deliver_spooled(1);
  deliver_spooled(2);
  EXPECT_EQ(DeliverBatch(*sink, 5).verdict, Verdict::kDelivered);
  deliver_spooled(3);
  deliver_spooled(4);
  EXPECT_EQ(DeliverBatch(*sink, 6).verdict, Verdict::kDelivered);
  std::vector<std::string> named;
  for (const Asked& asked : server.asked()) named.push_back(asked.Header("vesta-dictionary"));
  EXPECT_EQ(named, (std::vector<std::string>{"", "agent/boot/1", "agent/boot/2", "agent/boot/5",
                                             "agent/boot/5", "agent/boot/5"}));
}

TEST(HttpSink, AServerThatKnowsNoZstdGetsGzip) {
  TestServer server([](const Asked& asked) {
    return Answer{.status = asked.Header("content-encoding") == "gzip" ? 200 : 415};
  });
  const auto sink = OpenSink(server.url());
  Parcel parcel(MakeBatch(1));
  const std::string plain = parcel.Plain();
  EXPECT_EQ(sink->Deliver(parcel).verdict, Verdict::kDelivered);
  EXPECT_EQ(DeliverBatch(*sink, 2).verdict, Verdict::kDelivered);
  const std::vector<Asked> asked = server.asked();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(*wire::Gunzip(asked[1].body, 1 << 20), plain);
}

TEST(HttpSink, WhatAServerTellsOfABatchIsCountedAndSaid) {
  const std::string body = wire::EncodeOtlpResponse({.rejected = 4, .message = "bad stacks"});
  TestServer server([&body](const Asked&) {
    return Answer{200, body, "Content-Type: application/x-protobuf\r\n"};
  });
  const auto sink = OpenSink(server.url());
  const Delivery delivery = DeliverBatch(*sink, 10);
  EXPECT_EQ(delivery.verdict, Verdict::kDelivered);
  EXPECT_EQ(delivery.samples_rejected, 4u);
  EXPECT_NE(delivery.message.find("bad stacks"), std::string::npos);
}

TEST(HttpSink, EachStatusHasItsVerdict) {
  std::atomic<int> status = 0;
  TestServer server([&status](const Asked&) {
    return Error(status, "x", status == 429 || status == 503 ? "Retry-After: 7\r\n" : "");
  });
  const auto sink = OpenSink(server.url());
  struct Case {
    int status;
    Verdict verdict;
    uint64_t retry_after_ms = 0;
    bool may_be_the_parcel = false;
  };
  for (const Case& expected :
       {Case{200, Verdict::kDelivered}, Case{202, Verdict::kDelivered},
        Case{400, Verdict::kRefused}, Case{413, Verdict::kRefused}, Case{415, Verdict::kRefused},
        Case{422, Verdict::kRefused}, Case{401, Verdict::kLater}, Case{403, Verdict::kLater},
        Case{404, Verdict::kLater}, Case{409, Verdict::kLater}, Case{429, Verdict::kLater, 7'000},
        Case{503, Verdict::kLater, 7'000}, Case{500, Verdict::kLater, 0, true},
        Case{502, Verdict::kLater}, Case{301, Verdict::kLater}}) {
    status = expected.status;
    const Delivery delivery = DeliverBatch(*sink, 1);
    EXPECT_EQ(delivery.verdict, expected.verdict) << expected.status;
    EXPECT_EQ(delivery.retry_after_ms, expected.retry_after_ms) << expected.status;
    EXPECT_EQ(delivery.may_be_the_parcel, expected.may_be_the_parcel) << expected.status;
    if (expected.verdict == Verdict::kDelivered) {
      EXPECT_EQ(delivery.message, "") << expected.status;
    } else {
      EXPECT_NE(delivery.message.find(server.url()), std::string::npos) << delivery.message;
      EXPECT_NE(delivery.message.find("what to do"), std::string::npos) << delivery.message;
    }
  }
  status = 404;
  Parcel symbols(MakeSymbols(1));
  EXPECT_EQ(sink->Deliver(symbols).verdict, Verdict::kRefused);
}

TEST(HttpSink, ANewTokenNeedsNoRestart) {
  TestServer server([](const Asked& asked) {
    return asked.Header("authorization") == "Bearer new" ? Answer{} : Error(401, "unauthorized");
  });
  std::string token = "old";
  const auto sink = OpenSink(server.url(), {.read_token = [&token] { return token; }});
  const Delivery delivery = DeliverBatch(*sink, 1);
  EXPECT_EQ(delivery.verdict, Verdict::kLater);
  EXPECT_NE(delivery.message.find("--token-file"), std::string::npos);
  EXPECT_EQ(DeliverBatch(*sink, 1).verdict, Verdict::kLater);
  token = "new";
  EXPECT_EQ(DeliverBatch(*sink, 1).verdict, Verdict::kDelivered);
}

TEST(HttpSink, NobodyThereAndNoAnswerAreForLater) {
  std::string url;
  {
    TestServer server([](const Asked&) { return Answer{.status = 0}; });
    url = server.url();
    const auto sink = OpenSink(url);
    EXPECT_EQ(DeliverBatch(*sink, 1).verdict, Verdict::kLater);
  }
  const auto sink = OpenSink(url);
  const Delivery delivery = DeliverBatch(*sink, 1);
  EXPECT_EQ(delivery.verdict, Verdict::kLater);
  EXPECT_NE(delivery.message.find(url), std::string::npos);
}

TEST(HttpSink, ADeliveryThatHangsIsCancelled) {
  std::atomic<bool> is_over = false;
  TestServer server([&is_over](const Asked&) {
    while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Answer{};
  });
  const auto sink = OpenSink(server.url());
  std::thread canceller([&] {
    while (server.asked().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    sink->Cancel();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(DeliverBatch(*sink, 1).verdict, Verdict::kLater);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(DeliverBatch(*sink, 1).verdict, Verdict::kLater);
  canceller.join();
  is_over = true;
}

TEST(HttpSink, AnAddressOrTokenThatCannotBeOneIsSaidAtOnce) {
  EXPECT_FALSE(HttpSink::Open({.client = {.url = "shop"}}).ok());
  HttpSinkOptions options;
  options.client.url = "http://127.0.0.1:1";
  options.read_token = [] {
    return base::Result<std::string>(base::Error(base::ErrorCode::kNotFound, "no such file"));
  };
  EXPECT_FALSE(HttpSink::Open(options).ok());
}

}  // namespace
}  // namespace vesta::uplink
