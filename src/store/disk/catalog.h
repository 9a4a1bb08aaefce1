// The series and types of all volumes under one numbering, and the cap on series.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <shared_mutex>

#include "src/store/store.h"

namespace vesta::store {

// Threads: any.
// Cost:    the labels of each series once; ids are never given back while the store is open.
class Catalog {
 public:
  explicit Catalog(uint64_t series_max) : series_max_(series_max) {}

  TypeId InternType(const ProfileType& type);
  // For what volumes hold already: the cap does not matter.
  SeriesId InternSeries(const Labels& labels);
  // The series for new rows, or the overflow series when there is no room for one more.
  struct Admission {
    SeriesId series;
    bool is_overflow = false;
  };
  Admission AdmitSeries(const Labels& labels);

  ProfileType type(TypeId id) const;
  Labels labels(SeriesId id) const;
  uint64_t series_count() const;

 private:
  SeriesId AddLocked(const Labels& labels);

  const uint64_t series_max_;
  mutable std::shared_mutex mutex_;
  std::map<ProfileType, uint32_t> type_ids_;
  std::deque<ProfileType> types_;
  std::map<Labels, uint32_t> series_ids_;
  std::deque<const Labels*> series_;  // keys of series_ids_
};

// The labels of the overflow series.
Labels OverflowLabels();

}  // namespace vesta::store
