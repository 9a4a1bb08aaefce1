// The slow, obviously correct store: raw rows in memory, each read looks at each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/result.h"
#include "src/store/store.h"

namespace vesta::store {

class MemoryDay;
struct MemorySymbol;

struct MemoryStoreOptions {
  uint64_t series_max = 100'000;  // beyond, rows go to the overflow series, which does not count
  // Rows older than that are refused as too old; 0 = none are. What is kept stays for good.
  int64_t retention_age_ms = 0;
  // The clock; nothing = no row is too old or too new.
  std::function<int64_t()> now_unix_ms = nullptr;
};

// What other backends are compared with, and the double for tests of what stands on a Store.
// Shape:   a block for each UTC day with rows in the range, so that consumers must add up blocks.
// Owner:   shared by any threads; one mutex. It is not held while a sink or Regroup runs: a read
//          sees the rows that were there when it began, and these may call the store.
// Cost:    reads are linear in all rows of the days they touch, times the stack's depth for
//          Functions; the first append after a read copies the day.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryStoreOptions options = {});
  ~MemoryStore() override;

  base::Result<AppendOutcome> Append(const Batch& batch) override;
  base::Result<SymbolsOutcome> AppendSymbols(const SymbolBatch& batch) override;
  ProfileType type(TypeId id) const override;
  Labels labels(SeriesId id) const override;
  base::Result<std::vector<SeriesTotal>> Series(TimeRange range, const ReadLimits& limits,
                                                ReadReport* report) override;
  base::Result<void> Stacks(const ReadRequest& request, ReadReport* report,
                            const Sink<StackBlock>& sink) override;
  base::Result<void> Functions(const ReadRequest& request, ReadReport* report,
                               const Sink<FunctionBlock>& sink) override;
  base::Result<std::vector<TimelineCell>> Timeline(const ReadRequest& request, int64_t step_ms,
                                                   ReadReport* report) override;
  base::Result<void> Rows(const ReadRequest& request, ReadReport* report,
                          const Sink<RowBlock>& sink) override;
  StoreStatus Status() const override;

 private:
  struct DaySlot {
    std::shared_ptr<MemoryDay> day;
    bool is_shared = false;  // a read holds it: the next append changes a copy
  };

  struct AssignedSeries {
    SeriesId id;
    bool is_overflow = false;
  };

  void KeepRows(const Batch& batch, AppendOutcome* outcome);
  void KeepSymbols(const SymbolBatch& batch, SymbolsOutcome* outcome);
  AssignedSeries AssignSeries(const Labels& labels);
  TypeId AssignType(const ProfileType& type);
  MemoryDay& MutableDay(int64_t day);
  std::vector<std::shared_ptr<const MemoryDay>> DaysIn(TimeRange range);

  const MemoryStoreOptions options_;

  mutable std::mutex mutex_;
  std::vector<Labels> series_;
  std::map<Labels, SeriesId> series_ids_;
  std::vector<ProfileType> types_;
  std::map<ProfileType, TypeId> type_ids_;
  std::set<BatchId> batches_;
  std::map<int64_t, DaySlot> days_;
  AppendOutcome book_;
  // By (is build id, image, address).
  std::map<std::tuple<bool, std::string, uint64_t>, MemorySymbol> symbols_;
  std::set<BatchId> symbol_batches_;
  SymbolsOutcome symbol_book_;
};

}  // namespace vesta::store
