// Made-up batches for tests of stores: seeded, and odd in every way that is allowed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/profile/profile.h"
#include "src/store/batch.h"

namespace vesta::store {

inline constexpr int64_t kContractDayMs = 86'400'000;
// Where the tests' clock stands when they begin: a quarter past ten in the morning.
inline constexpr int64_t kContractNowUnixMs = int64_t{20'500} * kContractDayMs + 36'900'000;

// Equal seeds give equal numbers on every machine.
class ContractRandom {
 public:
  explicit ContractRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  uint64_t Below(uint64_t end) { return Next() % end; }
  int64_t Between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(Below(static_cast<uint64_t>(last - first) + 1));
  }
  bool Chance(uint64_t one_in) { return Below(one_in) == 0; }

 private:
  uint64_t state_;
};

// Owner: a batch points at its profile, so both stay where they are.
struct GivenBatch {
  profile::Profile profile;
  Batch batch;
};

// Few batches of a scene share all their names, many share some.
struct ContractScene {
  uint64_t series = 8;        // different label sets
  int64_t days_back = 6;      // rows lie between so many days before now and now
  uint64_t rows_max = 80;     // of a batch
  bool has_odd_times = true;  // a few rows are too old or too new
};

// Shape: a batch with an id, valid, with stacks without frames, of hundreds of frames, shared ones,
//        inlined lines, functions without names, addresses without images, values of 0.
std::unique_ptr<GivenBatch> RandomBatch(ContractRandom* random, const ContractScene& scene,
                                        uint64_t sequence);

// One row of each (value, count): one series, one type, one stack main -> work, at the time.
struct SimpleRow {
  int64_t value = 1;
  int64_t count = 1;
  int64_t time_unix_ms = kContractNowUnixMs;
};
std::unique_ptr<GivenBatch> SimpleBatch(const std::vector<SimpleRow>& rows,
                                        const std::string& service = "simple");

}  // namespace vesta::store
