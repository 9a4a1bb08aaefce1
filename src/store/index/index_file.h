// Reads index files block by block: the roll-ups of a segment or a volume, and what the numbers
// of a closed volume stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/store/index/dictionary.h"
#include "src/store/index/node_source.h"
#include "src/store/index/page_cache.h"
#include "src/store/index/rollup.h"
#include "src/store/store.h"

namespace vesta::store::index {

class IndexDirectory;

// The roll-ups of a file, and its directory. Every byte read is checked against its checksum first.
// Owner: immutable and shared by any threads; the cache must live longer.
// Errors of all: Corrupt, saying where; Unavailable when the file cannot be read; Unsupported for a
//         version that is not ours.
class IndexFile {
 public:
  // Reads the directory only. cache may be missing: then pages are unpacked for each reader anew.
  static base::Result<IndexFile> Open(std::unique_ptr<const base::ByteSource> file,
                                      PageCache* cache);
  // Of bytes in memory, which must live longer.
  static base::Result<IndexFile> Open(std::span<const std::byte> bytes, PageCache* cache);
  IndexFile(IndexFile&&) noexcept;
  IndexFile& operator=(IndexFile&&) noexcept;
  ~IndexFile();  // forgets its pages in the cache

  // Of all (type, series), in that order.
  std::span<const SeriesSummary> summaries() const;
  // The place of (type, series) in summaries().
  std::optional<size_t> Find(uint32_t type, uint32_t series) const;

  // The lists of summaries()[place], appended to `out`.
  // Cost: a list of 3,000 stacks about 30 us, 1,500 functions 40 us.
  base::Result<void> ReadStacks(size_t place, std::vector<StackTotal>* out) const;
  base::Result<void> ReadFunctions(size_t place, std::vector<FunctionTotal>* out) const;
  base::Result<void> ReadMinutes(size_t place, std::vector<MinuteTotal>* out) const;
  base::Result<SeriesRollup> ReadRollup(size_t place) const;
  // Functions of all series of a type together: for questions about the whole fleet. Appends
  // nothing when the type has no rows.
  base::Result<void> ReadFleetFunctions(uint32_t type, std::vector<FunctionTotal>* out) const;

  // Rows of each table of the dictionary; all 0 when the file has none (a segment's).
  const DictionaryMarks& marks() const;
  bool has_dictionary() const { return marks().nodes != 0; }

  // Reads every block: for verifying a file that was found after a crash or copied.
  base::Result<void> CheckAll() const;

 private:
  friend class VolumeReader;
  friend base::Result<Dictionary> LoadDictionary(const IndexFile& file);
  explicit IndexFile(std::unique_ptr<IndexDirectory> directory);
  std::unique_ptr<IndexDirectory> directory_;
};

// Stands for a name whose page cannot be read.
inline constexpr std::string_view kLostName = "[damaged name]";

// Names of a closed volume, for one query.
// Owner: one thread at a time; cheap to make. Keeps the pages that it used until it goes, so views
//        live as long as the reader. The file must have a dictionary and live longer.
// Cost:  the first touch of a page unpacks it (about 20 us) unless the cache has it; then a few ns.
// Errors of all: Corrupt when there is no such id. What people see (frames, functions, images,
//        callables, tasks) has kLostName, or nothing, where its page cannot be read, so that sums
//        stay whole; damage() tells. All else: Corrupt or Unavailable, as IndexFile.
class VolumeReader final : public Names, public Callables, public NodeSource {
 public:
  explicit VolumeReader(const IndexFile& file);
  ~VolumeReader() override;

  base::Result<FrameView> frame(uint32_t id) const override;
  base::Result<FunctionView> function(uint32_t id) const override;
  base::Result<ImageView> image(uint32_t id) const override;
  base::Result<CallableView> callable(uint32_t id) const override;
  base::Result<uint64_t> callable_hash(uint32_t id) const override;
  base::Result<std::span<const uint32_t>> frame_callables(uint32_t frame) const override;
  uint32_t node_count() const override;
  uint32_t callable_count() const override;
  base::Result<NodePage> node_page(uint32_t page) const override;
  base::Result<Labels> series(uint32_t id) const;
  base::Result<ProfileType> type(uint32_t id) const;
  base::Result<Task> task(uint32_t id) const;

  // Why the first name was lost, if any was.
  const std::optional<base::Error>& damage() const;

 private:
  class Pages;
  std::unique_ptr<Pages> pages_;
};

// The whole dictionary of a volume in memory, with the same ids: for merging volumes. The file must
// have one.
base::Result<Dictionary> LoadDictionary(const IndexFile& file);

}  // namespace vesta::store::index
