// What an answer costs beyond the reads of the store: blocks are prepared, so that only our own
// time is left. Prints one JSON object; times are milliseconds of this thread.
//
//     query_bench [VOLUMES [NODES [CALLABLES]]]   default 7 24000 1500
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/query/ask.h"
#include "src/store/callable_hash.h"

namespace {

using vesta::base::Result;
namespace query = vesta::query;
namespace store = vesta::store;

constexpr uint32_t kDepth = 30;
constexpr uint32_t kFrames = 4000;
constexpr size_t kFleetSeries = 400;
constexpr int kRuns = 9;

double NowMs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// Names of one volume: most are in every volume, with other numbers.
class VolumeNames final : public store::Names, public store::Callables {
 public:
  VolumeNames(uint32_t volume, uint32_t callables) : shift_(volume * 37), callables_(callables) {
    for (uint32_t i = 0; i < kFrames; ++i) {
      names_.push_back("com.example.shop.checkout.CartService$Handler::processOrder_" +
                       std::to_string(i) + "(long, const std::string&)");
      files_.push_back("/build/checkout/src/main/service/cart_service_" + std::to_string(i % 300) +
                       ".cc");
    }
  }
  Result<store::FrameView> frame(uint32_t id) const override {
    line_ = {Function(id), 100 + id % 7, 0};
    return store::FrameView{1, id * 16, false, {&line_, 1}};
  }
  Result<store::FunctionView> function(uint32_t id) const override {
    return store::FunctionView{names_[id], names_[id], files_[id], 10};
  }
  Result<store::ImageView> image(uint32_t) const override {
    return store::ImageView{"/opt/shop/checkout", "abcdef", 0, 1 << 30, 0};
  }
  Result<store::CallableView> callable(uint32_t id) const override {
    return store::CallableView{names_[(id + shift_) % callables_ % kFrames],
                               "/opt/shop/service" + std::string(), ""};
  }
  Result<uint64_t> callable_hash(uint32_t id) const override {
    return 1 + uint64_t{(id + shift_) % callables_} * 0x9e3779b97f4a7c15u;
  }

 private:
  uint32_t Function(uint32_t frame) const { return (frame + shift_) % kFrames; }
  uint32_t shift_;
  uint32_t callables_;
  std::vector<std::string> names_;
  std::vector<std::string> files_;
  mutable store::FrameLine line_;
};

struct Volume {
  Volume(uint32_t number, uint32_t nodes, uint32_t callables) : names(number, callables) {
    // The same calls in each volume: the same seed, but for a part of its own.
    std::mt19937 random(7);
    parent = {0};
    frame = {0};
    std::vector<uint32_t> path = {0};
    while (parent.size() < nodes) {
      path.resize(1 + random() % path.size());
      while (path.size() <= kDepth && parent.size() < nodes) {
        parent.push_back(path.back());
        const uint32_t function = static_cast<uint32_t>(random() % kFrames);
        frame.push_back((function + kFrames - number * 37 % kFrames) % kFrames);
        path.push_back(static_cast<uint32_t>(parent.size() - 1));
      }
      for (uint32_t group = 0; group < 2; ++group) {
        const auto count = static_cast<int64_t>(1 + random() % 1000);
        sums.push_back({path.back(), group, count * 10'000'000, count});
      }
    }
    for (uint32_t callable = 0; callable < callables; ++callable)
      functions.push_back({callable, 0, 1000 + callable, 5000, 10, 50});
  }
  VolumeNames names;
  std::vector<uint32_t> parent, frame;
  std::vector<store::StackSum> sums;
  std::vector<store::FunctionSum> functions;
};

class PreparedStore final : public store::Store {
 public:
  PreparedStore(uint32_t volumes, uint32_t nodes, uint32_t callables) {
    for (uint32_t i = 0; i < volumes; ++i) volumes_.emplace_back(i, nodes, callables);
  }
  Result<store::AppendOutcome> Append(const store::Batch&) override {
    return store::AppendOutcome{};
  }
  Result<store::SymbolsOutcome> AppendSymbols(const store::SymbolBatch&) override {
    return store::SymbolsOutcome{};
  }
  store::ProfileType type(store::TypeId) const override {
    return {"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"};
  }
  store::Labels labels(store::SeriesId id) const override {
    return {{"process", "checkout"},
            {"service.name", "service " + std::to_string(id.value() / 2)},
            {"service.version", std::to_string(id.value() % 2)}};
  }
  Result<std::vector<store::SeriesTotal>> Series(store::TimeRange, const store::ReadLimits&,
                                                 store::ReadReport*) override {
    std::vector<store::SeriesTotal> rows;
    for (uint32_t i = 0; i < kFleetSeries; ++i) rows.push_back({store::SeriesId{i}, {}, 1000, 10});
    return rows;
  }
  Result<void> Stacks(const store::ReadRequest& request, store::ReadReport*,
                      const store::Sink<store::StackBlock>& sink) override {
    for (const Volume& volume : volumes_) {
      std::vector<store::StackSum> sums = volume.sums;
      for (store::StackSum& sum : sums) sum.group = std::min(sum.group, request.group_count - 1);
      RETURN_IF_ERROR(sink({&volume.names, volume.parent, volume.frame, sums}));
    }
    return {};
  }
  Result<void> Functions(const store::ReadRequest&, store::ReadReport*,
                         const store::Sink<store::FunctionBlock>& sink) override {
    for (const Volume& volume : volumes_) RETURN_IF_ERROR(sink({&volume.names, volume.functions}));
    return {};
  }
  Result<std::vector<store::TimelineCell>> Timeline(const store::ReadRequest&, int64_t,
                                                    store::ReadReport*) override {
    return std::vector<store::TimelineCell>{};
  }
  Result<void> Rows(const store::ReadRequest&, store::ReadReport*,
                    const store::Sink<store::RowBlock>&) override {
    return {};
  }
  store::StoreStatus Status() const override { return {}; }

 private:
  std::vector<Volume> volumes_;
};

// The fastest of a few runs.
template <typename Run>
double Fastest(const Run& run) {
  double best = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    const double start = NowMs();
    run();
    best = std::min(best, NowMs() - start);
  }
  return best;
}

query::Request RequestFor(query::Question question, size_t nodes_max, bool lines) {
  query::Request request;
  request.question = question;
  request.range = {0, 604'800'000};
  request.nodes_max = nodes_max;
  request.lines = lines;
  for (const char* text :
       {"cpu{service=\"service 1\",version=\"0\"}", "cpu{service=\"service 1\",version=\"1\"}"})
    request.selectors.push_back(*query::ParseSelector(text));
  if (question != query::Question::kDiff)
    request.selectors = {*query::ParseSelector("cpu{service=\"service 1\"}")};
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int index, uint32_t if_absent) {
    return argc > index ? static_cast<uint32_t>(std::atoi(argv[index])) : if_absent;
  };
  PreparedStore prepared(number(1, 7), number(2, 24'000), number(3, 1'500));
  vesta::base::JsonWriter json;
  json.BeginObject();
  uint64_t nodes = 0;
  const auto ask = [&](const query::Request& request) {
    auto answer = query::Ask(prepared, request);
    CHECK(answer.ok());
    if (const auto* tree = std::get_if<query::TreeAnswer>(&*answer)) nodes = tree->nodes_all;
    return std::move(*answer);
  };
  const auto measure = [&](const char* name, const query::Request& request) {
    json.Key(name).Double(Fastest([&] { ask(request); }));
  };
  using enum query::Question;
  measure("tree_8192_ms", RequestFor(kTree, 8192, false));
  measure("tree_8192_lines_ms", RequestFor(kTree, 8192, true));
  measure("tree_uncut_ms", RequestFor(kTree, 0, false));
  measure("tree_uncut_lines_ms", RequestFor(kTree, 0, true));
  measure("diff_8192_ms", RequestFor(kDiff, 8192, false));
  const query::Answer cut = ask(RequestFor(kTree, 8192, false));
  json.Key("nodes").Uint(nodes);
  json.Key("json_8192_ms").Double(Fastest([&] { query::AnswerJson(cut); }));
  const query::Answer uncut = ask(RequestFor(kTree, 0, false));
  json.Key("json_uncut_ms").Double(Fastest([&] { query::AnswerJson(uncut); }));
  query::Request fleet = RequestFor(kTop, 0, false);
  fleet.selectors = {*query::ParseSelector("cpu")};
  measure("fleet_top_ms", fleet);
  json.EndObject();
  std::printf("%s\n", json.Take().c_str());
}
