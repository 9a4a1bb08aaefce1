#include "src/store/disk/symbol_repairs.h"

#include <algorithm>
#include <utility>

#include "src/store/symbol_check.h"
#include "src/store/symbols/bake_names.h"

namespace vesta::store {

base::Result<void> SymbolRepairs::Refresh(const VolumeNames& volume,
                                          const symbols::SymbolView& view, Known* known) const {
  const uint64_t after = std::max(volume.baked_version, known->same_version);
  const size_t before = known->images.size();
  if (before >= volume.image_count && known->version == view.version() && known->after == after) {
    return {};
  }
  for (size_t id = before; id < volume.image_count; ++id) {
    symbols::Hash128 hash;
    if (id != 0) {
      ASSIGN_OR_RETURN(const ImageView image, volume.names.names->image(static_cast<uint32_t>(id)));
      const SymbolImage told = SymbolImageOf(image.path, image.build_id);
      if (!told.text.empty()) hash = symbols::HashOf(told);
    }
    known->images.push_back(hash);
  }
  known->is_concerned.resize(known->images.size());
  known->is_any_concerned = false;
  for (size_t id = 0; id < known->images.size(); ++id) {
    const bool is_concerned =
        known->images[id] != symbols::Hash128{} && view.Knows(known->images[id], after);
    known->is_concerned[id] = is_concerned ? 1 : 0;
    known->is_any_concerned = known->is_any_concerned || is_concerned;
  }
  known->version = view.version();
  known->after = after;
  return {};
}

std::unique_ptr<symbols::RepairedNames> SymbolRepairs::RepairsOf(const VolumeNames& volume,
                                                                 symbols::SymbolView* view) {
  if (view->version() <= volume.baked_version) return nullptr;
  const std::lock_guard lock(mutex_);
  Known& known = known_[volume.id];
  // A page of names that cannot be read is told by whoever asks for the names.
  if (!Refresh(volume, *view, &known).ok() || !known.is_any_concerned) return nullptr;
  return std::make_unique<symbols::RepairedNames>(volume.names, known.images, known.is_concerned,
                                                  known.after, view);
}

base::Result<bool> SymbolRepairs::HasLateNames(const VolumeNames& volume) {
  symbols::SymbolView view = files_.View();
  uint64_t after = 0;
  {
    const std::lock_guard lock(mutex_);
    Known& known = known_[volume.id];
    RETURN_IF_ERROR(Refresh(volume, view, &known));
    if (!known.is_any_concerned) return false;
    after = known.after;
  }
  const auto has_late = symbols::HasLateNames(*volume.names.names, volume.image_count,
                                              volume.frame_count, after, &view);
  files_.NoteDamage(view);
  if (!has_late.ok() || *has_late || view.damage()) return has_late;
  const std::lock_guard lock(mutex_);
  known_[volume.id].same_version = view.version();
  return false;
}

void SymbolRepairs::Keep(const std::function<bool(VolumeId)>& is_there) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&is_there](const auto& entry) { return !is_there(entry.first); });
}

}  // namespace vesta::store
