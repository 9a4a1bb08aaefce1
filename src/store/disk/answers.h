// The reads of src/store/store.h over volumes that a store gives as snapshots.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "src/base/result.h"
#include "src/store/disk/volume.h"
#include "src/store/disk/volume_read.h"
#include "src/store/store.h"

namespace vesta::store {

// One read of the store.
// Owner: one thread.
class Answers {
 public:
  using Volumes = std::vector<std::shared_ptr<Volume>>;
  Answers(Volumes volumes, const duck::DuckDb& database, SymbolRepairs* repairs, ReadReport* report)
      : volumes_(std::move(volumes)),
        database_(database),
        repairs_(*repairs),
        view_(repairs->files().View()),
        report_(report) {}

  base::Result<std::vector<SeriesTotal>> Series(TimeRange range, const ReadLimits& limits);
  base::Result<void> Stacks(const ReadRequest& request, const Sink<StackBlock>& sink);
  base::Result<void> Functions(const ReadRequest& request, const Sink<FunctionBlock>& sink);
  base::Result<std::vector<TimelineCell>> Timeline(const ReadRequest& request, int64_t step_ms);
  base::Result<void> Rows(const ReadRequest& request, const Sink<RowBlock>& sink);

  // Files that turned out to be damaged.
  std::vector<FoundDamage> TakeDamage() { return std::move(damage_); }
  // What late names it has seen.
  const symbols::SymbolView& view() const { return view_; }

 private:
  using OneVolume = std::function<base::Result<void>(VolumeRead&)>;
  base::Result<void> ForEachVolume(const ReadRequest& request, ReadGuard* guard, Roll roll,
                                   const OneVolume& visit);
  base::Result<void> VolumeStacks(VolumeRead& read, ReadGuard* guard, ValueTable* sums);
  static base::Result<void> SendStacks(VolumeRead& read, std::span<const ValueSum> sums,
                                       ReadGuard* guard, const Sink<StackBlock>& sink);
  static base::Result<void> RowStacks(VolumeRead& read, ReadGuard* guard, ValueTable* sums);
  // key_of(group, time) is the sum that a row of that time is added to.
  using KeyOf = std::function<uint64_t(uint32_t, int64_t)>;
  base::Result<void> TimelineMinutes(const ReadRequest& request, ReadGuard* guard,
                                     const KeyOf& key_of, ValueTable* sums);
  base::Result<void> TimelineRows(const ReadRequest& request, ReadGuard* guard, const KeyOf& key_of,
                                  ValueTable* sums);

  Volumes volumes_;
  const duck::DuckDb& database_;
  SymbolRepairs& repairs_;
  symbols::SymbolView view_;
  ReadReport* report_;
  std::vector<FoundDamage> damage_;
};

}  // namespace vesta::store
