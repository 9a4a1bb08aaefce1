// Random numbers that are the same on every machine, unlike the distributions of <random>.
#pragma once

#include <cmath>
#include <cstdint>

namespace vesta::bench {

class Random {
 public:
  // Equal seeds give equal numbers; `stream` makes independent ones of one seed.
  explicit Random(uint64_t seed, uint64_t stream = 0)
      : state_(seed * 0x9e3779b97f4a7c15 + stream * 0xd1342543de82ef95) {
    Next();
  }

  uint64_t Next() {  // splitmix64
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  uint32_t Below(uint32_t bound) {
    return static_cast<uint32_t>(((Next() >> 32) * uint64_t{bound}) >> 32);
  }
  double Share() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // [0, 1)
  bool Chance(double share) { return Share() < share; }
  double Normal(double mean, double deviation) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - Share()));
    return mean + deviation * radius * std::cos(6.283185307179586 * Share());
  }
  // How often something happens that happens `mean` times on average.
  uint32_t Poisson(double mean) {
    if (mean > 40)
      return static_cast<uint32_t>(std::lround(std::fmax(0, Normal(mean, std::sqrt(mean)))));
    const double floor = std::exp(-mean);
    uint32_t count = 0;
    for (double product = Share(); product > floor; product *= Share()) ++count;
    return count;
  }

 private:
  uint64_t state_;
};

}  // namespace vesta::bench
