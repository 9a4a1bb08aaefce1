// A fleet of services that do not exist, and what their profilers would push in a week.
//
// Each service has a call tree of its own code over libraries that many services share (the
// language's runtime, libc, the kernel), in two versions that run all week: the second has another
// build id, other addresses and lines, three renamed functions, and one whose samples are 12 %
// more. A push is what a profiler of 100 Hz sends: stacks are drawn with a probability that falls
// with their rank (Zipf), equal ones are added up. So every push has other stacks, other values,
// other numbers for its locations, functions and strings; nothing but the tree behind it is the
// same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/profile/profile.h"

namespace vesta::bench {

struct FleetShape {
  uint64_t seed = 1;
  uint32_t services = 200;
  uint32_t stacks = 3500;         // of a service's tree, equal in both versions
  uint32_t rows_per_push = 1000;  // on average
  uint64_t pushes = 1000;
  int64_t start_unix_ms = 0;  // a midnight, UTC
  int64_t duration_ms = int64_t{7} * 86'400'000;
};

// Shape: pushes are in order of time; each round of services x versions has each once, shuffled.
struct Push {
  std::string service;
  std::string version;
  std::string host;
  int64_t time_unix_ms = 0;
  profile::Profile profile;  // "samples" and "cpu", period 10 ms
  int64_t samples = 0;       // sum of the values
};

// Cost: about 200 KB per service.
// Owner: const after the constructor; any number of threads may call MakePush.
class Fleet {
 public:
  explicit Fleet(const FleetShape& shape);

  // number < shape().pushes. Equal shapes and numbers give equal pushes.
  Push MakePush(uint64_t number) const;
  const FleetShape& shape() const { return shape_; }
  std::string ServiceName(uint32_t service) const { return services_[service].name; }
  // Of all trees of one version.
  uint64_t node_count() const;

 private:
  friend class ServiceMaker;
  struct Function {
    std::string name;
    std::string file;
    uint32_t start_line = 0;
  };
  struct Line {
    uint32_t function = 0;  // of functions_, or of the service behind those
    uint32_t line = 0;
  };
  struct Location {
    uint32_t image = 0;  // of images_, or images_.size() = the service's own
    uint64_t address = 0;
    std::vector<Line> lines;  // innermost first
  };
  struct Node {
    uint32_t parent = 0;
    uint32_t location = 0;  // of locations_, or of the service behind those
  };
  struct Service {
    std::string name;
    std::vector<Function> functions;
    std::vector<Location> locations;
    std::vector<Node> nodes;           // 0 is the root and has no location
    std::vector<uint32_t> leaf_nodes;  // of stacks, the commonest first
    uint32_t costlier_function = 0;
    uint32_t renamed_functions = 0;  // the first ones of `functions`
  };
  struct Image {
    std::string path;
    std::string build_id;
    uint32_t first_location = 0;
    uint32_t location_count = 0;
  };
  class PushWriter;

  void MakeLibraries();
  void MakeLibrary(const std::string& path, uint32_t language, uint32_t functions, uint64_t stream);
  void FitRate();
  double Rate(uint32_t rank) const;

  FleetShape shape_;
  std::vector<Image> images_;  // libraries
  std::vector<Function> functions_;
  std::vector<Location> locations_;
  std::vector<Service> services_;
  double rate_ = 0;  // expected samples of the commonest stack in a push
};

}  // namespace vesta::bench
