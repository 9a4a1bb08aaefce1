// The series and types of all volumes under one numbering, and the cap on series.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <shared_mutex>
#include <vector>

#include "src/store/store.h"

namespace vesta::store {

class Catalog;

// Series that somebody has: a volume, or an append under way. The cap counts those that anybody
// has. Owner: one thread at a time; the catalog lives longer.
class HeldSeries {
 public:
  explicit HeldSeries(Catalog* catalog) : catalog_(catalog) {}
  ~HeldSeries();
  HeldSeries(const HeldSeries&) = delete;
  HeldSeries& operator=(const HeldSeries&) = delete;
  HeldSeries(HeldSeries&& other) noexcept;
  HeldSeries& operator=(HeldSeries&& other) noexcept;

  // For what volumes hold already: the cap does not matter.
  void Add(const Labels& labels);
  // For new rows. Returns whether there was no room for one more series: it is the overflow series
  // then.
  bool Admit(const Labels& labels);
  const std::vector<SeriesId>& ids() const { return ids_; }  // in the order of Add and Admit

 private:
  Catalog* catalog_;
  std::vector<SeriesId> ids_;
};

// Threads: any.
// Cost:    the labels of each series once; ids are never given back while the store is open.
class Catalog {
 public:
  explicit Catalog(uint64_t series_max) : series_max_(series_max) {}

  TypeId InternType(const ProfileType& type);
  ProfileType type(TypeId id) const;
  Labels labels(SeriesId id) const;
  uint64_t series_count() const;  // that anybody has

 private:
  friend class HeldSeries;
  struct Series {
    const Labels* labels;  // key of series_ids_
    uint32_t holders = 0;
  };
  SeriesId Hold(const Labels& labels);
  void Release(const std::vector<SeriesId>& series);
  SeriesId HoldLocked(const Labels& labels);

  const uint64_t series_max_;
  mutable std::shared_mutex mutex_;
  std::map<ProfileType, uint32_t> type_ids_;
  std::deque<ProfileType> types_;
  std::map<Labels, uint32_t> series_ids_;
  std::deque<Series> series_;
  uint64_t held_ = 0;
};

// The labels of the overflow series.
Labels OverflowLabels();

}  // namespace vesta::store
