#include "src/store/disk/disk_store.h"

#include <algorithm>
#include <utility>

#include "src/store/disk/day.h"
#include "src/store/disk/disk_store_impl.h"

namespace vesta::store {

DiskStore::DiskStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DiskStore::~DiskStore() = default;

base::Result<std::unique_ptr<DiskStore>> DiskStore::Open(DiskStoreOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<DiskStore>(new DiskStore(std::move(impl)));
}

base::Result<AppendOutcome> DiskStore::Append(const Batch& batch) { return impl_->Append(batch); }
base::Result<SymbolsOutcome> DiskStore::AppendSymbols(const SymbolBatch& batch) {
  return impl_->AppendSymbols(batch);
}
ProfileType DiskStore::type(TypeId id) const { return impl_->catalog().type(id); }
Labels DiskStore::labels(SeriesId id) const { return impl_->catalog().labels(id); }

base::Result<std::vector<SeriesTotal>> DiskStore::Series(TimeRange range, const ReadLimits& limits,
                                                         ReadReport* report) {
  return impl_->Ask(WidenToMinutes(range), report,
                    [&](Answers& answers) { return answers.Series(range, limits); });
}

base::Result<void> DiskStore::Stacks(const ReadRequest& request, ReadReport* report,
                                     const Sink<StackBlock>& sink) {
  return impl_->Ask(request.range, report,
                    [&](Answers& answers) { return answers.Stacks(request, sink); });
}

base::Result<void> DiskStore::Functions(const ReadRequest& request, ReadReport* report,
                                        const Sink<FunctionBlock>& sink) {
  return impl_->Ask(request.range, report,
                    [&](Answers& answers) { return answers.Functions(request, sink); });
}

base::Result<std::vector<TimelineCell>> DiskStore::Timeline(const ReadRequest& request,
                                                            int64_t step_ms, ReadReport* report) {
  return impl_->Ask(request.range, report,
                    [&](Answers& answers) { return answers.Timeline(request, step_ms); });
}

base::Result<void> DiskStore::Rows(const ReadRequest& request, ReadReport* report,
                                   const Sink<RowBlock>& sink) {
  return impl_->Ask(request.range, report,
                    [&](Answers& answers) { return answers.Rows(request, sink); });
}

StoreStatus DiskStore::Status() const { return impl_->Status(); }
DiskStoreStatus DiskStore::disk_status() const { return impl_->disk_status(); }
void DiskStore::RefuseAppends() { impl_->RefuseAppends(); }
base::Result<void> DiskStore::Maintain() { return impl_->Maintain(); }
base::Result<void> DiskStore::Seal() { return impl_->Seal(); }
base::Result<void> DiskStore::Settle() { return impl_->Settle(); }

void DiskStore::Impl::RefuseAppends() {
  const std::lock_guard lock(mutex_);
  refuses_appends_ = true;
  changed_.notify_all();
}

void DiskStore::Impl::Notice(const std::string& sentence) const {
  if (options_.on_notice) options_.on_notice(sentence);
}

std::vector<std::shared_ptr<Volume>> DiskStore::Impl::AllVolumes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Volume>> volumes;
  for (const auto& [id, volume] : volumes_) volumes.push_back(volume);
  return volumes;
}

std::vector<std::shared_ptr<Volume>> DiskStore::Impl::VolumesIn(TimeRange range) const {
  std::vector<std::shared_ptr<Volume>> volumes = AllVolumes();
  std::erase_if(volumes, [range](const auto& volume) {
    return DayStartUnixMs(volume->id().day) >= range.to_unix_ms ||
           DayStartUnixMs(volume->id().day + 1) <= range.from_unix_ms;
  });
  return volumes;
}

StoreStatus DiskStore::Impl::Status() const {
  StoreStatus status;
  std::set<int64_t> days;
  Book book;
  TimeRange range = {INT64_MAX, INT64_MIN};
  {
    // A volume that goes takes its book along under this lock.
    const std::lock_guard lock(mutex_);
    book = state_.book;
    for (const auto& [id, volume] : volumes_) book.Add(volume->book());
    status.refuses_writes = refuses_writes_;
    status.disk_bytes = aside_bytes_;
    if (refuses_appends_) status.refuses_writes = "the store is being closed";
  }
  for (const auto& volume : AllVolumes()) {
    days.insert(volume->id().day);
    status.rows += volume->rows();
    status.disk_bytes += volume->disk_bytes();
    const TimeRange theirs = volume->range();
    range.from_unix_ms = std::min(range.from_unix_ms, theirs.from_unix_ms);
    range.to_unix_ms = std::max(range.to_unix_ms, theirs.to_unix_ms);
  }
  status.days = days.size();
  status.series = catalog_->series_count();
  if (range.from_unix_ms < range.to_unix_ms) status.range = range;
  status.book = book.outcome;
  status.rows_expired = book.rows_expired;
  status.rows_quarantined = book.rows_quarantined;
  const SymbolFilesStatus symbols = symbols_->status();
  status.symbols = symbols.book;
  status.symbol_places = symbols.places;
  status.disk_bytes += symbols.disk_bytes;
  return status;
}

DiskStoreStatus DiskStore::Impl::disk_status() const {
  const SymbolFilesStatus symbols = symbols_->status();
  const std::lock_guard lock(mutex_);
  DiskStoreStatus status = counters_;
  status.symbol_bytes = symbols.disk_bytes;
  status.symbol_memory_bytes = symbols.memory_bytes;
  status.volumes = volumes_.size();
  status.open_volumes = open_.size() + closing_.size();
  status.disk = space_;
  status.files_quarantined = state_.files_quarantined;
  status.quarantine_bytes = aside_bytes_;
  for (const auto& [id, volume] : volumes_) {
    status.open_rows += volume->open_rows();
    status.dictionary_bytes += volume->dictionary_bytes();
    if (volume->is_closed() && volume->rows() == 0) ++status.raw_expired_volumes;
  }
  return status;
}

}  // namespace vesta::store
