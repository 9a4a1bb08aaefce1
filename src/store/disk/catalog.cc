#include "src/store/disk/catalog.h"

#include <mutex>
#include <string>
#include <utility>

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

HeldSeries::~HeldSeries() { catalog_->Release(ids_); }

HeldSeries::HeldSeries(HeldSeries&& other) noexcept
    : catalog_(other.catalog_), ids_(std::exchange(other.ids_, {})) {}

HeldSeries& HeldSeries::operator=(HeldSeries&& other) noexcept {
  std::swap(catalog_, other.catalog_);
  std::swap(ids_, other.ids_);
  return *this;
}

void HeldSeries::Add(const Labels& labels) { ids_.push_back(catalog_->Hold(labels)); }

bool HeldSeries::Admit(const Labels& labels) {
  const std::unique_lock lock(catalog_->mutex_);
  const auto holders_of = [this](const Labels& one) {
    const auto found = catalog_->series_ids_.find(one);
    return found == catalog_->series_ids_.end() ? 0 : catalog_->series_[found->second].holders;
  };
  static const Labels kOverflow = OverflowLabels();
  // The overflow series itself takes no place.
  const uint64_t places = catalog_->held_ - (holders_of(kOverflow) > 0 ? 1 : 0);
  const bool is_overflow =
      places >= catalog_->series_max_ && labels != kOverflow && holders_of(labels) == 0;
  ids_.push_back(catalog_->HoldLocked(is_overflow ? kOverflow : labels));
  return is_overflow;
}

SeriesId Catalog::Hold(const Labels& labels) {
  const std::unique_lock lock(mutex_);
  return HoldLocked(labels);
}

SeriesId Catalog::HoldLocked(const Labels& labels) {
  const auto [at, is_new] = series_ids_.emplace(labels, static_cast<uint32_t>(series_.size()));
  if (is_new) series_.push_back({&at->first});
  if (++series_[at->second].holders == 1) ++held_;
  return SeriesId(at->second);
}

void Catalog::Release(const std::vector<SeriesId>& series) {
  if (series.empty()) return;
  const std::unique_lock lock(mutex_);
  for (const SeriesId id : series) {
    if (--series_[id.value()].holders == 0) --held_;
  }
}

ProfileType Catalog::type(TypeId id) const {
  const std::shared_lock lock(mutex_);
  CHECK(id.value() < types_.size());
  return types_[id.value()];
}

Labels Catalog::labels(SeriesId id) const {
  const std::shared_lock lock(mutex_);
  CHECK(id.value() < series_.size());
  return *series_[id.value()].labels;
}

uint64_t Catalog::series_count() const {
  const std::shared_lock lock(mutex_);
  return held_;
}

}  // namespace vesta::store
