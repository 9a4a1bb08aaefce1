// What a machine's batches cost on the wire: bytes per sample of OTLP, plain and compressed, alone,
// against the batch before, and as an agent sends them: with the tables of the batches before.
// Prints one JSON object per machine; times are CPU time of this process.
//
//     wire_bench [BATCHES]      default 6
//
// A machine runs two versions of some services of the fleet (fleet.h), each a container with 8 busy
// threads; a batch is 10 s of samples at 99 Hz. Every batch draws its stacks anew.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/store/fleet.h"
#include "bench/store/random.h"
#include "src/base/json.h"
#include "src/batch/batch.h"
#include "src/wire/otlp_decoder.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/zstd.h"

namespace {

using vesta::batch::Batch;
using vesta::bench::Fleet;
using vesta::bench::FleetShape;
using vesta::bench::Push;
using vesta::bench::Random;
using vesta::profile::LocationId;
using vesta::profile::Profile;
using vesta::profile::StackId;

constexpr int64_t kPeriodNs = 10'101'010;
constexpr int64_t kWindowMs = 10'000;
constexpr int64_t kStartMs = 1'795'996'800'000;
constexpr uint32_t kThreads = 8;
// As the agent does it (src/uplink/http_sink.h).
constexpr uint64_t kTablesBytesMax = uint64_t{1} << 20;
constexpr int kSentLevel = 6;

struct Machine {
  const char* name;
  uint32_t services;
  size_t samples;  // of a batch
};

// Copies stacks of a push into the profile of a batch.
class Copier {
 public:
  Copier(const Profile& from, std::map<std::string, vesta::profile::MappingId>* mappings,
         Profile* to)
      : from_(from), mappings_(mappings), to_(to) {}

  StackId Copy(StackId id) {
    std::vector<LocationId> stack;
    for (const LocationId location : from_.stack(id)) stack.push_back(CopyLocation(location));
    return to_->InternStack(stack);
  }

 private:
  LocationId CopyLocation(LocationId id) {
    vesta::profile::Location location = from_.location(id);
    std::vector<vesta::profile::Line> lines;
    for (vesta::profile::Line line : location.lines) {
      vesta::profile::Function function = from_.function(line.function);
      function.name = Text(function.name);
      function.system_name = Text(function.system_name);
      function.file = Text(function.file);
      line.function = to_->InternFunction(function);
      lines.push_back(line);
    }
    if (location.mapping != vesta::profile::kNoMapping) {
      vesta::profile::Mapping mapping = from_.mapping(location.mapping);
      const std::string key = std::string(from_.String(mapping.path)) + ' ' +
                              std::string(from_.String(mapping.build_id));
      const auto known = mappings_->find(key);
      if (known == mappings_->end()) {
        mapping.path = Text(mapping.path);
        mapping.build_id = Text(mapping.build_id);
        location.mapping = mappings_->emplace(key, to_->AddMapping(mapping)).first->second;
      } else {
        location.mapping = known->second;
      }
    }
    location.lines = lines;
    return to_->InternLocation(location);
  }

  vesta::profile::StringId Text(vesta::profile::StringId id) {
    return to_->InternString(from_.String(id));
  }

  const Profile& from_;
  std::map<std::string, vesta::profile::MappingId>* mappings_;
  Profile* to_;
};

struct MadeBatch {
  Profile profile;
  Batch batch;
};

std::string Hex(uint64_t seed, size_t digits) {
  Random random(seed);
  std::string text;
  while (text.size() < digits) text += "0123456789abcdef"[random.Below(16)];
  return text;
}

// What the agent knows of a process. `number` tells processes apart and stays from batch to batch.
vesta::batch::Labels LabelsOf(const Push& push, uint64_t number) {
  return {{"container.id", Hex(number, 64)},
          {"exe", "/usr/bin/" + push.service},
          {"host.name", "node-17.eu-west.example.com"},
          {"k8s.pod.uid", Hex(number + 1000, 32)},
          {"process", push.service.substr(0, 15)},
          {"service.name", push.service},
          {"service.rule", "environment variable"},
          {"service.version", push.version}};
}

void AddProcess(const Push& push, size_t samples, uint64_t number, int64_t start_ms, Copier& copier,
                Random& random, MadeBatch* made) {
  const auto series = static_cast<uint32_t>(made->batch.series.size());
  made->batch.series.push_back(LabelsOf(push, number));
  const auto first_task = static_cast<uint32_t>(made->batch.tasks.size());
  const auto pid = static_cast<uint32_t>(20'000 + number * 97);
  for (uint32_t i = 0; i < kThreads; ++i)
    made->batch.tasks.push_back({pid, pid + i, "worker-" + std::to_string(i)});
  size_t made_samples = 0;
  for (size_t i = 0; made_samples < samples && i < push.profile.sample_count(); ++i) {
    const StackId stack = copier.Copy(push.profile.sample_stack(i));
    for (int64_t n = push.profile.sample_values(i)[0]; n > 0 && made_samples < samples; --n) {
      made->batch.rows.push_back(
          {.type = 0,
           .series = series,
           .task = first_task + static_cast<uint32_t>(random.Below(kThreads)),
           .stack = stack,
           .time_unix_ms = start_ms + static_cast<int64_t>(random.Below(kWindowMs)),
           .value = kPeriodNs});
      ++made_samples;
    }
  }
}

// Batch `number` of the machine; the fleet's pushes of one round are its processes.
void MakeBatch(const Fleet& fleet, const Machine& machine, uint64_t number, MadeBatch* made) {
  const uint64_t processes = uint64_t{machine.services} * 2;
  const int64_t start_ms = kStartMs + static_cast<int64_t>(number) * kWindowMs;
  vesta::profile::Header& header = made->profile.header();
  header.period_type = made->profile.InternValueType("cpu", "nanoseconds");
  header.period = kPeriodNs;
  header.time_unix_ns = start_ms * 1'000'000;
  header.duration_ns = kWindowMs * 1'000'000;
  made->batch.id = {Hex(1, 32), "5f1c0a52-3a0e-4f0e-9d83-8e9d1f7c2b11.4f3a", number + 1};
  made->batch.profile = &made->profile;
  made->batch.types = {{"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"}};
  std::map<std::string, vesta::profile::MappingId> mappings;
  Random random(number + 77);
  // The same process is at another place of each round.
  std::vector<Push> pushes;
  for (uint64_t i = 0; i < processes; ++i) pushes.push_back(fleet.MakePush(number * processes + i));
  std::sort(pushes.begin(), pushes.end(), [](const Push& a, const Push& b) {
    return std::pair(a.service, a.version) < std::pair(b.service, b.version);
  });
  for (uint64_t i = 0; i < processes; ++i) {
    Copier copier(pushes[i].profile, &mappings, &made->profile);
    AddProcess(pushes[i], machine.samples / processes, i, start_ms, copier, random, made);
  }
  std::sort(made->batch.rows.begin(), made->batch.rows.end(),
            [](const auto& a, const auto& b) { return a.time_unix_ms < b.time_unix_ms; });
}

double CpuSeconds(std::clock_t since) {
  return static_cast<double>(std::clock() - since) / CLOCKS_PER_SEC;
}

struct Totals {
  uint64_t samples = 0;
  uint64_t stacks = 0;
  std::map<std::string, double> bytes;
  std::map<std::string, double> seconds;
};

void Measure(const Machine& machine, uint64_t batches) {
  FleetShape shape;
  shape.services = machine.services;
  shape.rows_per_push = static_cast<uint32_t>(machine.samples / machine.services / 2);
  shape.pushes = batches * machine.services * 2;
  shape.start_unix_ms = kStartMs;
  const Fleet fleet(shape);
  std::string before;
  std::string before_in_tables;
  vesta::wire::otlp::DictionaryTables tables;
  Totals totals;
  for (uint64_t number = 0; number < batches; ++number) {
    MadeBatch made;
    MakeBatch(fleet, machine, number, &made);
    std::clock_t start = std::clock();
    const std::string plain = vesta::wire::EncodeOtlp(made.batch, {});
    const double encode_s = CpuSeconds(start);
    start = std::clock();
    if (tables.bytes() > std::max<uint64_t>(kTablesBytesMax, 4 * before.size())) tables = {};
    const std::string in_tables = vesta::wire::EncodeOtlp(made.batch, {}, &tables);
    const double encode_tables_s = CpuSeconds(start);
    // The first batch has none before it.
    if (number == 0) {
      before = plain;
      before_in_tables = in_tables;
      continue;
    }
    totals.samples += made.batch.rows.size();
    totals.stacks += made.profile.stack_count();
    totals.seconds["encode"] += encode_s;
    totals.seconds["encode_tables"] += encode_tables_s;
    totals.bytes["plain"] += static_cast<double>(plain.size());
    totals.bytes["plain_tables"] += static_cast<double>(in_tables.size());
    for (const int level : {1, 3}) {
      const std::string name = "zstd" + std::to_string(level);
      start = std::clock();
      totals.bytes[name] += static_cast<double>(vesta::wire::Zstd(plain, level).size());
      totals.seconds[name] += CpuSeconds(start);
      start = std::clock();
      const std::string packed = vesta::wire::Zstd(plain, level, before);
      totals.seconds[name + "_after"] += CpuSeconds(start);
      totals.bytes[name + "_after"] += static_cast<double>(packed.size());
      CHECK(*vesta::wire::Unzstd(packed, plain.size(), before) == plain);
    }
    start = std::clock();
    const std::string sent = vesta::wire::Zstd(in_tables, kSentLevel, before_in_tables);
    totals.seconds["sent"] += CpuSeconds(start);
    totals.bytes["sent"] += static_cast<double>(sent.size());
    start = std::clock();
    const auto decoded_tables = vesta::wire::DecodeOtlp(in_tables, {});
    totals.seconds["decode_tables"] += CpuSeconds(start);
    CHECK(decoded_tables.ok() && decoded_tables->batch.rows.size() == made.batch.rows.size());
    start = std::clock();
    const auto decoded = vesta::wire::DecodeOtlp(plain, {});
    totals.seconds["decode"] += CpuSeconds(start);
    CHECK(decoded.ok() && decoded->batch.rows.size() == made.batch.rows.size());
    before = plain;
    before_in_tables = in_tables;
  }
  const auto samples = static_cast<double>(totals.samples);
  vesta::base::JsonWriter json;
  json.BeginObject().Key("machine").String(machine.name);
  json.Key("samples_per_batch").Double(samples / static_cast<double>(batches - 1));
  json.Key("samples_per_stack").Double(samples / static_cast<double>(totals.stacks));
  json.Key("bytes_per_sample").BeginObject();
  for (const auto& [name, bytes] : totals.bytes) json.Key(name).Double(bytes / samples);
  json.EndObject().Key("ns_per_sample").BeginObject();
  for (const auto& [name, seconds] : totals.seconds) json.Key(name).Double(seconds * 1e9 / samples);
  json.EndObject().EndObject();
  std::printf("%s\n", json.Take().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t batches = argc > 1 ? std::max(2ull, std::strtoull(argv[1], nullptr, 10)) : 6;
  for (const Machine& machine :
       {Machine{"2 cores, 4 processes", 2, 1'980}, Machine{"16 cores, 40 processes", 20, 15'840},
        Machine{"16 cores, a tenth busy", 20, 1'584}})
    Measure(machine, batches);
  return 0;
}
