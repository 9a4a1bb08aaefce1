#include "src/store/disk/catalog.h"

#include <mutex>
#include <string>

#include "src/base/check.h"

namespace vesta::store {

Labels OverflowLabels() { return {{std::string(kOverflowLabel), "true"}}; }

TypeId Catalog::InternType(const ProfileType& type) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = type_ids_.find(type); found != type_ids_.end()) {
      return TypeId(found->second);
    }
  }
  const std::unique_lock lock(mutex_);
  const auto [at, is_new] = type_ids_.emplace(type, static_cast<uint32_t>(types_.size()));
  if (is_new) types_.push_back(type);
  return TypeId(at->second);
}

SeriesId Catalog::InternSeries(const Labels& labels) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = series_ids_.find(labels); found != series_ids_.end()) {
      return SeriesId(found->second);
    }
  }
  const std::unique_lock lock(mutex_);
  return AddLocked(labels);
}

Catalog::Admission Catalog::AdmitSeries(const Labels& labels) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = series_ids_.find(labels); found != series_ids_.end()) {
      return {SeriesId(found->second), false};
    }
  }
  const std::unique_lock lock(mutex_);
  const bool is_known = series_ids_.contains(labels);
  // The overflow series itself takes no place.
  const uint64_t places = series_.size() - (series_ids_.contains(OverflowLabels()) ? 1 : 0);
  if (!is_known && places >= series_max_ && labels != OverflowLabels()) {
    return {AddLocked(OverflowLabels()), true};
  }
  return {AddLocked(labels), false};
}

SeriesId Catalog::AddLocked(const Labels& labels) {
  const auto [at, is_new] = series_ids_.emplace(labels, static_cast<uint32_t>(series_.size()));
  if (is_new) series_.push_back(&at->first);
  return SeriesId(at->second);
}

ProfileType Catalog::type(TypeId id) const {
  const std::shared_lock lock(mutex_);
  CHECK(id.value() < types_.size());
  return types_[id.value()];
}

Labels Catalog::labels(SeriesId id) const {
  const std::shared_lock lock(mutex_);
  CHECK(id.value() < series_.size());
  return *series_[id.value()];
}

uint64_t Catalog::series_count() const {
  const std::shared_lock lock(mutex_);
  return series_.size();
}

}  // namespace vesta::store
