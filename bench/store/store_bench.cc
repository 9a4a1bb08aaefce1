// The store without its server: what taking pushes in costs, and what answers cost. For profiling.
//
//     store_bench DATA PUSHES [CONNECTIONS [RUNS]]
//
// PUSHES is a folder that make_pushes wrote; DATA is made when it is not there, else only asked.
// Prints one JSON object. Ingest times are CPU seconds of this process, sealing and all else that
// happened meanwhile included; answers are milliseconds of wall time (and the mean
// of CPU time, for machines that are busy), the JSON text included.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/ingest/profile_batch.h"
#include "src/ingest/pusher_labels.h"
#include "src/query/answer.h"
#include "src/query/ask.h"
#include "src/query/request.h"
#include "src/store/disk/disk_store.h"
#include "src/wire/profile_decoder.h"

namespace {

using vesta::base::JsonWriter;
using vesta::base::Result;
using vesta::query::Question;
using vesta::query::RequestText;
using vesta::store::DiskStore;

constexpr uint64_t kQueryMemoryBytes = uint64_t{256} << 20;

struct Push {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string service, version, host;
  int64_t time_unix_ms = 0;
};

std::vector<Push> ReadIndex(const std::string& folder) {
  std::vector<Push> pushes;
  std::ifstream file(folder + "/pushes.tsv");
  for (std::string line; std::getline(file, line);) {
    std::replace(line.begin(), line.end(), '\t', ' ');
    Push push;
    std::istringstream(line) >> push.offset >> push.bytes >> push.service >> push.version >>
        push.host >> push.time_unix_ms;
    pushes.push_back(std::move(push));
  }
  return pushes;
}

[[noreturn]] void Fail(const vesta::base::Error& error) {
  std::fprintf(stderr, "store_bench: %s\n", error.message().c_str());
  std::exit(1);
}

template <typename T>
T Need(Result<T> result) {
  if (!result.ok()) Fail(result.error());
  return std::move(*result);
}
void Need(const Result<void>& result) {
  if (!result.ok()) Fail(result.error());
}

uint64_t AppendOne(DiskStore& store, const Push& push, const std::string& body) {
  const auto profile = Need(vesta::wire::DecodeProfile(body, "push"));
  vesta::ingest::BatchOptions options;
  options.labels = Need(vesta::ingest::PusherLabels(
      {{"service", push.service}, {"version", push.version}, {"host", push.host}}));
  const auto made = Need(vesta::ingest::MakeBatch(profile, options));
  return Need(store.Append(made.batch)).rows_kept;
}

// All pushes in order, by several threads, as connections of a server would.
uint64_t Ingest(DiskStore& store, const std::string& folder, const std::vector<Push>& pushes,
                unsigned connections) {
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> rows{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < connections; ++i) {
    threads.emplace_back([&] {
      std::ifstream bodies(folder + "/pushes.bin", std::ios::binary);
      std::string body;
      for (size_t at = next++; at < pushes.size(); at = next++) {
        body.resize(pushes[at].bytes);
        bodies.seekg(static_cast<std::streamoff>(pushes[at].offset));
        bodies.read(body.data(), static_cast<std::streamsize>(body.size()));
        rows += AppendOne(store, pushes[at], body);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return rows;
}

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Asks the question of several services and says how long each took.
void MeasureQuestion(JsonWriter& json, DiskStore& store, const std::vector<Push>& pushes,
                     const char* name, Question question, const RequestText& form, size_t runs) {
  std::vector<double> times_ms;
  const double cpu_before = CpuSeconds();
  size_t bytes = 0;
  for (size_t run = 0; run < runs; ++run) {
    RequestText text = form;
    const std::string& service = pushes[run * 7919 % pushes.size()].service;
    for (auto* query : {&text.query, &text.before}) {
      if (!*query) continue;
      const size_t at = (*query)->find('$');
      if (at != std::string::npos) (*query)->replace(at, 1, service);
    }
    const auto start = std::chrono::steady_clock::now();
    const auto request = Need(vesta::query::MakeRequest(question, text, 0));
    vesta::base::ByteBudget memory(kQueryMemoryBytes);  // as the server's
    vesta::query::AskOptions options;
    options.limits.memory = &memory;
    bytes = vesta::query::AnswerJson(Need(vesta::query::Ask(store, request, options))).size();
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    times_ms.push_back(elapsed.count());
  }
  std::sort(times_ms.begin(), times_ms.end());
  json.Key(name).BeginObject();
  json.Key("median_ms").Double(times_ms[runs / 2]);
  json.Key("cpu_ms").Double((CpuSeconds() - cpu_before) * 1000 / static_cast<double>(runs));
  json.Key("p95_ms").Double(times_ms[std::min(runs - 1, runs * 95 / 100)]);
  json.Key("answer_bytes").Uint(bytes).EndObject();
}

void MeasureQuestions(JsonWriter& json, DiskStore& store, const std::vector<Push>& pushes,
                      size_t runs) {
  constexpr int64_t kDayMs = 86'400'000;
  const int64_t start = pushes.front().time_unix_ms / kDayMs * kDayMs;
  RequestText week;
  week.from = std::to_string(start);
  week.to = std::to_string(start + 7 * kDayMs);
  week.query = "cpu{service=\"$\"}";
  RequestText uncut = week;
  uncut.max_nodes = "0";
  RequestText hour = week;
  hour.from = std::to_string(start + 3 * kDayMs + 10 * 3'600'000);
  hour.to = std::to_string(start + 3 * kDayMs + 11 * 3'600'000);
  RequestText odd = week;
  odd.from = std::to_string(start + 2'231'077);
  odd.to = std::to_string(start + 7 * kDayMs - 5'123'456);
  RequestText series = week;
  series.by = "version";
  series.step = "1h";
  RequestText values = week;
  values.label = "host.name";
  RequestText diff = week;
  diff.query = "cpu{service=\"$\",version=\"1.9.0\"}";
  diff.before = "cpu{service=\"$\",version=\"1.8.3\"}";
  RequestText fleet = week;
  fleet.query = "cpu{}";
  fleet.by = "function";
  MeasureQuestion(json, store, pushes, "tree_7d", Question::kTree, week, runs);
  MeasureQuestion(json, store, pushes, "tree_7d_uncut", Question::kTree, uncut, runs);
  MeasureQuestion(json, store, pushes, "tree_1h", Question::kTree, hour, runs);
  MeasureQuestion(json, store, pushes, "tree_7d_unaligned", Question::kTree, odd, runs);
  MeasureQuestion(json, store, pushes, "series_7d", Question::kSeries, series, runs);
  MeasureQuestion(json, store, pushes, "label_values", Question::kValues, values, runs);
  MeasureQuestion(json, store, pushes, "diff_7d", Question::kDiff, diff, runs);
  MeasureQuestion(json, store, pushes, "fleet_top_7d", Question::kTop, fleet, runs);
  RequestText fleet_tree = week;
  fleet_tree.query = "cpu{}";
  MeasureQuestion(json, store, pushes, "fleet_tree_7d", Question::kTree, fleet_tree,
                  std::min<size_t>(runs, 3));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "store_bench DATA PUSHES [CONNECTIONS [RUNS]]\n");
    return 2;
  }
  const std::string data = argv[1];
  const unsigned connections =
      argc > 3 ? static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)) : 4;
  const size_t runs = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 20;
  const std::vector<Push> pushes = ReadIndex(argv[2]);
  if (pushes.empty() || runs == 0) {
    std::fprintf(stderr, "store_bench: there are no pushes in %s\n", argv[2]);
    return 1;
  }
  const bool is_new = ::access(data.c_str(), F_OK) != 0;
  vesta::store::DiskStoreOptions options;
  options.folder = data;
  const auto opening = std::chrono::steady_clock::now();
  const auto store = Need(DiskStore::Open(std::move(options)));
  const std::chrono::duration<double> open_s = std::chrono::steady_clock::now() - opening;
  JsonWriter json;
  json.BeginObject().Key("open_s").Double(open_s.count());
  if (is_new) {
    const double before = CpuSeconds();
    const uint64_t rows = Ingest(*store, argv[2], pushes, connections);
    const double acknowledged = CpuSeconds();
    const uint64_t commits = store->disk_status().commits;
    Need(store->Settle());
    const double settled = CpuSeconds();
    json.Key("rows").Uint(rows);
    json.Key("rows_per_cpu_s").Double(static_cast<double>(rows) / (acknowledged - before));
    json.Key("commits").Uint(commits);
    json.Key("settle_cpu_s").Double(settled - acknowledged);
    json.Key("disk_bytes_per_row")
        .Double(static_cast<double>(store->Status().disk_bytes) / static_cast<double>(rows));
  }
  MeasureQuestions(json, *store, pushes, runs);
  json.EndObject();
  std::printf("%s\n", json.Take().c_str());
  return 0;
}
