// One volume: a dictionary and the rows that use its numbers; open (rows come in) or closed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/store/batch.h"
#include "src/store/disk/book.h"
#include "src/store/disk/catalog.h"
#include "src/store/disk/day.h"
#include "src/store/disk/ledger.h"
#include "src/store/disk/manifest.h"
#include "src/store/disk/open_rows.h"
#include "src/store/disk/segment.h"
#include "src/store/disk/symbol_repairs.h"
#include "src/store/duck/duck_db.h"
#include "src/store/duck/hot_file.h"
#include "src/store/index/batch_interner.h"
#include "src/store/index/dictionary.h"
#include "src/store/index/node_order.h"
#include "src/store/index/page_cache.h"
#include "src/store/store.h"

namespace vesta::store {

inline constexpr const char* kHotFile = "hot.duckdb";
inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kLedgerFile = "ledger.json";
inline constexpr const char* kRowsFile = "rows.parquet";
inline constexpr const char* kIndexFile = "volume.idx";
inline constexpr const char* kNamesSuffix = ".names";
// As long as it is there without a manifest, the folder is being made out of others.
inline constexpr const char* kMergingFile = "merging";

// A file that cannot be read because of its bytes.
struct FoundDamage {
  VolumeId volume;
  std::string file;  // name in the volume's folder
  std::string what;
};

// What all volumes of a store share. Lives longer than they.
struct VolumeWorld {
  std::string days_folder;  // DIR/days
  int64_t part_ms = 0;
  std::function<int64_t()> now_unix_ms;
  const duck::DuckDb* database = nullptr;
  Catalog* catalog = nullptr;
  index::PageCache* cache = nullptr;
  SymbolRepairs* repairs = nullptr;
  std::function<void(std::string_view step)> step;  // DiskStoreOptions::step_hook, never empty
  std::atomic<bool>* stop = nullptr;                // long steps of maintenance end early
  // Of files that are removed as soon as nobody reads them any more.
  mutable std::atomic<uint64_t> doomed_bytes{0};
};

// Rows of a batch with the numbers of a volume.
struct EncodedRows {
  std::vector<uint32_t> type, series, task, stack;
  std::vector<int64_t> time_unix_ms, value, count;
  std::vector<float> weight;

  size_t size() const { return type.size(); }
  duck::RowColumns Columns() const;
};

// What one batch gives to one volume. The writer says whether it was kept.
struct VolumeAppend {
  const BatchId* id = nullptr;  // may be missing
  bool has_times_of_arrival = false;
  EncodedRows rows = {};
  uint64_t rows_overflowed = 0;
  Book book = {};             // of rows that belong to no volume, but are written down with this
  bool is_duplicate = false;  // set by Commit, unless it was before
};

// What a read sees of a volume; nothing of it changes, whatever happens to the volume.
struct VolumeSnapshot {
  struct Run {  // open rows of a series
    uint32_t type = 0;
    uint32_t series = 0;
    int64_t value = 0;
    int64_t count = 0;
    TimeRange range;
    std::vector<std::span<const OpenRow>> rows;
  };
  VolumeId id;
  std::shared_ptr<const index::Dictionary> dictionary;  // of an open volume
  std::shared_ptr<const MappedIndex> names;             // of a closed one
  std::vector<std::shared_ptr<const Segment>> segments;
  std::vector<ManifestFile> row_files;  // of the segments, as they were written
  std::vector<Run> runs;
  std::vector<std::shared_ptr<const OpenPart>> parts;  // keep the runs
  std::vector<SeriesId> series;                        // by the volume's numbers
  std::vector<TypeId> types;
  uint64_t rows_lost = 0;          // that damage took
  uint64_t rows_without_sums = 0;  // of them: not even the roll-ups have them
  uint64_t symbols_version = 0;    // as Manifest

  // Null names when there is no dictionary that can be read; `reader` is that of a closed volume.
  VolumeNames NamesBy(const index::VolumeReader* reader) const;
};
// Whether a read wants the open rows of a series.
using WantsSeries = std::function<bool(TypeId, SeriesId)>;

// Owner:  shared. Locks, in the order in which they are taken: commit_ (the hot file), intern_ (the
//         dictionary grows), state_ (what reads see). Sealing and closing belong to one
//         maintenance thread, Commit to one writer.
// Errors: Unavailable when the disk does not take it, Corrupt naming the file. Nothing has changed
//         then.
class Volume {
 public:
  static base::Result<std::shared_ptr<Volume>> Create(const VolumeWorld& world, VolumeId id);
  // Finishes or undoes what was half done when the store went down.
  // Files that are missing, cut or damaged are told in `damage`; SetAside must be called for each.
  // So are those of segments whose names are lost; they are not read.
  static base::Result<std::shared_ptr<Volume>> Open(const VolumeWorld& world, Manifest manifest,
                                                    std::vector<FoundDamage>* damage);
  ~Volume();

  VolumeId id() const { return id_; }
  const std::string& folder() const { return folder_->path(); }
  bool is_closed() const;
  VolumeSnapshot Snapshot(TimeRange range, const WantsSeries& wants) const;
  // Of rows that can be read; empty = backwards.
  TimeRange range() const;
  uint64_t rows() const;
  Manifest manifest() const;  // of what is on disk
  Book book() const;
  // Whether the batch was counted here. Errors: Corrupt when the ledger of a closed one is damaged.
  base::Result<bool> Counted(const BatchId& id);
  // A closed one's is read again when it is asked for: memory.
  void ForgetLedger();
  uint64_t disk_bytes() const;
  uint64_t segment_count() const;
  // What was written aside by a step that failed goes. For the maintenance thread.
  void RemoveAsides() const;

  // --- open volumes ---
  // Gives the chosen rows of the batch the numbers of this volume. series[i] = labels under which
  // Batch::series[i] is stored, null where no chosen row has it.
  EncodedRows Encode(const Batch& batch, std::span<const uint32_t> chosen,
                     std::span<const Labels* const> series);
  // One transaction of all appends; visible to reads when it returns. Those that are duplicates, of
  // earlier ones or of each other, are marked, and their rows only counted.
  base::Result<void> Commit(std::span<VolumeAppend* const> appends);

  uint64_t open_rows() const { return open_rows_; }
  // Whether segments use numbers that the dictionary has lost, with the log of the hot file. No
  // rows may come then: those numbers would be given out again.
  bool lacks_names() const { return lacks_names_; }
  size_t dictionary_bytes() const { return dictionary_bytes_; }
  // Parts whose hour is over at `now`, or that have rows_min rows or more.
  std::vector<uint32_t> PartsToSeal(int64_t now_unix_ms, uint64_t rows_min) const;
  uint64_t part_rows(uint32_t part) const;
  base::Result<void> SealPart(uint32_t part);
  // No Encode or Commit may come any more, or be under way.
  // Errors: besides, Corrupt when files that it is made of are damaged, which are added to
  // `damage`.
  base::Result<void> Close(std::vector<FoundDamage>* damage);

  // --- closed volumes ---
  // Makes a volume of several of the same day, which then may be removed. Errors: as Close.
  static base::Result<std::shared_ptr<Volume>> Merge(const VolumeWorld& world, VolumeId id,
                                                     std::span<const std::shared_ptr<Volume>> from,
                                                     std::vector<FoundDamage>* damage);
  // The raw rows go, roll-ups and names stay.
  base::Result<void> ExpireRows();

  // --- damage ---
  // Moves the file to `to` and goes on without it, or makes it anew out of the others. Files that
  // this finds damaged, too, are added to `more`: SetAside must be called for each.
  // Units: returns a sentence that says what became of it.
  // Errors: Corrupt or NotFound when nothing of the volume can be read then; after any other one it
  //         may be called again.
  base::Result<std::string> SetAside(const std::string& name, const std::string& to,
                                     std::vector<FoundDamage>* more);
  // Files whose size or checksum is not that of the manifest.
  // Errors: of the machine; such a file may be as good as ever.
  base::Result<std::vector<FoundDamage>> Verify(const std::string& name) const;
  base::Result<std::vector<FoundDamage>> VerifyAll() const;
  // A manifest out of what is there, when it was lost; nothing when nothing is there that was ever
  // durable.
  static base::Result<std::optional<Manifest>> GuessManifest(const duck::DuckDb& database,
                                                             VolumeId id,
                                                             const std::string& folder);
  // What the hot file in a folder says of its rows, if it can be read so far.
  static base::Result<Book> BookOfHot(const duck::DuckDb& database, const std::string& folder);
  // Of rows in a folder that cannot be read as a volume.
  static Book BookOfDamaged(const duck::DuckDb& database, const std::string& folder);

  // The folder goes when nobody reads any more.
  void RemoveLater();

 private:
  struct Hot {
    std::shared_ptr<index::Dictionary> dictionary;
    std::unique_ptr<index::BatchInterner> interner;
    index::DictionaryMarks durable;       // what commits have written
    std::unique_ptr<duck::HotFile> file;  // null after an error: it is opened again when needed
    uint64_t commits = 0;                 // acknowledged
    uint64_t log_bytes_max = duck::kLogBytesMax;  // a longer log is moved into the file
    // A day that is over gets its rows all at once: in hours, they would be a day's worth of small
    // files, made into one a little later.
    bool has_hours = true;
    std::map<int64_t, uint32_t> part_of_hour;  // that takes rows; of hour 0 when it has none
    uint32_t next_part = 1;
  };
  struct ClosedFiles;

  Volume(const VolumeWorld& world, VolumeId id);
  std::string PathOf(const std::string& name) const { return folder_->path() + "/" + name; }
  std::shared_ptr<const StoredPath> StoredFile(const std::string& name) const;
  base::Result<void> LoadHot();
  base::Result<void> LoadRows(uint32_t part, const duck::RowColumns& rows,
                              const index::DictionaryMarks& marks);
  base::Result<void> OpenSegments(std::vector<FoundDamage>* damage);
  bool HasNamesOf(const ManifestSegment& segment) const;
  void ForgetNameless(std::vector<FoundDamage>* damage);
  base::Result<std::string> LoseRows(Manifest manifest, ManifestSegment* segment);
  base::Result<std::string> LoseSums(Manifest manifest, ManifestSegment* segment);
  base::Result<std::vector<std::byte>> IndexAnew(const Manifest& manifest,
                                                 const ManifestSegment& entry) const;
  base::Result<std::string> RemakeIndex(Manifest manifest, ManifestSegment* entry,
                                        std::vector<FoundDamage>* more);
  base::Result<std::string> RemakeTables(Manifest manifest);
  base::Result<void> RemoveStrays();
  base::Result<void> RemoveHotFiles();
  // The folder of a volume that could not be made.
  void Abandon();
  base::Result<void> Fill();                                              // of Create
  base::Result<void> Fill(std::span<const std::shared_ptr<Volume>> from,  // of Merge
                          std::vector<FoundDamage>* damage);
  base::Result<Ledger> ReadLedger() const;
  base::Result<void> WriteManifest(const Manifest& manifest) const;
  base::Result<void> CheckInputs(const ClosedFiles& from, std::vector<FoundDamage>* damage) const;
  base::Result<void> CheckSums(const ClosedFiles& from, const std::string& path,
                               std::vector<FoundDamage>* damage) const;
  base::Result<void> WriteRows(const ClosedFiles& from, const index::NodeOrder& order,
                               std::vector<FoundDamage>* damage) const;
  base::Result<Manifest> WriteClosedFiles(ClosedFiles* from, std::vector<FoundDamage>* damage);
  base::Result<void> AdoptClosed(Manifest manifest);
  uint64_t RowsWithoutSums() const;  // state_ held: what was kept and no roll-up has
  void RegisterNames();              // intern_ held: catalog ids of what the dictionary has got
  base::Result<void> LoadClosedNames();
  // commit_ held by both.
  int64_t HourOf(int64_t time_unix_ms) const;
  uint32_t PartOf(int64_t time_unix_ms);
  // commit_ held by these three. `book` of CommitParts is what is new, of Publish the whole.
  base::Result<void> CommitParts(const std::map<uint32_t, EncodedRows>& rows_of_part,
                                 std::span<const duck::LedgerRow> ledger, const Book& book);
  void Publish(std::span<const duck::PartRows> parts, std::span<const duck::LedgerRow> ledger,
               const Book& book);
  Book durable_book() const;  // as the hot file has it
  // commit_ held by these three.
  base::Result<void> NeedHotFile();
  base::Result<void> MoveLog();
  void ShortenLog();
  // The dictionary up to `until` is in files when the manifest is written.
  base::Result<void> WriteNames(uint32_t part, const index::DictionaryMarks& until,
                                Manifest* manifest) const;
  base::Result<index::Dictionary> ReadNames() const;
  base::Result<std::string> RemakeNames(Manifest manifest, const std::string& name);
  void CountLost(Book* book) const;
  base::Result<std::vector<std::byte>> PartIndex(const OpenPart& part) const;
  base::Result<ManifestSegment> WriteSegment(const OpenPart& part,
                                             std::vector<ManifestFile>* files);

  const VolumeWorld& world_;
  const VolumeId id_;
  std::shared_ptr<const StoredPath> folder_;
  bool lacks_names_ = false;  // as Open found it

  std::mutex intern_;
  std::mutex commit_;
  mutable std::shared_mutex state_;
  // intern_ guards the growing of the dictionary, commit_ all else of it; null when closed.
  std::unique_ptr<Hot> hot_;
  // state_ guards these.
  Manifest manifest_;
  std::vector<std::shared_ptr<const Segment>> segments_;
  std::map<uint32_t, std::shared_ptr<OpenPart>> parts_;
  HeldSeries series_;
  std::vector<TypeId> types_;
  std::shared_ptr<const index::Dictionary> dictionary_;  // that of hot_, for reads
  std::optional<Ledger> ledger_;                         // nothing = not read yet
  Book book_;
  std::atomic<uint64_t> open_rows_{0};
  std::atomic<size_t> dictionary_bytes_{0};  // what the last Encode saw
};

}  // namespace vesta::store
