// Stretches recordings of real programs to an hour in which each sample has its own time.
//
//     make_hour FOLDER START_UNIX_MS RECORDING...
//
// A recording of `vesta record` says how often each stack of each thread was seen, not when. Here
// the machine ticks 99 times a second on each of its CPUs for an hour; at each tick one sample is
// drawn from the recordings, with the probability that they saw it with. So stacks, threads, names
// and their shares are real; the order is as random as it can be, which is the worst for
// compression. Every ten seconds is a push, in the form of make_pushes (same files, except
// services.txt).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "bench/store/random.h"
#include "src/profile/profile.h"
#include "src/store/row_labels.h"
#include "src/wire/pprof_encoder.h"
#include "src/wire/profile_file.h"

namespace {

using vesta::profile::Label;
using vesta::profile::Profile;

constexpr int64_t kHourMs = 3'600'000;
constexpr int64_t kPushMs = 10'000;
constexpr int64_t kFrequencyHz = 99;
constexpr int64_t kPeriodNs = 1'000'000'000 / kFrequencyHz;
constexpr uint32_t kCpus = 2;

// The samples of all recordings, and how likely each is.
class Machine {
 public:
  void Add(const Profile& profile) {
    for (size_t sample = 0; sample < profile.sample_count(); ++sample) {
      total_ += static_cast<uint64_t>(std::max<int64_t>(profile.sample_values(sample)[0], 0));
      entries_.push_back({&profile, sample, total_});
    }
  }
  uint64_t total() const { return total_; }

  // Adds a sample that was seen then.
  void Tick(vesta::bench::Random& random, int64_t time_unix_ms, Profile& out) const {
    const uint64_t at = random.Next() % total_;
    const auto entry =
        std::upper_bound(entries_.begin(), entries_.end(), at,
                         [](uint64_t value, const Entry& one) { return value < one.end; });
    std::vector<vesta::profile::LocationId> frames;
    const Profile& from = *entry->profile;
    for (const auto location : from.stack(from.sample_stack(entry->sample))) {
      frames.push_back(Copy(from, location, out));
    }
    std::vector<Label> labels;
    for (const Label& label : from.labels(from.sample_labels(entry->sample))) {
      labels.push_back({out.InternString(from.String(label.key)),
                        out.InternString(from.String(label.text)), label.number,
                        out.InternString(from.String(label.unit))});
    }
    labels.push_back(out.NumberLabel(vesta::store::kRowTime, time_unix_ms, "milliseconds"));
    const int64_t values[] = {1, kPeriodNs};
    out.AppendSample(out.InternStack(frames), out.InternLabels(labels), values);
  }

 private:
  struct Entry {
    const Profile* profile;
    size_t sample;
    uint64_t end;  // sum of the counts up to this one
  };

  static vesta::profile::LocationId Copy(const Profile& from, vesta::profile::LocationId id,
                                         Profile& out) {
    const vesta::profile::Location location = from.location(id);
    std::vector<vesta::profile::Line> lines;
    for (const vesta::profile::Line& line : location.lines) {
      const auto& function = from.function(line.function);
      lines.push_back(
          {out.InternFunction({out.InternString(from.String(function.name)),
                               out.InternString(from.String(function.system_name)),
                               out.InternString(from.String(function.file)), function.start_line}),
           line.line, line.column});
    }
    vesta::profile::MappingId mapping = vesta::profile::kNoMapping;
    if (location.mapping != vesta::profile::kNoMapping) {
      mapping = CopyMapping(from.mapping(location.mapping), from, out);
    }
    return out.InternLocation({mapping, location.address, location.is_folded, lines});
  }

  static vesta::profile::MappingId CopyMapping(const vesta::profile::Mapping& mapping,
                                               const Profile& from, Profile& out) {
    vesta::profile::Mapping copy = mapping;
    copy.path = out.InternString(from.String(mapping.path));
    copy.build_id = out.InternString(from.String(mapping.build_id));
    for (uint32_t i = 0; i < out.mapping_count(); ++i) {
      const auto& one = out.mapping(vesta::profile::MappingId(i));
      if (one.path == copy.path && one.build_id == copy.build_id &&
          one.memory_start == copy.memory_start) {
        return vesta::profile::MappingId(i);
      }
    }
    return out.AddMapping(copy);
  }

  std::vector<Entry> entries_;
  uint64_t total_ = 0;
};

Profile MakePush(const Machine& machine, vesta::bench::Random& random, int64_t start_unix_ms) {
  Profile push;
  push.SetSampleTypes(
      {push.InternValueType("samples", "count"), push.InternValueType("cpu", "nanoseconds")});
  push.header().period_type = push.InternValueType("cpu", "nanoseconds");
  push.header().period = kPeriodNs;
  push.header().time_unix_ns = start_unix_ms * 1'000'000;
  push.header().duration_ns = kPushMs * 1'000'000;
  for (int64_t tick = 0; tick < kPushMs * kFrequencyHz / 1000; ++tick) {
    for (uint32_t cpu = 0; cpu < kCpus; ++cpu) {
      machine.Tick(random, start_unix_ms + tick * 1000 / kFrequencyHz, push);
    }
  }
  return push;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "make_hour FOLDER START_UNIX_MS RECORDING...\n");
    return 2;
  }
  const std::string folder = argv[1];
  const int64_t start_unix_ms = std::strtoll(argv[2], nullptr, 10);
  std::vector<Profile> recordings;
  for (int i = 3; i < argc; ++i) {
    auto profile = vesta::wire::ReadProfileFile(argv[i]);
    if (!profile.ok()) {
      std::fprintf(stderr, "make_hour: %s\n", profile.error().message().c_str());
      return 1;
    }
    recordings.push_back(std::move(*profile));
  }
  Machine machine;
  for (const Profile& profile : recordings) machine.Add(profile);
  if (machine.total() == 0) {
    std::fprintf(stderr, "make_hour: there is not one sample\n");
    return 1;
  }
  vesta::bench::Random random(1);
  std::ofstream bodies(folder + "/pushes.bin", std::ios::binary);
  std::ofstream index(folder + "/pushes.tsv");
  uint64_t offset = 0;
  for (int64_t at = 0; at < kHourMs; at += kPushMs) {
    const Profile push = MakePush(machine, random, start_unix_ms + at);
    const std::string bytes = vesta::wire::EncodePprof(push);
    bodies << bytes;
    index << offset << '\t' << bytes.size() << "\trecorded\t\tnode-1\t" << start_unix_ms + at
          << '\t' << push.sample_count() << '\t' << push.sample_count() << '\n';
    offset += bytes.size();
  }
  bodies.close();
  index.close();
  if (bodies && index) return 0;
  std::fprintf(stderr, "make_hour: cannot write into %s\n", folder.c_str());
  return 1;
}
