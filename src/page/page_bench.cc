// What a page of a large profile costs: time of each step and sizes. Prints one JSON object; times
// are CPU seconds of this process.
//
//     page_bench [NODES [SHARED]]   default 1000000 50
//
// SHARED: per cent of a stack that it has in common with one before it, on average; 100 gives one
// stack per node, which is the most work for as many nodes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/flame/call_trie.h"
#include "src/flame/stack_tree.h"
#include "src/page/html_page.h"
#include "src/page/page_data.h"
#include "src/wire/gzip.h"
#include "src/wire/pprof_decoder.h"
#include "src/wire/pprof_encoder.h"

namespace {

using vesta::profile::LocationId;
using vesta::profile::Profile;

constexpr uint64_t kSeed = 7;
constexpr size_t kDepthMin = 20, kDepthMax = 60;
constexpr size_t kNameMin = 20, kNameMax = 120;
constexpr size_t kCallees = 24;
constexpr int64_t kPeriodNs = 10'000'000;

class Generator {
 public:
  Generator(size_t nodes, size_t shared_percent)
      : nodes_(nodes),
        shared_percent_(shared_percent),
        functions_(std::clamp<size_t>(nodes / 40, 200, 20'000)) {}

  Profile Run() {
    profile_.SetSampleTypes({profile_.InternValueType("samples", "count"),
                             profile_.InternValueType("cpu", "nanoseconds")});
    profile_.header().period_type = profile_.sample_types()[1];
    profile_.header().period = kPeriodNs;
    MakeLocations();
    vesta::flame::CallTrie trie;
    std::vector<std::vector<LocationId>> stacks;  // root first
    std::vector<LocationId> stack;
    while (trie.size() <= nodes_) {
      stack.clear();
      if (!stacks.empty()) stack = stacks[Below(stacks.size())];
      stack.resize(stack.size() * Shared() / 100);
      const size_t depth = std::max(stack.size() + 1, kDepthMin + Below(kDepthMax - kDepthMin + 1));
      while (stack.size() < depth && stack.size() < kDepthMax) {
        stack.push_back(NextOf(stack));
        if (shared_percent_ == 100) break;
      }
      uint32_t node = 0;
      for (const LocationId id : stack) node = trie.Child(node, id.value());
      AddSample(stack);
      if (stacks.size() < 10'000) stacks.push_back(stack);
      stacks[Below(stacks.size())] = stack;
    }
    return std::move(profile_);
  }

 private:
  size_t Below(size_t end) { return static_cast<size_t>(random_() % end); }
  size_t Shared() {
    if (shared_percent_ == 100) return Below(4) == 0 ? Below(101) : 100;
    return std::min<size_t>(100, Below(2 * shared_percent_ + 1));
  }

  void MakeLocations() {
    std::vector<vesta::profile::MappingId> mappings;
    for (int i = 0; i < 30; ++i) {
      const std::string path = "/usr/lib/x86_64-linux-gnu/libmodule" + std::to_string(i) + ".so.6";
      mappings.push_back(profile_.AddMapping({profile_.InternString(path), {}, 0, 0, 0}));
    }
    for (size_t i = 0; i < functions_; ++i) {
      std::string name = "ns" + std::to_string(i % 97) + "::Class" + std::to_string(i % 1009);
      const size_t size = kNameMin + Below(kNameMax - kNameMin + 1);
      while (name.size() < size) name += "_word" + std::to_string(Below(200));
      name += "::f" + std::to_string(i);
      const auto function =
          profile_.AddFunction({profile_.InternString(name),
                                {},
                                profile_.InternString("src/" + name.substr(0, 12)),
                                10});
      // Two call sites per function.
      for (uint64_t site = 0; site < 2; ++site) {
        const vesta::profile::Line line{function, static_cast<int64_t>(20 + site * 7), 0};
        profile_.AddLocation({mappings[i % mappings.size()], i * 64 + site, false, {&line, 1}});
      }
      for (size_t j = 0; j < kCallees; ++j) callees_.push_back(Below(functions_) * 2 + Below(2));
    }
  }

  LocationId NextOf(const std::vector<LocationId>& root_first) {
    if (root_first.empty()) return LocationId{static_cast<uint32_t>(Below(8))};
    const size_t function = root_first.back().value() / 2;
    return LocationId{static_cast<uint32_t>(callees_[function * kCallees + Below(kCallees)])};
  }

  void AddSample(std::vector<LocationId> stack) {
    std::ranges::reverse(stack);
    const auto count = static_cast<int64_t>(1 + 1000 / (1 + Below(1000)));
    profile_.AddSample(profile_.InternStack(stack), {}, {{count, count * kPeriodNs}});
  }

  const size_t nodes_;
  const size_t shared_percent_;
  const size_t functions_;
  std::mt19937_64 random_{kSeed};
  Profile profile_;
  std::vector<size_t> callees_;  // locations, by function
};

// Runs `step` and puts its seconds under `key`.
template <typename Step>
auto Timed(vesta::base::JsonWriter& json, std::string_view key, Step step) {
  const std::clock_t start = std::clock();
  auto result = step();
  const auto ticks = static_cast<double>(std::clock() - start);
  json.Key(std::string(key) + "_cpu_s").Double(ticks / CLOCKS_PER_SEC);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t nodes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000;
  const size_t shared = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 50;
  vesta::base::JsonWriter json;
  json.BeginObject();
  const std::string pprof =
      vesta::wire::EncodePprof(Generator(nodes, shared).Run(), {.gzip_level = 6});
  const auto profile = Timed(json, "decode_pprof", [&] { return vesta::wire::DecodePprof(pprof); });
  const vesta::flame::TreeInput input{&*profile, "bench"};
  const auto tree = Timed(json, "tree", [&] { return vesta::flame::MakeStackTree({&input, 1}); });
  const auto data = Timed(json, "page_data",
                          [&] { return vesta::page::EncodePageData(*tree, {.title = "bench"}); });
  json.Key("samples").Uint(profile->sample_count()).Key("nodes").Uint(tree->node_count() - 1);
  json.Key("functions").Uint(tree->functions.size()).Key("lines").Uint(tree->lines.size());
  json.Key("pprof_bytes").Uint(pprof.size()).Key("page_data_bytes").Uint(data->size());
  for (const int level : {1, 2, 3, 4, 6}) {
    const std::string name = "html_gzip" + std::to_string(level);
    const std::string html = Timed(json, name, [&] {
      return vesta::page::RenderHtmlPage(
          {.title = "bench", .page_data = *data, .script = "", .style = "", .gzip_level = level});
    });
    json.Key(name + "_bytes").Uint(html.size());
  }
  json.EndObject();
  std::printf("%s\n", json.Take().c_str());
  return 0;
}
