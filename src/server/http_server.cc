#include "src/server/http_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#include "src/base/ascii.h"
#include "src/base/descriptor.h"
#include "src/base/shared_library.h"
#include "src/server/connection_watch.h"
#include "src/server/port_owner.h"
#include "src/server/work_lane.h"

namespace vesta::server {
namespace {

using base::Descriptor;
using base::Error;
using base::ErrorCode;
using base::Result;
using Clock = ConnectionWatch::Clock;

constexpr size_t kConnectionMemoryBytes = 48 << 10;  // a request's head must fit
constexpr uint64_t kBytesPerSecondMin = 64 << 10;
// A body that is not wanted is read on for so long, since a client that is still sending does not
// see an answer.
constexpr uint64_t kUnwantedBytesMax = 64 << 20;
constexpr int kBacklog = 512;
// How long a server that stops waits for the rest of requests.
constexpr std::chrono::milliseconds kRestTimeMax{1000};

// The functions of libmicrohttpd that are used; its header tells their types.
struct Library {
  static Result<Library> Load();

  decltype(&::MHD_start_daemon) start_daemon = nullptr;
  decltype(&::MHD_stop_daemon) stop_daemon = nullptr;
  decltype(&::MHD_quiesce_daemon) quiesce_daemon = nullptr;
  decltype(&::MHD_suspend_connection) suspend_connection = nullptr;
  decltype(&::MHD_resume_connection) resume_connection = nullptr;
  decltype(&::MHD_get_connection_values_n) get_connection_values = nullptr;
  decltype(&::MHD_get_connection_info) get_connection_info = nullptr;
  decltype(&::MHD_create_response_from_buffer_with_free_callback_cls) create_response = nullptr;
  decltype(&::MHD_add_response_header) add_response_header = nullptr;
  decltype(&::MHD_queue_response) queue_response = nullptr;
  decltype(&::MHD_destroy_response) destroy_response = nullptr;
};

Result<Library> Library::Load() {
  ASSIGN_OR_RETURN(const auto library,
                   base::SharedLibrary::Open({"libmicrohttpd.so.12"},
                                             "the server needs libmicrohttpd (package "
                                             "libmicrohttpd12)"));
  Library out;
  if (!library.Find("MHD_start_daemon", out.start_daemon) ||
      !library.Find("MHD_stop_daemon", out.stop_daemon) ||
      !library.Find("MHD_quiesce_daemon", out.quiesce_daemon) ||
      !library.Find("MHD_suspend_connection", out.suspend_connection) ||
      !library.Find("MHD_resume_connection", out.resume_connection) ||
      !library.Find("MHD_get_connection_values_n", out.get_connection_values) ||
      !library.Find("MHD_get_connection_info", out.get_connection_info) ||
      !library.Find("MHD_create_response_from_buffer_with_free_callback_cls",
                    out.create_response) ||
      !library.Find("MHD_add_response_header", out.add_response_header) ||
      !library.Find("MHD_queue_response", out.queue_response) ||
      !library.Find("MHD_destroy_response", out.destroy_response)) {
    return Error(ErrorCode::kUnsupported, "libmicrohttpd is older than 0.9.74");
  }
  return out;
}

// A socket that listens. Errors: Unavailable when the address is taken, as bind(2) otherwise.
Result<Descriptor> Listen(const ListenAddress& address) {
  const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
  sockaddr_in four{};
  sockaddr_in6 six{};
  const bool is_six = host.find(':') != std::string::npos;
  four.sin_family = AF_INET;
  four.sin_port = htons(address.port);
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(address.port);
  const int parsed = is_six ? ::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr)
                            : ::inet_pton(AF_INET, host.c_str(), &four.sin_addr);
  if (parsed != 1) return Error(ErrorCode::kInvalidInput, host + " is no IP address");
  Descriptor socket(
      ::socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.fd() < 0) return base::ErrnoError("making a socket", errno);
  const int one = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  const auto* bound =
      is_six ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  const socklen_t size = is_six ? sizeof(six) : sizeof(four);
  if (::bind(socket.fd(), bound, size) != 0 || ::listen(socket.fd(), kBacklog) != 0) {
    const std::string what = "listening at " + address.host + ":" + std::to_string(address.port);
    if (errno == EADDRINUSE) {
      const std::string owner = PortOwner(address.port);
      return Error(ErrorCode::kUnavailable,
                   what + ": " + (owner.empty() ? "another program" : owner) +
                       " listens there; stop it, or choose another port with --listen");
    }
    return base::ErrnoError(what, errno);
  }
  return socket;
}

Result<uint16_t> PortOf(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return base::ErrnoError("asking for the port", errno);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::chrono::microseconds TimeForBytes(uint64_t bytes) {
  return std::chrono::microseconds(bytes * 1'000'000 / kBytesPerSecondMin);
}

std::optional<uint64_t> ContentLength(const Request& request) {
  const auto header = request.Header("content-length");
  if (!header) return std::nullopt;
  uint64_t length = 0;
  const auto [end, status] =
      std::from_chars(header->data(), header->data() + header->size(), length);
  // What is no number was refused by the library.
  return status == std::errc{} && end == header->data() + header->size() ? length : UINT64_MAX;
}

// Whether it is beyond doubt where the body ends. Where it is not, a proxy before this server may
// see other requests in the same bytes.
bool HasOneLength(const Request& request) {
  size_t lengths = 0;
  for (const Parameter& header : request.headers) {
    const bool is_coding = header.name == "transfer-encoding";
    if (is_coding && base::LowerCase(header.value) != "chunked") return false;
    if (is_coding || header.name == "content-length") ++lengths;
  }
  return lengths <= 1;
}

Response TooLarge(uint64_t body_bytes_max) {
  if (body_bytes_max == 0) return ErrorResponse(413, "too_large", "this takes no body");
  return ErrorResponse(413, "too_large",
                       "the body is larger than the limit of " + std::to_string(body_bytes_max) +
                           " bytes: send several smaller profiles");
}

Response Busy(std::string_view what) {
  Response response = ErrorResponse(503, "busy", what);
  response.headers.push_back({"Retry-After", "1"});
  return response;
}

class MicrohttpdServer;

// One request, from its first line until its answer is sent.
struct Flight {
  Flight(MicrohttpdServer& of, std::string raw_target, ByteBudget& budget)
      : server(of), target(std::move(raw_target)), share(budget), begin(Clock::now()) {}

  enum class Phase : uint8_t { kHead, kBody, kWork, kAnswered };
  MicrohttpdServer& server;
  std::string target;
  MHD_Connection* connection = nullptr;
  int fd = -1;
  Phase phase = Phase::kHead;
  Request request;
  Admission admission;
  BudgetShare share;
  uint64_t unwanted_bytes = 0;
  std::optional<Response> answer;
  std::atomic<bool> cancelled = false;
  Exchange exchange;
  Clock::time_point begin;
};

class MicrohttpdServer final : public HttpServer {
 public:
  MicrohttpdServer(const Library& library, const HttpServerOptions& options,
                   RequestHandler& handler, ByteBudget& budget)
      : library_(library),
        options_(options),
        handler_(handler),
        budget_(budget),
        watch_(options.connections_max) {
    for (size_t i = 0; i < kLaneCount; ++i) {
      lanes_[i] = std::make_unique<WorkLane>(options.lane_threads[i], options.lane_queued_max);
    }
  }
  ~MicrohttpdServer() override { Stop(); }

  Result<void> Open();
  uint16_t port() const override { return port_; }
  HttpServerStatus status() const override;
  void Stop() override;

 private:
  static MHD_Result OnRequest(void* server, MHD_Connection* connection, const char* url,
                              const char* method, const char* version, const char* bytes,
                              size_t* bytes_size, void** flight);
  static void* OnTarget(void* server, const char* target, MHD_Connection* connection);
  static void OnCompleted(void* server, MHD_Connection* connection, void** flight,
                          MHD_RequestTerminationCode code);
  static void OnConnection(void* server, MHD_Connection* connection, void** context,
                           MHD_ConnectionNotificationCode code);
  static void OnLog(void* server, const char* format, va_list arguments);

  MHD_Result TakeHead(Flight& flight, const char* method);
  MHD_Result TakeBody(Flight& flight, std::string_view bytes);
  MHD_Result TakeEnd(Flight& flight);
  MHD_Result Send(Flight& flight, Response response);
  void Work(Flight& flight);
  int DescriptorOf(MHD_Connection* connection) const;
  Clock::time_point DeadlineFor(uint64_t bytes) const {
    return Clock::now() + std::chrono::milliseconds(options_.idle_timeout_ms) + TimeForBytes(bytes);
  }

  const Library library_;
  const HttpServerOptions options_;
  RequestHandler& handler_;
  ByteBudget& budget_;
  ConnectionWatch watch_;
  std::array<std::unique_ptr<WorkLane>, kLaneCount> lanes_;
  Descriptor socket_;
  uint16_t port_ = 0;
  MHD_Daemon* daemon_ = nullptr;
  std::atomic<bool> is_draining_ = false;
  std::string start_log_;  // until Open returns; later messages are about single clients
  std::atomic<bool> is_open_ = false;

  std::mutex mutex_;
  std::condition_variable landed_;
  size_t flights_ = 0;
};

Result<void> MicrohttpdServer::Open() {
  ASSIGN_OR_RETURN(socket_, Listen(options_.address));
  ASSIGN_OR_RETURN(port_, PortOf(socket_));
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  std::vector<MHD_OptionItem> tls;
  if (!options_.tls_certificate.empty()) {
    flags |= MHD_USE_TLS;
    // The library takes pointers that it does not write through.
    tls.push_back(
        {MHD_OPTION_HTTPS_MEM_CERT, 0, const_cast<char*>(options_.tls_certificate.c_str())});
    tls.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, const_cast<char*>(options_.tls_key.c_str())});
  }
  tls.push_back({MHD_OPTION_END, 0, nullptr});
  daemon_ = library_.start_daemon(
      flags, 0, nullptr, nullptr, &OnRequest, this,                                  //
      MHD_OPTION_EXTERNAL_LOGGER, &OnLog, this,                                      //
      MHD_OPTION_LISTEN_SOCKET, static_cast<MHD_socket>(socket_.fd()),               //
      MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(options_.connections_max),  //
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemoryBytes,                    //
      MHD_OPTION_CONNECTION_TIMEOUT, 0u,                                             //
      MHD_OPTION_URI_LOG_CALLBACK, &OnTarget, this,                                  //
      MHD_OPTION_NOTIFY_COMPLETED, &OnCompleted, this,                               //
      MHD_OPTION_NOTIFY_CONNECTION, &OnConnection, this,                             //
      MHD_OPTION_ARRAY, tls.data(), MHD_OPTION_END);
  is_open_ = true;
  if (daemon_ == nullptr) {
    return Error(ErrorCode::kInvalidInput,
                 "the HTTP server does not start: " +
                     (start_log_.empty() ? "no reason was given" : start_log_));
  }
  return {};
}

HttpServerStatus MicrohttpdServer::status() const {
  HttpServerStatus status{.connections = watch_.open(), .connections_too_slow = watch_.too_slow()};
  for (size_t i = 0; i < kLaneCount; ++i) status.queued[i] = lanes_[i]->queued();
  return status;
}

void MicrohttpdServer::Stop() {
  if (daemon_ == nullptr) return;
  is_draining_ = true;
  library_.quiesce_daemon(daemon_);
  // Those who come now are refused, not left waiting. The library's thread may still name the
  // descriptor, so it is closed after that thread has ended.
  ::shutdown(socket_.fd(), SHUT_RDWR);
  watch_.EndPartial(Clock::now() + kRestTimeMax);
  const auto all_landed = [this] { return flights_ == 0; };
  {
    std::unique_lock lock(mutex_);
    landed_.wait_for(lock, std::chrono::milliseconds(options_.drain_timeout_ms), all_landed);
  }
  watch_.CancelAll();
  for (auto& lane : lanes_) lane->Finish();
  {
    // What was cancelled is answered, too.
    std::unique_lock lock(mutex_);
    landed_.wait_for(lock, std::chrono::seconds(1), all_landed);
  }
  library_.stop_daemon(daemon_);
  daemon_ = nullptr;
  socket_ = Descriptor();
}

int MicrohttpdServer::DescriptorOf(MHD_Connection* connection) const {
  const MHD_ConnectionInfo* info =
      library_.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == nullptr ? -1 : info->connect_fd;
}

void MicrohttpdServer::OnLog(void* server, const char* format, va_list arguments) {
  auto& self = *static_cast<MicrohttpdServer*>(server);
  if (self.is_open_) return;
  std::array<char, 512> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  self.start_log_ = text.data();
  while (self.start_log_.ends_with('\n')) self.start_log_.pop_back();
}

void MicrohttpdServer::OnConnection(void* server, MHD_Connection* connection, void** context,
                                    MHD_ConnectionNotificationCode code) {
  auto& self = *static_cast<MicrohttpdServer*>(server);
  static_cast<void>(context);
  const int fd = self.DescriptorOf(connection);
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    self.watch_.Open(fd, self.DeadlineFor(0));
  } else {
    self.watch_.Close(fd);
  }
}

void* MicrohttpdServer::OnTarget(void* server, const char* target, MHD_Connection* connection) {
  auto& self = *static_cast<MicrohttpdServer*>(server);
  auto flight = std::make_unique<Flight>(self, target, self.budget_);
  flight->connection = connection;
  flight->fd = self.DescriptorOf(connection);
  const std::lock_guard lock(self.mutex_);
  ++self.flights_;
  return flight.release();  // OnCompleted takes it
}

void MicrohttpdServer::OnCompleted(void* server, MHD_Connection* connection, void** context,
                                   MHD_RequestTerminationCode code) {
  static_cast<void>(connection);
  auto& self = *static_cast<MicrohttpdServer*>(server);
  const std::unique_ptr<Flight> flight(static_cast<Flight*>(std::exchange(*context, nullptr)));
  if (flight == nullptr) return;
  const bool was_sent = code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
  flight->exchange.client_left = !was_sent || (flight->cancelled && !self.is_draining_);
  flight->share.Release();
  if (flight->phase != Flight::Phase::kAnswered) flight->exchange.status = 0;
  flight->exchange.seconds = std::chrono::duration<double>(Clock::now() - flight->begin).count();
  self.handler_.Count(flight->exchange);
  self.watch_.SetDeadline(flight->fd, self.DeadlineFor(0));
  const std::lock_guard lock(self.mutex_);
  --self.flights_;
  self.landed_.notify_all();
}

MHD_Result MicrohttpdServer::OnRequest(void* server, MHD_Connection* connection, const char* url,
                                       const char* method, const char* version, const char* bytes,
                                       size_t* bytes_size, void** context) {
  static_cast<void>(connection);
  static_cast<void>(url);
  static_cast<void>(version);
  auto& self = *static_cast<MicrohttpdServer*>(server);
  auto& flight = *static_cast<Flight*>(*context);
  switch (flight.phase) {
    case Flight::Phase::kHead:
      return self.TakeHead(flight, method);
    case Flight::Phase::kBody: {
      if (*bytes_size == 0) return self.TakeEnd(flight);
      const std::string_view taken(bytes, std::exchange(*bytes_size, 0));
      return self.TakeBody(flight, taken);
    }
    default:
      CHECK(flight.answer);
      return self.Send(flight, std::move(*flight.answer));
  }
}

MHD_Result TakeHeader(void* request, MHD_ValueKind kind, const char* name, size_t name_size,
                      const char* value, size_t value_size) {
  static_cast<void>(kind);
  static_cast<Request*>(request)->headers.push_back(
      {base::LowerCase({name, name_size}), std::string(value == nullptr ? "" : value, value_size)});
  return MHD_YES;
}

MHD_Result MicrohttpdServer::TakeHead(Flight& flight, const char* method) {
  flight.phase = Flight::Phase::kBody;
  Request& request = flight.request;
  request.method = method;
  library_.get_connection_values(flight.connection, MHD_HEADER_KIND, &TakeHeader, &request);
  if (!HasOneLength(request)) {
    Response refusal = ErrorResponse(400, "bad_request",
                                     "a body has one Content-Length, or else the one "
                                     "Transfer-Encoding chunked");
    refusal.headers.push_back({"Connection", "close"});
    return Send(flight, std::move(refusal));
  }
  auto target = ParseTarget(flight.target);
  if (!target) {
    return Send(flight, ErrorResponse(400, "bad_request",
                                      "the target is no path with a query, or has a % that does "
                                      "not begin an escape, or too many parameters"));
  }
  request.path = std::move(target->path);
  request.parameters = std::move(target->parameters);
  flight.admission = handler_.Admit(request);
  flight.exchange.route = flight.admission.route;
  if (flight.admission.refusal) return Send(flight, std::move(*flight.admission.refusal));
  const auto length = ContentLength(request);
  const uint64_t body_bytes_max = flight.admission.body_bytes_max;
  if (length.value_or(0) > body_bytes_max) return Send(flight, TooLarge(body_bytes_max));
  // Pages that are never written to cost nothing.
  if (length) request.body.reserve(*length);
  // What a head promises buys no time: see TakeBody.
  watch_.AwaitBody(flight.fd, DeadlineFor(0));
  return MHD_YES;
}

MHD_Result MicrohttpdServer::TakeBody(Flight& flight, std::string_view bytes) {
  flight.exchange.bytes_in += bytes.size();
  watch_.Extend(flight.fd, TimeForBytes(bytes.size()));
  if (!flight.answer) {
    if (flight.request.body.size() + bytes.size() > flight.admission.body_bytes_max) {
      flight.answer = TooLarge(flight.admission.body_bytes_max);
    } else if (!flight.share.Grow(bytes.size())) {
      flight.answer = Busy("too much is being pushed at once: try again in a second");
    } else {
      flight.request.body += bytes;
      return MHD_YES;
    }
    flight.request.body = std::string();
    flight.share.Release();
  }
  flight.unwanted_bytes += bytes.size();
  return flight.unwanted_bytes > kUnwantedBytesMax ? MHD_NO : MHD_YES;
}

MHD_Result MicrohttpdServer::TakeEnd(Flight& flight) {
  if (flight.answer) return Send(flight, std::move(*flight.answer));
  watch_.SetDeadline(flight.fd, Clock::time_point::max());
  flight.phase = Flight::Phase::kWork;
  if (flight.admission.lane == Lane::kAtOnce) {
    return Send(flight,
                handler_.Answer(flight.request, flight.admission, flight.share, flight.cancelled));
  }
  library_.suspend_connection(flight.connection);
  if (flight.admission.client_may_cancel) watch_.Guard(flight.fd, &flight.cancelled);
  if (!lanes_[static_cast<size_t>(flight.admission.lane)]->Submit(
          [&flight] { flight.server.Work(flight); })) {
    watch_.Leave(flight.fd);
    flight.answer = Busy("too many requests wait already: try again in a second");
    library_.resume_connection(flight.connection);
  }
  return MHD_YES;
}

void MicrohttpdServer::Work(Flight& flight) {
  flight.answer = handler_.Answer(flight.request, flight.admission, flight.share, flight.cancelled);
  flight.request.body = std::string();
  flight.share.Release();
  watch_.Leave(flight.fd);
  library_.resume_connection(flight.connection);  // from here on another thread owns the flight
}

void FreeBody(void* body) { delete static_cast<std::string*>(body); }

MHD_Result MicrohttpdServer::Send(Flight& flight, Response response) {
  flight.phase = Flight::Phase::kAnswered;
  flight.exchange.status = response.status;
  flight.exchange.bytes_out = response.body.size();
  auto body = std::make_unique<std::string>(std::move(response.body));
  const size_t size = body->size();
  char* const bytes = body->data();
  MHD_Response* const out = library_.create_response(size, bytes, &FreeBody, body.get());
  if (out == nullptr) return MHD_NO;
  static_cast<void>(body.release());
  const auto add = [&](const char* name, const std::string& value) {
    library_.add_response_header(out, name, value.c_str());
  };
  if (!response.content_type.empty()) add("Content-Type", response.content_type);
  for (const Parameter& header : response.headers) add(header.name.c_str(), header.value);
  if (is_draining_) add("Connection", "close");
  watch_.SetDeadline(flight.fd, DeadlineFor(size));
  const MHD_Result queued =
      library_.queue_response(flight.connection, static_cast<unsigned>(response.status), out);
  library_.destroy_response(out);
  return queued;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                      RequestHandler& handler, ByteBudget& budget) {
  ASSIGN_OR_RETURN(const Library library, Library::Load());
  auto server = std::make_unique<MicrohttpdServer>(library, options, handler, budget);
  RETURN_IF_ERROR(server->Open());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace vesta::server
