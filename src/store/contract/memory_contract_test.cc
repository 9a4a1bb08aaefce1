// The contract as the reference store keeps it: the suite's own test.
#include "src/store/contract/store_contract.h"
#include "src/store/memory/memory_store.h"

namespace vesta::store {
namespace {

class MemoryUnderTest final : public ContractStore {
 public:
  explicit MemoryUnderTest(const ContractWorld& world)
      : store_({.series_max = world.series_max,
                .retention_age_ms = world.retention_age_ms,
                .now_unix_ms = world.now_unix_ms}) {}
  Store& store() override { return store_; }
  base::Result<void> BringTo(ContractMoment /*moment*/) override { return {}; }
  base::Result<bool> Reopen() override { return false; }

 private:
  MemoryStore store_;
};

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract,
                         ::testing::Values(ContractBackend{
                             "memory", [](const ContractWorld& world) {
                               return std::unique_ptr<ContractStore>(
                                   std::make_unique<MemoryUnderTest>(world));
                             }}));

}  // namespace
}  // namespace vesta::store
