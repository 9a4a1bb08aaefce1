#include "bench/store/fleet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "bench/store/random.h"

namespace vesta::bench {
namespace {

using profile::FunctionId;
using profile::LocationId;
using profile::MappingId;
using profile::Profile;
using profile::StackId;

constexpr uint32_t kVersions = 2;
constexpr std::array<std::string_view, kVersions> kVersionNames = {"1.8.3", "1.9.0"};
constexpr uint32_t kHosts = 60;
constexpr uint32_t kHostsOfService = 3;
constexpr int64_t kPeriodNs = 10'000'000;
constexpr double kCostlierFactor = 1.12;
constexpr uint32_t kLanguages = 3;  // C++, Go, Java

constexpr uint32_t kDepthMin = 15;
constexpr uint32_t kDepthMax = 45;
constexpr uint32_t kOwnFunctions = 600;
constexpr uint32_t kRenamedFunctions = 3;
constexpr uint32_t kEntryPoints = 6;
constexpr uint64_t kOwnImageStart = 0x401000;

constexpr std::array<std::string_view, 80> kWords = {
    "account",  "batch",   "buffer",  "cache",   "channel",  "client",  "codec",   "column",
    "commit",   "config",  "connect", "context", "cursor",   "decode",  "delta",   "dispatch",
    "encode",   "engine",  "entry",   "event",   "executor", "fetch",   "filter",  "flush",
    "frame",    "gateway", "graph",   "handler", "hash",     "index",   "insert",  "invoice",
    "iterator", "join",    "key",     "layer",   "ledger",   "limit",   "listen",  "lock",
    "loop",     "map",     "merge",   "message", "metric",   "node",    "offset",  "order",
    "packet",   "page",    "parse",   "path",    "plan",     "pool",    "price",   "process",
    "protocol", "query",   "queue",   "read",    "record",   "region",  "request", "resolve",
    "router",   "row",     "scan",    "schema",  "search",   "segment", "session", "shard",
    "snapshot", "stream",  "table",   "token",   "tree",     "value",   "view",    "write"};

std::string_view Word(Random& random) { return kWords[random.Below(kWords.size())]; }
std::string Capital(std::string_view word) {
  std::string text(word);
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}
std::string Hex(Random& random, size_t digits) {
  std::string text;
  while (text.size() < digits) text += "0123456789abcdef"[random.Below(16)];
  return text;
}

// A name of 20 to 60 bytes and its file, as the language writes them. `number` keeps names apart.
std::pair<std::string, std::string> FunctionName(Random& random, uint32_t language,
                                                 const std::string& owner, uint32_t number) {
  const std::string first(Word(random));
  const std::string second(Word(random));
  const std::string third = Capital(Word(random));
  const std::string tail = std::to_string(number);
  if (language == 0) {
    const std::string name = owner + "::" + first + "::" + third + "::" + Capital(second) + tail;
    return {name + (random.Chance(0.5) ? "(std::string_view)" : "()"),
            "/build/src/" + owner + "/" + first + "/" + second + ".cc"};
  }
  if (language == 1) {
    return {"example.com/" + owner + "/" + first + ".(*" + third + ")." + Capital(second) + tail,
            "/go/src/example.com/" + owner + "/" + first + "/" + second + ".go"};
  }
  return {"com.example." + owner + "." + first + "." + third + "." + second + tail,
          third + ".java"};
}

std::string ServiceNameOf(Random& random, uint32_t service) {
  std::string name(Word(random));
  name += '-';
  name += Word(random);
  name += '-';
  name += std::to_string(service);
  return name;
}

// The mean number of further frames of a stack beyond what it shares with an earlier one.
uint32_t TailLength(Random& random) {
  uint32_t length = 1;
  while (length < 12 && random.Chance(0.78)) ++length;
  return length;
}

}  // namespace

// Grows the call tree of one service.
class ServiceMaker {
 public:
  ServiceMaker(const Fleet& fleet, uint32_t number)
      : fleet_(fleet), random_(fleet.shape_.seed, 1000 + number), language_(number % kLanguages) {
    service_.name = ServiceNameOf(random_, number);
  }

  Fleet::Service Make() && {
    MakeCode();
    service_.nodes.emplace_back();
    depth_ = {0};
    is_own_ = {true};
    while (service_.leaf_nodes.size() < fleet_.shape_.stacks) MakeStack();
    // Which stack is common must not depend on when it was made.
    for (size_t i = service_.leaf_nodes.size(); i > 1; --i) {
      std::swap(service_.leaf_nodes[i - 1],
                service_.leaf_nodes[random_.Below(static_cast<uint32_t>(i))]);
    }
    return std::move(service_);
  }

 private:
  void MakeCode() {
    const auto first_function = static_cast<uint32_t>(fleet_.functions_.size());
    uint64_t address = kOwnImageStart;
    for (uint32_t number = 0; number < kOwnFunctions; ++number) {
      auto [name, file] = FunctionName(random_, language_, service_.name, number);
      service_.functions.push_back({std::move(name), std::move(file), 20 + random_.Below(900)});
      const uint32_t places = 1 + random_.Below(3);
      for (uint32_t place = 0; place < places; ++place) {
        address += 16 + random_.Below(400);
        Fleet::Location location;
        location.image = static_cast<uint32_t>(fleet_.images_.size());
        location.address = address;
        if (number > 0 && random_.Chance(0.12)) {  // an inlined callee
          const uint32_t inlined = random_.Below(number);
          location.lines.push_back({first_function + inlined,
                                    service_.functions[inlined].start_line + random_.Below(40)});
        }
        location.lines.push_back(
            {first_function + number, service_.functions[number].start_line + random_.Below(80)});
        service_.locations.push_back(std::move(location));
      }
    }
    service_.renamed_functions = kRenamedFunctions;
    service_.costlier_function = first_function + kRenamedFunctions + random_.Below(50);
  }

  void MakeStack() {
    const auto depth = static_cast<uint32_t>(
        std::clamp(std::lround(random_.Normal(29, 6)), long{kDepthMin}, long{kDepthMax}));
    const uint32_t tail = std::min(TailLength(random_), depth);
    uint32_t node = ForkFrom(depth - tail);
    // The last frames are often a library's.
    const uint32_t in_library = random_.Chance(0.65) ? std::min(1 + random_.Below(4), tail) : 0;
    while (depth_[node] + in_library < depth) node = Extend(node, OwnCallee(node));
    uint32_t step = 0;
    while (depth_[node] < depth) {
      node = Extend(node, LibraryCallee(step));
      if (random_.Chance(0.6)) step = std::max(step, 1 + random_.Below(2));
    }
    if (std::find(service_.leaf_nodes.begin(), service_.leaf_nodes.end(), node) ==
        service_.leaf_nodes.end()) {
      service_.leaf_nodes.push_back(node);
    }
  }

  // A node of own code at about that depth, of an earlier stack where there is one.
  uint32_t ForkFrom(uint32_t depth) {
    uint32_t best = 0;
    for (int attempt = 0; attempt < 12 && !service_.leaf_nodes.empty(); ++attempt) {
      uint32_t node =
          service_.leaf_nodes[random_.Below(static_cast<uint32_t>(service_.leaf_nodes.size()))];
      while (depth_[node] > depth || !is_own_[node]) node = service_.nodes[node].parent;
      if (depth_[node] >= depth_[best]) best = node;
      if (depth_[best] == depth) break;
    }
    return best;
  }

  // Each place calls a few others, some of them much more often.
  uint32_t OwnCallee(uint32_t node) {
    const auto locations = static_cast<uint32_t>(service_.locations.size());
    const uint32_t choice = std::min(random_.Below(8), random_.Below(8));
    const uint32_t caller =
        node == 0 ? locations + choice % kEntryPoints : service_.nodes[node].location;
    Random places(caller, choice);
    return static_cast<uint32_t>(fleet_.locations_.size()) + places.Below(locations);
  }

  // step 0 = the language's runtime, 1 = libc, 2 = the kernel.
  uint32_t LibraryCallee(uint32_t step) {
    const uint32_t image = step == 0 ? 2 + language_ : step == 1 ? 1 : 0;
    const auto& library = fleet_.images_[image];
    // Few of its functions are most of what is called.
    const double share = random_.Share();
    return library.first_location +
           static_cast<uint32_t>(share * share * share * library.location_count);
  }

  uint32_t Extend(uint32_t node, uint32_t location) {
    const uint64_t key = uint64_t{node} << 32 | location;
    const auto [at, is_new] = children_.emplace(key, static_cast<uint32_t>(service_.nodes.size()));
    if (is_new) {
      service_.nodes.push_back({node, location});
      depth_.push_back(depth_[node] + 1);
      is_own_.push_back(location >= fleet_.locations_.size());
    }
    return at->second;
  }

  const Fleet& fleet_;
  Random random_;
  uint32_t language_;
  Fleet::Service service_;
  std::vector<uint32_t> depth_;  // of nodes
  std::vector<bool> is_own_;
  std::unordered_map<uint64_t, uint32_t> children_;
};

Fleet::Fleet(const FleetShape& shape) : shape_(shape) {
  MakeLibraries();
  for (uint32_t service = 0; service < shape.services; ++service) {
    services_.push_back(ServiceMaker(*this, service).Make());
  }
  FitRate();
}

void Fleet::MakeLibraries() {
  MakeLibrary("[kernel]", 0, 400, 1);
  MakeLibrary("/usr/lib/x86_64-linux-gnu/libc.so.6", 0, 160, 2);
  MakeLibrary("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", 0, 250, 3);
  MakeLibrary("/usr/lib/go-1.19/pkg/runtime.so", 1, 300, 4);
  MakeLibrary("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", 0, 400, 5);
}

void Fleet::MakeLibrary(const std::string& path, uint32_t language, uint32_t functions,
                        uint64_t stream) {
  Random random(shape_.seed, stream);
  Image image{path, Hex(random, 40), static_cast<uint32_t>(locations_.size()), 0};
  const std::string owner = path == "[kernel]"                  ? "kernel"
                            : path.find("libc.so") != path.npos ? "libc"
                            : language == 1                     ? "runtime"
                                                                : "rt";
  uint64_t address = 0x20000;
  for (uint32_t number = 0; number < functions; ++number) {
    auto [name, file] = FunctionName(random, language, owner, number);
    const auto function = static_cast<uint32_t>(functions_.size());
    functions_.push_back({std::move(name), std::move(file), 10 + random.Below(2000)});
    const uint32_t places = 1 + random.Below(3);
    for (uint32_t place = 0; place < places; ++place) {
      address += 16 + random.Below(300);
      const auto own = static_cast<uint32_t>(images_.size());
      const uint32_t line = functions_.back().start_line + random.Below(60);
      locations_.push_back({own, address, {{function, line}}});
    }
  }
  image.location_count = static_cast<uint32_t>(locations_.size()) - image.first_location;
  images_.push_back(std::move(image));
}

double Fleet::Rate(uint32_t rank) const { return rate_ / (1.0 + rank); }

// Chooses the length of a profile so that it has the wanted number of distinct stacks on average.
void Fleet::FitRate() {
  double low = 0;
  double high = 1e9;
  for (int step = 0; step < 100; ++step) {
    rate_ = step < 50 ? std::sqrt((low + 1e-3) * high) : (low + high) / 2;
    double rows = 0;
    for (uint32_t rank = 0; rank < shape_.stacks; ++rank) rows += 1 - std::exp(-Rate(rank));
    (rows < shape_.rows_per_push ? low : high) = rate_;
  }
}

uint64_t Fleet::node_count() const {
  uint64_t count = 0;
  for (const Service& service : services_) count += service.nodes.size() - 1;
  return count;
}

// Puts stacks of one service and version into a profile.
class Fleet::PushWriter {
 public:
  PushWriter(const Fleet& fleet, const Service& service, uint32_t version)
      : fleet_(fleet), service_(service), version_(version) {
    profile_.SetSampleTypes({profile_.InternValueType("samples", "count"),
                             profile_.InternValueType("cpu", "nanoseconds")});
    profile_.header().period_type = profile_.InternValueType("cpu", "nanoseconds");
    profile_.header().period = kPeriodNs;
  }

  void Add(uint32_t leaf, uint32_t samples) {
    frames_.clear();
    for (uint32_t node = leaf; node != 0; node = service_.nodes[node].parent) {
      frames_.push_back(WriteLocation(service_.nodes[node].location));
    }
    const std::array<int64_t, 2> values = {samples, samples * kPeriodNs};
    profile_.AppendSample(profile_.InternStack(frames_), profile::LabelSetId{}, values);
  }

  bool IsCostlier(uint32_t leaf) const {
    const uint32_t location = service_.nodes[leaf].location;
    return version_ == 1 && location >= fleet_.locations_.size() &&
           LocationAt(location).lines[0].function == service_.costlier_function;
  }

  Profile Take() && { return std::move(profile_); }

 private:
  const Location& LocationAt(uint32_t location) const {
    const size_t shared = fleet_.locations_.size();
    return location < shared ? fleet_.locations_[location] : service_.locations[location - shared];
  }

  LocationId WriteLocation(uint32_t number) {
    const auto [at, is_new] = locations_.emplace(number, LocationId{});
    if (!is_new) return at->second;
    const Location& location = LocationAt(number);
    const bool is_own = location.image == fleet_.images_.size();
    lines_.clear();
    for (const Line& line : location.lines) {
      // A few lines were added at the top of each file of the second version.
      lines_.push_back({WriteFunction(line.function), line.line + (is_own ? version_ * 7 : 0), 0});
    }
    const uint64_t moved = is_own ? version_ * 0x3a40 : 0;
    at->second =
        profile_.AddLocation({WriteImage(location.image), location.address + moved, false, lines_});
    return at->second;
  }

  FunctionId WriteFunction(uint32_t number) {
    const auto [at, is_new] = functions_.emplace(number, FunctionId{});
    if (!is_new) return at->second;
    const size_t shared = fleet_.functions_.size();
    const bool is_own = number >= shared;
    const Function& function =
        is_own ? service_.functions[number - shared] : fleet_.functions_[number];
    std::string name = function.name;
    if (version_ == 1 && is_own && number - shared < service_.renamed_functions) name += "Fast";
    const auto name_id = profile_.InternString(name);
    at->second = profile_.AddFunction({name_id, name_id, profile_.InternString(function.file),
                                       function.start_line + (is_own ? version_ * 7 : 0)});
    return at->second;
  }

  MappingId WriteImage(uint32_t image) {
    const auto [at, is_new] = images_.emplace(image, MappingId{});
    if (!is_new) return at->second;
    const bool is_own = image == fleet_.images_.size();
    const std::string path =
        is_own ? "/srv/" + service_.name + "/bin/" + service_.name : fleet_.images_[image].path;
    // Of its own binary each service and version has another one.
    const auto number = static_cast<uint64_t>(&service_ - fleet_.services_.data());
    Random id(fleet_.shape_.seed, 1'000'000 + number * kVersions + version_);
    profile::Mapping mapping;
    mapping.path = profile_.InternString(path);
    mapping.build_id = profile_.InternString(is_own ? Hex(id, 40) : fleet_.images_[image].build_id);
    mapping.memory_start = is_own ? 0x400000 : 0x10000;
    mapping.memory_limit = 0x2000000;
    mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
    mapping.has_inline_frames = is_own;
    at->second = profile_.AddMapping(mapping);
    return at->second;
  }

  const Fleet& fleet_;
  const Service& service_;
  uint32_t version_;
  Profile profile_;
  std::vector<LocationId> frames_;
  std::vector<profile::Line> lines_;
  std::unordered_map<uint32_t, LocationId> locations_;
  std::unordered_map<uint32_t, FunctionId> functions_;
  std::unordered_map<uint32_t, MappingId> images_;
};

Push Fleet::MakePush(uint64_t number) const {
  const uint32_t parts = shape_.services * kVersions;
  const uint64_t round = number / parts;
  // Steps with a stride that has no factor in common with `parts`, from another start each round.
  uint64_t stride = 1 + Random(shape_.seed, round).Below(parts);
  const auto common = [](uint64_t a, uint64_t b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a;
  };
  while (common(stride, parts) != 1) ++stride;
  const auto part = static_cast<uint32_t>((number % parts + 1) * stride % parts);
  const uint32_t service = part / kVersions;
  const uint32_t version = part % kVersions;

  Random random(shape_.seed ^ 0x5ca1ab1e, number);
  const double step_ms =
      static_cast<double>(shape_.duration_ms) / static_cast<double>(shape_.pushes);
  Push push;
  push.service = services_[service].name;
  push.version = kVersionNames[version];
  const uint32_t host = (service * 7 + random.Below(kHostsOfService)) % kHosts;
  push.host = "node-" + std::to_string(host);
  push.time_unix_ms =
      shape_.start_unix_ms +
      static_cast<int64_t>((static_cast<double>(number) + random.Share()) * step_ms);
  PushWriter writer(*this, services_[service], version);
  const std::vector<uint32_t>& stacks = services_[service].leaf_nodes;
  for (uint32_t rank = 0; rank < stacks.size(); ++rank) {
    const double factor = writer.IsCostlier(stacks[rank]) ? kCostlierFactor : 1.0;
    const uint32_t samples = random.Poisson(Rate(rank) * factor);
    if (samples == 0) continue;
    writer.Add(stacks[rank], samples);
    push.samples += samples;
  }
  push.profile = std::move(writer).Take();
  // A profile belongs to the time at which it ended.
  push.profile.header().duration_ns = push.samples * kPeriodNs;
  push.profile.header().time_unix_ns =
      push.time_unix_ms * 1'000'000 - push.profile.header().duration_ns;
  return push;
}

}  // namespace vesta::bench
