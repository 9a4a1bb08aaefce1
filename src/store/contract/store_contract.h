// What every backend of src/store/store.h must do, as tests that each of them runs.
//
// In the backend's own test, say src/store/disk/disk_contract_test.cc, linked with
// vesta_store_contract:
//
//   class DiskUnderTest final : public store::ContractStore { ... };
//   INSTANTIATE_TEST_SUITE_P(Disk, StoreContract,
//                            ::testing::Values(store::ContractBackend{
//                                "disk", [](const store::ContractWorld& world) {
//                                  return std::unique_ptr<store::ContractStore>(
//                                      std::make_unique<DiskUnderTest>(world));
//                                }}));
//
// The property test runs a few seeds; VESTA_CONTRACT_SEED=n runs that one alone, and
// VESTA_CONTRACT_SEEDS=n the first n.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "src/base/result.h"
#include "src/store/store.h"

namespace vesta::store {

// What a test decides about the store that it wants. Every other option is the backend's: best
// small ones, so that few rows make several parts and files.
struct ContractWorld {
  uint64_t series_max = 100'000;
  int64_t retention_age_ms = int64_t{400} * 86'400'000;
  std::function<int64_t()> now_unix_ms;  // always there; may go forward between calls
};

// Where the rows lie. Each backend maps these to what it has; one that has only one place ignores
// them.
enum class ContractMoment : uint8_t {
  kSealed,   // no row is where new rows go; several files of a day may be there
  kSettled,  // all the maintenance is done that there is: compacted, closed
};

// A fresh, empty store, and what a test may do with it from outside.
class ContractStore {
 public:
  virtual ~ContractStore() = default;
  virtual Store& store() = 0;
  // Waits until it is so.
  virtual base::Result<void> BringTo(ContractMoment moment) = 0;
  // Closes and opens it again on what is durable; store() is another one then, with other ids.
  // Shape: false = this backend keeps nothing, and nothing was done.
  virtual base::Result<bool> Reopen() = 0;
};

struct ContractBackend {
  std::string name;
  std::function<std::unique_ptr<ContractStore>(const ContractWorld&)> make;
};
inline std::ostream& operator<<(std::ostream& out, const ContractBackend& backend) {
  return out << backend.name;
}

}  // namespace vesta::store

// In the global namespace, so that INSTANTIATE_TEST_SUITE_P finds it from anywhere.
class StoreContract : public ::testing::TestWithParam<vesta::store::ContractBackend> {};
