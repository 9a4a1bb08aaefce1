// What is damaged is found, set aside, and made anew where that is possible.
#include <algorithm>
#include <utility>

#include "src/store/disk/day.h"
#include "src/store/disk/disk_store_impl.h"

namespace vesta::store {

void DiskStore::Impl::Remember(std::vector<FoundDamage> damage) {
  const std::lock_guard lock(mutex_);
  for (FoundDamage& found : damage) {
    const bool is_known = std::any_of(damage_.begin(), damage_.end(), [&](const FoundDamage& d) {
      return d.volume == found.volume && d.file == found.file;
    });
    if (!is_known) damage_.push_back(std::move(found));
  }
}

void DiskStore::Impl::Repair() {
  for (;;) {
    std::vector<FoundDamage> damage;
    {
      const std::lock_guard lock(mutex_);
      damage.swap(damage_);
    }
    bool has_found_more = false;
    std::vector<FoundDamage> left;
    for (const FoundDamage& found : damage) {
      bool is_done = false;
      Try({found.volume, "repair", found.file}, [&]() -> base::Result<void> {
        std::vector<FoundDamage> more;
        RETURN_IF_ERROR(Repair(found, &more));
        is_done = true;
        has_found_more = has_found_more || !more.empty();
        Remember(std::move(more));
        return {};
      });
      if (!is_done) left.push_back(found);
    }
    Remember(std::move(left));
    if (!has_found_more) return;
  }
}

base::Result<void> DiskStore::Impl::Repair(const FoundDamage& found,
                                           std::vector<FoundDamage>* more) {
  std::shared_ptr<Volume> volume;
  {
    const std::lock_guard lock(mutex_);
    const auto at = volumes_.find(found.volume);
    if (at != volumes_.end()) volume = at->second;
  }
  if (volume == nullptr) return {};
  RETURN_IF_ERROR(MakeFolder(PathOf("quarantine")));
  const bool is_there = Exists(volume->folder() + "/" + found.file);
  const std::string to = AsidePath(found.volume, found.file);
  const auto repaired = volume->SetAside(found.file, to, more);
  if (repaired.ok()) {
    Notice(DayName(found.volume.day) + ": " + found.file + " was damaged (" + found.what +
           ") and is " + (is_there ? "in " + to + " now" : "gone") + "; " + *repaired);
  } else if (IsDamage(repaired.error())) {
    RETURN_IF_ERROR(SetVolumeAside(volume, repaired.error()));
  } else {
    return repaired.error();
  }
  return RecordState([](StoreState& state) { ++state.files_quarantined; });
}

// Nothing of the volume can be read any more.
base::Result<void> DiskStore::Impl::SetVolumeAside(const std::shared_ptr<Volume>& volume,
                                                   const base::Error& error) {
  TakeOut(volume);
  const std::string to = AsidePath(volume->id(), "volume");
  world_.step("set volume aside");
  // First of all: the next start removes the folders of volumes that are said to be removed.
  RETURN_IF_ERROR(RenameDurably(volume->folder(), to));
  Notice(DayName(volume->id().day) + ": a volume cannot be read (" + error.message() +
         ") and is in " + to + " now");
  Book book = volume->book();
  book.rows_quarantined = book.outcome.rows_kept - book.rows_expired;
  return RecordState([&book](StoreState& state) { state.book.Add(book); },
                     [&] { ForgetLocked(volume); });
}

void DiskStore::Impl::VerifyOne() {
  for (const auto& volume : AllVolumes()) {
    for (const ManifestFile& file : volume->manifest().files) {
      const std::pair key(volume->id(), file.name);
      const Step step{volume->id(), "verify", file.name};
      if (verified_.contains(key) || !back_off_.IsDue(step, Now())) continue;
      Try(step, [&]() -> base::Result<void> {
        ASSIGN_OR_RETURN(std::vector<FoundDamage> found, volume->Verify(file.name));
        verified_.insert(key);
        if (IsKnown(volume)) Remember(std::move(found));
        return {};
      });
      return;
    }
  }
}

}  // namespace vesta::store
