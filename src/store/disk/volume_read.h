// Reads of one volume: what of the answer comes from roll-ups, and what from rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/store/disk/sum_table.h"
#include "src/store/disk/volume.h"
#include "src/store/duck/duck_db.h"
#include "src/store/index/index_file.h"
#include "src/store/read_guard.h"
#include "src/store/store.h"

namespace vesta::store {

// Which group a series of the store is in.
class SeriesGroups {
 public:
  explicit SeriesGroups(std::span<const GroupedSeries> series);
  std::optional<uint32_t> GroupOf(SeriesId series) const {
    if (series.value() >= groups_.size() || groups_[series.value()] == kNone) return std::nullopt;
    return groups_[series.value()];
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> groups_;
};

// A row as reads see it, with the numbers of the volume.
struct SeenRow {
  uint32_t type = 0;
  uint32_t series = 0;
  uint32_t group = 0;
  uint32_t task = 0;
  uint32_t stack = 0;
  int64_t time_unix_ms = 0;
  int64_t value = 0;
  int64_t count = 0;
  float weight = 1;
};

// Takes rows of a read. Those of a file count only when all of them could be read.
class RowConsumer {
 public:
  virtual ~RowConsumer() = default;
  virtual base::Result<void> Row(const SeenRow& row) = 0;
  virtual base::Result<void> Keep() = 0;  // the rows since the last Keep or Discard
  virtual void Discard() = 0;
  // It cannot hold many more: it is to Keep what it has as soon as the file is known to be whole.
  virtual bool IsFull() const { return false; }
};

// Says what no read of this day can have any more.
void NoteLostRows(const VolumeSnapshot& snapshot, ReadReport* report);

// What roll-ups may answer.
enum class Roll : uint8_t {
  kNone,     // nothing: each row must be seen
  kRange,    // sums of series that are in the range with all their rows
  kMinutes,  // sums of minutes: the ends of the range are whole ones
};

// Owner: one read, one thread.
// Errors: as Store says; a file that is damaged or cannot be read is none: it is noted in the
// report,
//         and in `damage` when it is damaged.
class VolumeRead {
 public:
  VolumeRead(VolumeSnapshot snapshot, const ReadRequest& request, const SeriesGroups& groups,
             const duck::DuckDb& database, ReadGuard* guard, ReadReport* report,
             std::vector<FoundDamage>* damage);
  // Shows names that came late, where there are any.
  void Repair(SymbolRepairs* repairs, symbols::SymbolView* view);
  // Then functions must be summed anew from stacks.
  bool is_repaired() const { return repaired_ != nullptr; }

  // A series of a segment of which all rows are in the range.
  struct Whole {
    const Segment* segment = nullptr;
    size_t place = 0;  // of its index
    uint32_t type = 0;
    uint32_t series = 0;
    uint32_t group = 0;
  };
  // Which roll-ups answer, the rest comes from rows. With a Regroup all is the rest.
  void Sort(Roll roll);
  std::span<const Whole> whole() const { return whole_; }
  // All rows that no Whole stands for, and those of the Wholes that were given back.
  base::Result<void> ForEachRow(uint32_t columns, RowConsumer* consumer);
  // The roll-up cannot be read: its rows must be.
  void ReadRowsOf(const Whole& whole, const base::Error& error);

  const VolumeSnapshot& snapshot() const { return snapshot_; }
  // Null when the names are damaged; that is noted then.
  const index::NodeSource* source() const { return source_; }
  const Names* names() const { return names_; }
  const Callables* callables() const { return callables_; }
  base::Result<Task> task(uint32_t id) const;
  std::optional<uint32_t> GroupOf(uint32_t type, uint32_t series) const;
  void NoteDamage(const std::string& file, const base::Error& error);
  // Of the index, unpacked: for the report.
  void CountIndexBytes(size_t bytes) { report_->index_bytes += bytes; }
  // Notes it when a name of the volume was asked for that could not be read.
  void NoteLostNames();

 private:
  struct Cut {  // what must be read row by row of a segment
    const Segment* segment = nullptr;
    std::vector<std::pair<uint32_t, uint32_t>> wanted;  // (type, series), sorted before the read
  };
  void AddNote(const std::string& note);  // about this day, once
  void SortSegment(const Segment& segment, Roll roll);
  base::Result<void> VisitOpenRows(RowConsumer* consumer);
  base::Result<void> VisitCut(Cut* cut, uint32_t columns, RowConsumer* consumer);
  // Compares the segment's rows with the checksum that the manifest had when the read began.
  base::Result<void> VerifyRows(const Segment& segment) const;
  // Whether the row stays; its group may change.
  base::Result<bool> Regrouped(SeenRow* row);
  Cut& CutOf(const Segment* segment);

  VolumeSnapshot snapshot_;
  const ReadRequest& request_;
  const duck::DuckDb& database_;
  ReadGuard* guard_;
  ReadReport* report_;
  std::vector<FoundDamage>* damage_;
  std::vector<uint8_t> wants_type_;                // by the volume's numbers
  std::vector<std::optional<uint32_t>> group_of_;  // by the volume's numbers of series
  std::unique_ptr<index::VolumeReader> reader_;
  std::unique_ptr<symbols::RepairedNames> repaired_;
  const index::NodeSource* source_ = nullptr;
  const Names* names_ = nullptr;
  const Callables* callables_ = nullptr;
  std::vector<Whole> whole_;
  std::vector<Cut> cuts_;
  std::unordered_map<uint64_t, std::optional<uint32_t>> regrouped_;  // by (group, task)
};

}  // namespace vesta::store
