// The contract of src/store/contract on a store with small parts, so that few rows make many files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "src/store/contract/store_contract.h"
#include "src/store/disk/disk_store.h"
#include "src/store/disk/files.h"

namespace vesta::store {
namespace {

class DiskUnderTest final : public ContractStore {
 public:
  explicit DiskUnderTest(const ContractWorld& world) {
    std::string pattern = ::testing::TempDir() + "vesta_contract_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    options_.folder = folder_;
    options_.series_max = world.series_max;
    options_.retention.age_ms = world.retention_age_ms;
    options_.now_unix_ms = world.now_unix_ms;
    options_.part_rows_max = 50;
    options_.open_volumes_max = 2;
    options_.maintenance_period_ms = 0;
    options_.on_notice = [](const std::string& sentence) { ADD_FAILURE() << sentence; };
    Open();
  }
  ~DiskUnderTest() override {
    store_.reset();
    EXPECT_TRUE(RemoveAll(folder_).ok());
  }

  Store& store() override { return *store_; }
  base::Result<void> BringTo(ContractMoment moment) override {
    return moment == ContractMoment::kSealed ? store_->Seal() : store_->Settle();
  }
  base::Result<bool> Reopen() override {
    store_.reset();
    Open();
    return true;
  }

 private:
  void Open() {
    auto opened = DiskStore::Open(options_);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    store_ = *std::move(opened);
  }

  std::string folder_;
  DiskStoreOptions options_;
  std::unique_ptr<DiskStore> store_;
};

}  // namespace
}  // namespace vesta::store

INSTANTIATE_TEST_SUITE_P(Disk, StoreContract,
                         ::testing::Values(vesta::store::ContractBackend{
                             "disk", [](const vesta::store::ContractWorld& world) {
                               return std::unique_ptr<vesta::store::ContractStore>(
                                   std::make_unique<vesta::store::DiskUnderTest>(world));
                             }}));
