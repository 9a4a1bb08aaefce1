#include "src/server/server.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "src/base/byte_source.h"
#include "src/base/host_name.h"
#include "src/server/access.h"
#include "src/server/api.h"
#include "src/server/http_server.h"
#include "src/server/routes.h"

namespace vesta::server {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr size_t kFileBytesMax = 1 << 20;
constexpr size_t kThreadsMin = 4;
constexpr uint64_t kQuestionsInFlight = 2;  // that need the most memory that one may have

// From the sockets to the API: who may ask, and what is counted.
class ApiHandler final : public RequestHandler {
 public:
  ApiHandler(Api& api, AccessRules rules) : api_(api), rules_(std::move(rules)) {}

  Admission Admit(const Request& head) override {
    RouteAnswer found = FindRoute(head.method, head.path);
    Admission admission{.route = AllRoutes().size()};
    // Names are looked at for every path; what there is is no secret.
    const Scope scope = found.match ? AllRoutes()[found.match->route].scope : Scope::kNone;
    admission.refusal = CheckAccess(rules_, head, scope);
    if (!found.match) {
      if (!admission.refusal) admission.refusal = std::move(found.refusal);
      return Finish(head, std::move(admission));
    }
    const Route& route = AllRoutes()[found.match->route];
    admission.route = found.match->route;
    admission.lane = route.lane;
    admission.body_bytes_max = route.lane == Lane::kPush ? api_.options().body_bytes_max : 0;
    admission.client_may_cancel = route.lane == Lane::kQuestion;
    if (!admission.refusal) admission.refusal = CheckParameters(route, head);
    return Finish(head, std::move(admission));
  }

  Response Answer(Request& request, const Admission& admission, BudgetShare& share,
                  const std::atomic<bool>& cancelled) override {
    static_cast<void>(admission);
    Response response = api_.Answer(request, {.cancelled = &cancelled, .share = &share});
    AddHeaders(response);
    return response;
  }

  void Count(const Exchange& exchange) override { api_.metrics().Count(exchange); }

 private:
  static Admission Finish(const Request& head, Admission admission) {
    if (!admission.refusal) return admission;
    if (AsksForPprof(head)) TellPprof(*admission.refusal);
    AddHeaders(*admission.refusal);
    return admission;
  }
  static void AddHeaders(Response& response) {
    response.headers.push_back({"Cache-Control", "no-store"});
    response.headers.push_back({"X-Content-Type-Options", "nosniff"});
    response.headers.push_back({"Content-Security-Policy", "frame-ancestors 'none'"});
    response.headers.push_back({"Cross-Origin-Resource-Policy", "same-origin"});
  }

  Api& api_;
  const AccessRules rules_;
};

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Result<std::string> ReadNamed(const std::string& path, const char* option) {
  auto text = base::ReadSmallFile(path, kFileBytesMax);
  return std::move(text).Context(option);
}

// What decisions of trust need, from the options.
Result<AccessRules> RulesOf(const ServerOptions& options, const ListenAddress& address) {
  AccessRules rules;
  rules.is_loopback = base::IsLoopback(address.host);
  rules.is_tls = !options.tls_cert_file.empty();
  rules.host_name = HostName();
  if (options.tls_cert_file.empty() != options.tls_key_file.empty()) {
    return Error(ErrorCode::kInvalidInput,
                 "TLS needs both --tls-cert and --tls-key: one of them is missing");
  }
  if (!options.token_file.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadNamed(options.token_file, "--token-file"));
    auto tokens = ParseTokens(text);
    if (!tokens.ok())
      return std::move(tokens).error().Context("--token-file " + options.token_file);
    rules.tokens = std::move(*tokens);
  }
  if (!rules.is_loopback && !options.insecure && (!rules.is_tls || rules.tokens.empty())) {
    return Error(ErrorCode::kInvalidInput,
                 "listening at " + options.listen +
                     ", which other machines reach, needs TLS (--tls-cert, --tls-key) and tokens "
                     "(--token-file); --insecure goes without, and then everybody who reaches it "
                     "reads and writes all profiles");
  }
  return rules;
}

std::string UrlOf(const ListenAddress& address, bool is_tls, uint16_t port) {
  const bool is_six = address.host.find(':') != std::string::npos;
  return std::string(is_tls ? "https://" : "http://") +
         (is_six ? "[" + address.host + "]" : address.host) + ":" + std::to_string(port);
}

class ComposedServer final : public Server {
 public:
  ComposedServer(store::Store& store, const ServerOptions& options, AccessRules rules)
      : questions_memory_(kQuestionsInFlight * options.query_memory_bytes),
        api_(store, {.version = options.version,
                     .instance = options.instance,
                     .is_tls = !options.tls_cert_file.empty(),
                     .query_timeout_ms = options.query_timeout_ms,
                     .query_memory_bytes = options.query_memory_bytes,
                     .questions_memory = &questions_memory_,
                     .body_bytes_max = options.body_bytes_max,
                     .plain_bytes_max = options.plain_bytes_max}),
        handler_(api_, std::move(rules)),
        budget_(options.flight_bytes_max) {}
  ~ComposedServer() override { Stop(); }

  Result<void> Open(const HttpServerOptions& options) {
    ASSIGN_OR_RETURN(http_, HttpServer::Start(options, handler_, budget_));
    api_.SetHttp(http_.get(), &budget_);
    url_ = UrlOf(options.address, !options.tls_certificate.empty(), http_->port());
    return {};
  }
  const std::string& url() const override { return url_; }
  Senders& senders() override { return api_.senders(); }
  void Stop() override {
    if (http_ == nullptr) return;
    api_.SetDraining();
    http_->Stop();
    api_.SetHttp(nullptr, nullptr);
    http_.reset();
  }

 private:
  ByteBudget questions_memory_;
  Api api_;
  ApiHandler handler_;
  ByteBudget budget_;
  std::unique_ptr<HttpServer> http_;
  std::string url_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(store::Store& store, const ServerOptions& options) {
  HttpServerOptions http;
  ASSIGN_OR_RETURN(http.address, ParseListenAddress(options.listen));
  ASSIGN_OR_RETURN(AccessRules rules, RulesOf(options, http.address));
  if (rules.is_tls) {
    ASSIGN_OR_RETURN(http.tls_certificate, ReadNamed(options.tls_cert_file, "--tls-cert"));
    ASSIGN_OR_RETURN(http.tls_key, ReadNamed(options.tls_key_file, "--tls-key"));
  }
  http.connections_max = options.connections_max;
  http.idle_timeout_ms = options.idle_timeout_ms;
  http.drain_timeout_ms = options.drain_timeout_ms;
  const size_t threads = std::max<size_t>(std::thread::hardware_concurrency(), kThreadsMin);
  http.lane_threads = {threads, threads, 1};
  auto server = std::make_unique<ComposedServer>(store, options, std::move(rules));
  RETURN_IF_ERROR(server->Open(http));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace vesta::server
