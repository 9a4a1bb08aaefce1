#include "src/server/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "src/base/byte_source.h"
#include "src/base/json.h"
#include "src/server/routes.h"

namespace vesta::server {
namespace {

constexpr int64_t kHeardMs = 120'000;
constexpr size_t kAgentsToldMax = 100;

std::string NumberText(double value) {
  std::array<char, 40> buffer;
  const auto [end, status] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), status == std::errc{} ? end : buffer.data());
}

// Families of metrics, one after another.
class MetricText {
 public:
  void Family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    out_.append("# HELP ").append(name).append(" ").append(help).append("\n");
    out_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  // Labels of ours need no escapes.
  void Sample(std::string_view labels, const std::string& value, std::string_view suffix = "") {
    out_.append(name_).append(suffix);
    if (!labels.empty()) out_.append("{").append(labels).append("}");
    out_.append(" ").append(value).append("\n");
  }
  void Single(std::string_view name, std::string_view type, std::string_view help,
              const std::string& value) {
    Family(name, type, help);
    Sample("", value);
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
  std::string name_;
};

// Source: prometheus.io/docs/instrumenting/exposition_formats: these three in values of labels.
std::string EscapeLabel(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string RouteLabels(size_t route) {
  const Route& spec = AllRoutes()[route];
  return "method=\"" + std::string(spec.method) + "\",path=\"" + std::string(spec.path) + "\"";
}

// Requests that found no route are counted, too.
std::string LabelsOf(size_t route) {
  return route < AllRoutes().size() ? RouteLabels(route) : "method=\"\",path=\"\"";
}

void AddStore(const store::StoreStatus& store, MetricText& text) {
  const auto count = [](uint64_t value) { return std::to_string(value); };
  const store::AppendOutcome& book = store.book;
  text.Single("vesta_rows_received_total", "counter",
              "Rows of all pushes since the store was made: kept + duplicate + dropped.",
              count(book.rows_received));
  text.Single("vesta_rows_kept_total", "counter", "Rows that were stored.", count(book.rows_kept));
  text.Single("vesta_rows_overflowed_total", "counter",
              "Rows kept without their own labels, since there are too many series.",
              count(book.rows_overflowed));
  text.Single("vesta_rows_duplicate_total", "counter",
              "Rows of batches that had been counted before.", count(book.rows_duplicate));
  text.Family("vesta_rows_dropped_total", "counter", "Rows that were not stored, by reason.");
  text.Sample("reason=\"too_old\"", count(book.rows_too_old));
  text.Sample("reason=\"too_new\"", count(book.rows_too_new));
  text.Single("vesta_rows_expired_total", "counter", "Rows that retention took away.",
              count(store.rows_expired));
  text.Single("vesta_rows_quarantined_total", "counter",
              "Rows in damaged files, which were set aside.", count(store.rows_quarantined));
  text.Single("vesta_store_rows", "gauge", "Rows that can be read.", count(store.rows));
  text.Single("vesta_store_days", "gauge", "Days with rows.", count(store.days));
  text.Single("vesta_store_series", "gauge", "Series.", count(store.series));
  text.Single("vesta_store_disk_bytes", "gauge", "Bytes of the store's folder.",
              count(store.disk_bytes));
  text.Single("vesta_store_refuses_writes", "gauge", "1 when pushes are refused.",
              store.refuses_writes ? "1" : "0");
}

void AddSymbols(const SymbolsBook& book, uint64_t places, MetricText& text) {
  const auto count = [](uint64_t number) { return std::to_string(number); };
  const store::SymbolsOutcome& outcome = book.outcome;
  text.Single("vesta_symbols_received_total", "counter",
              "Places in messages with late names: kept + unchanged + dropped.",
              count(book.received()));
  text.Single("vesta_symbols_kept_total", "counter", "Of these, places with a new name.",
              count(outcome.locations_kept));
  text.Single("vesta_symbols_unchanged_total", "counter", "Of these, known before.",
              count(outcome.locations_unchanged));
  text.Family("vesta_symbols_dropped_total", "counter", "Of these, lost, by reason.");
  text.Sample("reason=\"rejected\"", count(book.rejected));
  text.Sample("reason=\"without_image\"", count(outcome.locations_without_image));
  text.Sample("reason=\"without_name\"", count(outcome.locations_without_name));
  text.Sample("reason=\"too_large\"", count(outcome.locations_too_large));
  text.Single("vesta_symbol_places", "gauge", "Places that have a name which came late.",
              count(places));
}

void AddServer(const ServerState& state, MetricText& text) {
  text.Family("vesta_build_info", "gauge", "1; the version is in the label.");
  text.Sample("version=\"" + state.version + "\"", "1");
  text.Single("vesta_uptime_seconds", "gauge", "Time since the server was started.",
              NumberText(state.uptime_seconds));
  text.Single("process_resident_memory_bytes", "gauge", "Resident memory of the server.",
              std::to_string(state.resident_bytes));
  text.Single("process_cpu_seconds_total", "counter", "Processor time of the server.",
              NumberText(state.cpu_seconds));
  text.Single("vesta_http_connections", "gauge", "Open connections.",
              std::to_string(state.http.connections));
  text.Single("vesta_http_connections_too_slow_total", "counter",
              "Connections that were closed since the client took too long.",
              std::to_string(state.http.connections_too_slow));
  text.Single("vesta_http_flight_bytes", "gauge", "Bytes of pushes being worked on.",
              std::to_string(state.flight_bytes));
  text.Family("vesta_http_queued", "gauge", "Requests that wait for a thread.");
  constexpr std::array<std::string_view, kLaneCount> kLanes = {"push", "question", "status"};
  for (size_t i = 0; i < kLaneCount; ++i) {
    text.Sample("lane=\"" + std::string(kLanes[i]) + "\"", std::to_string(state.http.queued[i]));
  }
}

void AddSenders(const std::vector<Sender>& senders, int64_t now_unix_ms, MetricText& text) {
  SenderBook sum;
  uint64_t agents = 0;
  uint64_t agents_heard = 0;
  for (const Sender& sender : senders) {
    sum.Add(sender.rows);
    if (sender.agent.empty()) continue;
    ++agents;
    if (now_unix_ms - sender.last_seen_unix_ms < kHeardMs) ++agents_heard;
  }
  const auto count = [](uint64_t number) { return std::to_string(number); };
  text.Single("vesta_agents", "gauge", "Agents that were heard of since the server was started.",
              count(agents));
  text.Single("vesta_agents_heard", "gauge", "Agents that were heard of in the last two minutes.",
              count(agents_heard));
  text.Single("vesta_otlp_batches_total", "counter", "Messages of OTLP profiles that were taken.",
              count(sum.batches));
  text.Single("vesta_otlp_rows_received_total", "counter",
              "Samples in OTLP messages: kept + excluded + dropped.", count(sum.received));
  text.Single("vesta_otlp_rows_kept_total", "counter", "Of these, stored.", count(sum.kept));
  text.Family("vesta_otlp_rows_excluded_total", "counter",
              "Of these, left out as they should be, by reason.");
  text.Sample("reason=\"duplicate\"", count(sum.duplicate));
  text.Sample("reason=\"empty\"", count(sum.empty));
  text.Family("vesta_otlp_rows_dropped_total", "counter", "Of these, lost, by reason.");
  text.Sample("reason=\"rejected\"", count(sum.rejected));
  text.Sample("reason=\"too_old\"", count(sum.too_old));
  text.Sample("reason=\"too_new\"", count(sum.too_new));
}

// What agents say of themselves, of the life of each; in a fleet, /api/v1/agents is the place.
void AddAgentBooks(const std::vector<Sender>& senders, MetricText& text) {
  std::vector<const Sender*> told;
  for (const Sender& sender : senders) {
    if (sender.book && told.size() < kAgentsToldMax) told.push_back(&sender);
  }
  text.Family(
      "vesta_agent_samples_total", "counter",
      "Samples of an agent since it was started, by stage and what became of them: received "
      "== excluded + kept + dropped. Of at most 100 agents.");
  for (const Sender* sender : told) {
    for (const book::Stage& stage : sender->book->stages) {
      const std::string labels = "agent=\"" + EscapeLabel(sender->agent) + "\",stage=\"" +
                                 EscapeLabel(stage.name) + "\",outcome=\"";
      text.Sample(labels + "received\",reason=\"\"", std::to_string(stage.received));
      text.Sample(labels + "kept\",reason=\"\"", std::to_string(stage.kept));
      const auto tell = [&](const char* outcome, const book::Reasons& reasons) {
        for (const auto& [reason, number] : reasons) {
          text.Sample(labels + outcome + "\",reason=\"" + EscapeLabel(reason) + "\"",
                      std::to_string(number));
        }
      };
      tell("excluded", stage.excluded);
      tell("dropped", stage.dropped);
    }
  }
}

}  // namespace

void Metrics::CountSymbols(const SymbolsBook& book) {
  const std::lock_guard lock(mutex_);
  symbols_.outcome.Add(book.outcome);
  symbols_.rejected += book.rejected;
}

void Metrics::Count(const Exchange& exchange) {
  const std::lock_guard lock(mutex_);
  ++requests_[{exchange.route, exchange.status}];
  Latency& latency = latencies_[exchange.route];
  size_t bucket = 0;
  while (bucket < kBounds.size() && exchange.seconds > kBounds[bucket]) ++bucket;
  ++latency.buckets[bucket];
  latency.sum += exchange.seconds;
  ++latency.count;
  if (exchange.client_left) ++clients_left_;
  bytes_in_ += exchange.bytes_in;
  bytes_out_ += exchange.bytes_out;
}

std::string Metrics::Text(const ServerState& state, const std::vector<Sender>& senders) const {
  MetricText text;
  AddServer(state, text);
  AddStore(state.store, text);
  AddSenders(senders, state.now_unix_ms, text);
  AddAgentBooks(senders, text);
  const std::lock_guard lock(mutex_);
  AddSymbols(symbols_, state.store.symbol_places, text);
  text.Family("vesta_http_requests_total", "counter",
              "Requests by route and status; 0 = the client was gone before an answer.");
  for (const auto& [key, count] : requests_) {
    text.Sample(LabelsOf(key.first) + ",status=\"" + std::to_string(key.second) + "\"",
                std::to_string(count));
  }
  text.Family("vesta_http_request_seconds", "histogram",
              "Time from a request's first line until its answer is sent.");
  for (const auto& [route, latency] : latencies_) {
    const std::string labels = LabelsOf(route);
    uint64_t count = 0;
    for (size_t i = 0; i < latency.buckets.size(); ++i) {
      count += latency.buckets[i];
      const std::string bound = i < kBounds.size() ? NumberText(kBounds[i]) : "+Inf";
      text.Sample(labels + ",le=\"" + bound + "\"", std::to_string(count), "_bucket");
    }
    text.Sample(labels, NumberText(latency.sum), "_sum");
    text.Sample(labels, std::to_string(latency.count), "_count");
  }
  text.Single("vesta_http_clients_left_total", "counter",
              "Requests whose client hung up before the answer was sent; their queries are "
              "cancelled.",
              std::to_string(clients_left_));
  text.Single("vesta_http_received_bytes_total", "counter", "Bytes of bodies as they came.",
              std::to_string(bytes_in_));
  text.Single("vesta_http_sent_bytes_total", "counter", "Bytes of the bodies of answers.",
              std::to_string(bytes_out_));
  return text.Take();
}

void WriteSymbols(const store::SymbolsOutcome& outcome, base::JsonWriter& json) {
  json.Key("locations_received").Uint(outcome.locations_received);
  json.Key("locations_kept").Uint(outcome.locations_kept);
  json.Key("locations_unchanged").Uint(outcome.locations_unchanged);
  json.Key("locations_without_image").Uint(outcome.locations_without_image);
  json.Key("locations_without_name").Uint(outcome.locations_without_name);
  json.Key("locations_too_large").Uint(outcome.locations_too_large);
}

std::string StatusJson(const ServerState& state) {
  const store::StoreStatus& store = state.store;
  base::JsonWriter json;
  json.BeginObject();
  json.Key("version").String(state.version).Key("instance").String(state.instance);
  json.Key("uptime_seconds").Double(state.uptime_seconds);
  json.Key("memory_bytes").Uint(state.resident_bytes);
  json.Key("connections").Uint(state.http.connections);
  json.Key("store").BeginObject();
  json.Key("rows").Uint(store.rows).Key("days").Uint(store.days);
  json.Key("series").Uint(store.series).Key("disk_bytes").Uint(store.disk_bytes);
  json.Key("from_unix_ms");
  store.range ? json.Int(store.range->from_unix_ms) : json.Null();
  json.Key("to_unix_ms");
  store.range ? json.Int(store.range->to_unix_ms) : json.Null();
  json.Key("refuses_writes");
  store.refuses_writes ? json.String(*store.refuses_writes) : json.Null();
  json.EndObject();
  json.Key("book").BeginObject();
  json.Key("rows_received").Uint(store.book.rows_received);
  json.Key("rows_kept").Uint(store.book.rows_kept);
  json.Key("rows_overflowed").Uint(store.book.rows_overflowed);
  json.Key("rows_duplicate").Uint(store.book.rows_duplicate);
  json.Key("rows_too_old").Uint(store.book.rows_too_old);
  json.Key("rows_too_new").Uint(store.book.rows_too_new);
  json.Key("rows_expired").Uint(store.rows_expired);
  json.Key("rows_quarantined").Uint(store.rows_quarantined);
  json.EndObject();
  json.Key("symbols").BeginObject();
  json.Key("places").Uint(store.symbol_places);
  WriteSymbols(store.symbols, json);
  json.EndObject().EndObject();
  return json.Take() + "\n";
}

void ReadProcess(ServerState& state) {
  // The second number is resident pages.
  if (const auto text = base::ReadSmallFile("/proc/self/statm"); text.ok()) {
    const std::string_view rest = std::string_view(*text).substr(text->find(' ') + 1);
    uint64_t pages = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), pages);
    state.resident_bytes = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  state.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace vesta::server
