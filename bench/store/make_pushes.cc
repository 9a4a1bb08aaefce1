// Writes a week of pushes of a fleet into files, so that sending them costs nothing but the
// sending.
//
//     make_pushes FOLDER PUSHES START_UNIX_MS [SEED [SERVICES [STACKS [ROWS]]]]
//
// FOLDER/pushes.bin   pprof bodies (gzip), one behind the other, in order of time
// FOLDER/pushes.tsv   a line each: offset, bytes, service, version, host, time_unix_ms, rows,
// samples FOLDER/services.txt names, a line each Nothing is made twice: each push has its own
// stacks, values and numbering (see fleet.h).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/store/fleet.h"
#include "src/wire/pprof_encoder.h"

namespace {

using vesta::bench::Fleet;
using vesta::bench::FleetShape;
using vesta::bench::Push;

struct Encoded {
  std::string bytes;
  std::string line;  // without offset and bytes
};

Encoded Encode(const Fleet& fleet, uint64_t number) {
  const Push push = fleet.MakePush(number);
  Encoded result;
  result.bytes = vesta::wire::EncodePprof(push.profile);
  result.line = push.service + '\t' + push.version + '\t' + push.host + '\t' +
                std::to_string(push.time_unix_ms) + '\t' +
                std::to_string(push.profile.sample_count()) + '\t' + std::to_string(push.samples);
  return result;
}

// Makes a stretch of pushes on all CPUs.
std::vector<Encoded> EncodeMany(const Fleet& fleet, uint64_t first, uint64_t count) {
  std::vector<Encoded> result(count);
  const unsigned workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (unsigned worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      for (uint64_t i = worker; i < count; i += workers) result[i] = Encode(fleet, first + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return result;
}

uint64_t Argument(int argc, char** argv, int index, uint64_t otherwise) {
  return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "make_pushes FOLDER PUSHES START_UNIX_MS [SEED [SERVICES [STACKS [ROWS]]]]\n");
    return 2;
  }
  const std::string folder = argv[1];
  FleetShape shape;
  shape.pushes = Argument(argc, argv, 2, 0);
  shape.start_unix_ms = static_cast<int64_t>(Argument(argc, argv, 3, 0));
  shape.seed = Argument(argc, argv, 4, shape.seed);
  shape.services = static_cast<uint32_t>(Argument(argc, argv, 5, shape.services));
  shape.stacks = static_cast<uint32_t>(Argument(argc, argv, 6, shape.stacks));
  shape.rows_per_push = static_cast<uint32_t>(Argument(argc, argv, 7, shape.rows_per_push));
  const Fleet fleet(shape);
  std::ofstream bodies(folder + "/pushes.bin", std::ios::binary);
  std::ofstream index(folder + "/pushes.tsv");
  uint64_t offset = 0;
  constexpr uint64_t kStretch = 512;
  for (uint64_t first = 0; first < shape.pushes; first += kStretch) {
    for (const Encoded& push : EncodeMany(fleet, first, std::min(kStretch, shape.pushes - first))) {
      bodies << push.bytes;
      index << offset << '\t' << push.bytes.size() << '\t' << push.line << '\n';
      offset += push.bytes.size();
    }
  }
  std::ofstream names(folder + "/services.txt");
  for (uint32_t service = 0; service < shape.services; ++service) {
    names << fleet.ServiceName(service) << '\n';
  }
  bodies.close();
  index.close();
  names.close();
  if (!bodies || !index || !names) {
    std::fprintf(stderr, "make_pushes: cannot write into %s\n", folder.c_str());
    return 1;
  }
  std::printf("{\"pushes\": %llu, \"bytes\": %llu, \"nodes\": %llu}\n",
              static_cast<unsigned long long>(shape.pushes),
              static_cast<unsigned long long>(offset),
              static_cast<unsigned long long>(fleet.node_count()));
  return 0;
}
