// Which volumes late names concern, and how reads of these show them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/result.h"
#include "src/store/disk/day.h"
#include "src/store/disk/symbol_files.h"
#include "src/store/symbols/repaired_names.h"
#include "src/store/symbols/symbol_view.h"

namespace vesta::store {

// What a volume is asked for here.
struct VolumeNames {
  VolumeId id;
  uint64_t baked_version = 0;  // facts up to this are in its own files
  uint32_t image_count = 0;
  uint32_t frame_count = 0;
  symbols::NamesAsTheyCame names = {};
};

// Owner: shared by any threads; the files live longer.
// Cost:  17 bytes for each image of a volume that was asked for since a name came late. As long as
//        nothing new is told, a volume that is not concerned costs one look into a map.
class SymbolRepairs {
 public:
  explicit SymbolRepairs(SymbolFiles* files) : files_(*files) {}

  SymbolFiles& files() const { return files_; }
  // The names that a read is to show; nothing = those that came with the rows.
  std::unique_ptr<symbols::RepairedNames> RepairsOf(const VolumeNames& volume,
                                                    symbols::SymbolView* view);
  // Whether any frame of a volume that does not change any more is called otherwise by now. When
  // none is, reads do not ask again until more is told.
  base::Result<bool> HasLateNames(const VolumeNames& volume);
  // Forgets volumes that are gone.
  void Keep(const std::function<bool(VolumeId)>& is_there);

 private:
  struct Known {
    std::vector<symbols::Hash128> images;  // of the first so many
    std::vector<uint8_t> is_concerned;     // of the same
    bool is_any_concerned = false;
    uint64_t version = 0;       // of the view that said so
    uint64_t after = 0;         // what counted as late then
    uint64_t same_version = 0;  // no frame is called otherwise by what is told until then
  };
  // Brings it up to the view. Errors: what the names return.
  base::Result<void> Refresh(const VolumeNames& volume, const symbols::SymbolView& view,
                             Known* known) const;

  SymbolFiles& files_;
  std::mutex mutex_;
  std::map<VolumeId, Known> known_;
};

}  // namespace vesta::store
