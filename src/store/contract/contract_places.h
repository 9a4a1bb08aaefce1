// What the rules of the contract run in: a store, a clock, and the places where rows may lie.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/store/contract/contract_answers.h"
#include "src/store/contract/contract_data.h"
#include "src/store/contract/store_contract.h"

namespace vesta::store {

// Where the rows of a test may lie, and whether the store is another process's view of them.
struct ContractPlace {
  const char* name;
  std::vector<ContractMoment> moments;
  bool is_reopened = false;
};

inline const std::vector<ContractPlace>& ContractPlaces() {
  static const std::vector<ContractPlace> places = {
      {"hot", {}},
      {"reopened", {}, true},
      {"sealed", {ContractMoment::kSealed}},
      {"settled", {ContractMoment::kSealed, ContractMoment::kSettled}},
      {"settled and reopened", {ContractMoment::kSettled}, true},
  };
  return places;
}

// A store with a clock that stands still unless the test moves it.
class ContractRun {
 public:
  explicit ContractRun(const ContractBackend& backend, uint64_t series_max = 100'000)
      : now_unix_ms_(kContractNowUnixMs) {
    world_.series_max = series_max;
    world_.now_unix_ms = [this] { return now_unix_ms_.load(); };
    under_test_ = backend.make(world_);
  }
  Store& store() { return under_test_->store(); }
  const ContractWorld& world() const { return world_; }

  void GoTo(const ContractPlace& place) {
    for (const ContractMoment moment : place.moments) {
      now_unix_ms_ += 7'200'000;
      const auto brought = under_test_->BringTo(moment);
      ASSERT_TRUE(brought.ok()) << brought.error().message();
    }
    if (!place.is_reopened) return;
    const auto reopened = under_test_->Reopen();
    ASSERT_TRUE(reopened.ok()) << reopened.error().message();
  }

  AppendOutcome Append(const Batch& batch) {
    const auto outcome = store().Append(batch);
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message());
    return outcome.ok() ? *outcome : AppendOutcome{};
  }

  ContractTotals Totals() {
    const auto all = AskForAll(store());
    EXPECT_TRUE(all.ok());
    const auto totals = StacksTotals(store(), *all);
    EXPECT_TRUE(totals.ok());
    return totals.ok() ? *totals : ContractTotals{};
  }

  // Everything, as a request.
  ReadRequest RequestAll() {
    const auto all = AskForAll(store());
    EXPECT_TRUE(all.ok());
    const auto request = RequestOf(store(), *all);
    EXPECT_TRUE(request.ok());
    return *request;
  }

 private:
  std::atomic<int64_t> now_unix_ms_;
  ContractWorld world_;
  std::unique_ptr<ContractStore> under_test_;
};

}  // namespace vesta::store
