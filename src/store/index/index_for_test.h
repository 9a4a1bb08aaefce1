// Profiles of made-up services for the tests and benches of the index: trees of calls as programs
// have them, with what is rare mixed in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "src/profile/profile.h"

namespace vesta::store::index {

struct ServiceShape {
  uint32_t functions = 40;
  uint32_t stacks = 60;
  uint32_t depth = 8;
  bool has_oddities = true;  // inlining, recursion, code without names, equal locations, ...
};

// The call graph of a service; a push is a profile of some of its stacks.
// Shape: about four nodes of its trie are a stack's own.
class Service {
 public:
  Service(uint32_t number, const ServiceShape& shape) : number_(number), shape_(shape) {
    std::mt19937_64 random(number);
    callees_.resize(shape.functions);
    for (auto& callees : callees_) {
      for (uint32_t i = 0; i < kFanOut; ++i)
        callees.push_back(static_cast<uint32_t>(random() % shape.functions));
    }
    while (stacks_.size() < shape.stacks) {
      std::vector<uint32_t> path = {0};  // root first
      if (!stacks_.empty()) {
        path = stacks_[random() % stacks_.size()];
        const size_t cut = 1 + random() % 7;
        path.resize(path.size() > cut + 1 ? path.size() - cut : 1);
      }
      const size_t depth = shape.depth - std::min<size_t>(random() % 3, shape.depth - 1);
      while (path.size() < depth) path.push_back(callees_[path.back()][random() % kFanOut]);
      stacks_.push_back(path);
    }
  }

  // The profile of a push with the given stacks of this service, in any order; ids[i] is that of
  // which[i].
  profile::Profile Push(const std::vector<uint32_t>& which,
                        std::vector<profile::StackId>* ids) const {
    profile::Profile profile;
    const std::string name = "service" + std::to_string(number_);
    profile::Mapping mapping;
    mapping.path = profile.InternString("/opt/" + name + "/bin/" + name);
    mapping.build_id = profile.InternString("b01d" + std::to_string(number_));
    mapping.memory_start = 0x400000;
    mapping.memory_limit = 0x800000;
    const profile::MappingId image = profile.AddMapping(mapping);
    std::vector<profile::LocationId> locations;
    for (uint32_t i = 0; i < shape_.functions; ++i)
      locations.push_back(MakeLocation(i, name, image, &profile));
    ids->clear();
    for (const uint32_t stack : which) {
      std::vector<profile::LocationId> leaf_first;
      for (const uint32_t function : stacks_[stack]) leaf_first.push_back(locations[function]);
      std::reverse(leaf_first.begin(), leaf_first.end());
      if (shape_.has_oddities && stack % 13 == 7) leaf_first.clear();
      ids->push_back(profile.InternStack(leaf_first));
    }
    return profile;
  }

  uint32_t stack_count() const { return static_cast<uint32_t>(stacks_.size()); }

 private:
  static constexpr uint32_t kFanOut = 12;

  profile::LocationId MakeLocation(uint32_t i, const std::string& service, profile::MappingId image,
                                   profile::Profile* profile) const {
    const auto function = [&](const std::string& name) {
      profile::Function its;
      its.name = profile->InternString(name);
      its.system_name = its.name;
      its.file = profile->InternString("/src/" + service + "/file" + std::to_string(i / 8) + ".cc");
      its.start_line = 10 * i;
      return profile->InternFunction(its);
    };
    const std::string name = service + "::Request::Handle" + std::to_string(i) + "(int, char)";
    std::vector<profile::Line> lines = {{function(name), 10 * i + 3, 0}};
    profile::Location location = {image, 0x400000 + 64 * i, false, {}};
    if (shape_.has_oddities) {
      if (i % 5 == 1) lines.insert(lines.begin(), {function("inlined"), 7, int64_t{i}});
      if (i % 7 == 2) lines.insert(lines.begin(), lines[0]);
      if (i % 6 == 3) lines.clear();
      if (i % 8 == 4) location.mapping = profile::kNoMapping;
      if (i % 9 == 5) lines = {{profile->AddFunction({}), 0, 0}};
      if (i % 11 == 6) location.address = 0x400000;
      location.is_folded = i % 10 == 8;
    }
    location.lines = lines;
    return profile->InternLocation(location);
  }

  uint32_t number_;
  ServiceShape shape_;
  std::vector<std::vector<uint32_t>> callees_;
  std::vector<std::vector<uint32_t>> stacks_;  // functions, root first
};

}  // namespace vesta::store::index
