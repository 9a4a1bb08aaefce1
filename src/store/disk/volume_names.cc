// The dictionary of an open volume lies beside its sealed rows, too: without the hot file they
// would mean nothing.
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "src/base/json_reader.h"
#include "src/store/disk/files.h"
#include "src/store/disk/volume.h"

namespace vesta::store {

namespace {

std::string_view AsText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

base::Result<void> Volume::WriteNames(uint32_t part, const index::DictionaryMarks& until,
                                      Manifest* manifest) const {
  manifest->sealed_book = durable_book();
  // A hot file that came back without its last commits may be behind them.
  if (lacks_names_ || Reaches(manifest->names_marks, until)) return {};
  const index::DictionaryMarks since =
      manifest->names_files.empty() ? index::Dictionary().marks() : manifest->names_marks;
  const std::vector<uint8_t> delta = dictionary_->EncodeDelta(since, until);
  std::array<char, 32> name;
  std::snprintf(name.data(), name.size(), "seg-%04u%s", part, kNamesSuffix);
  RETURN_IF_ERROR(WriteFileAtomically(PathOf(name.data()), AsText(delta)));
  ASSIGN_OR_RETURN(ManifestFile file, DescribeFile(folder(), name.data()));
  manifest->files.push_back(std::move(file));
  manifest->names_files.emplace_back(name.data());
  manifest->names_marks = until;
  return {};
}

base::Result<index::Dictionary> Volume::ReadNames() const {
  index::Dictionary dictionary;
  for (const std::string& name : manifest_.names_files) {
    ASSIGN_OR_RETURN(const std::string text,
                     ReadWholeFile(PathOf(name), manifest_.FindFile(name)->bytes));
    const auto applied =
        dictionary.ApplyDelta({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    if (!applied.ok()) return applied.error().Context(PathOf(name));
  }
  return dictionary;
}

// All of them as one, since each begins where the one before ends.
base::Result<std::string> Volume::RemakeNames(Manifest manifest, const std::string& name) {
  const std::vector<std::string> old = std::exchange(manifest.names_files, {});
  std::erase_if(manifest.files, [&old](const ManifestFile& file) {
    return std::find(old.begin(), old.end(), file.name) != old.end();
  });
  std::string what = "names of rows that are sealed are only in " + std::string(kHotFile) + " now";
  const index::DictionaryMarks until = std::exchange(manifest.names_marks, {});
  if (!lacks_names_) {
    const std::vector<uint8_t> delta = dictionary_->EncodeDelta(index::Dictionary().marks(), until);
    RETURN_IF_ERROR(WriteFileAtomically(PathOf(name), AsText(delta)));
    ASSIGN_OR_RETURN(ManifestFile file, DescribeFile(folder(), name));
    manifest.files.push_back(std::move(file));
    manifest.names_files.push_back(name);
    manifest.names_marks = until;
    what = "it was made anew";
  }
  RETURN_IF_ERROR(WriteManifest(manifest));
  {
    const std::unique_lock lock(state_);
    manifest_ = std::move(manifest);
  }
  for (const std::string& one : old) {
    if (one != name) RETURN_IF_ERROR(RemoveAll(PathOf(one)));
  }
  return what;
}

base::Result<Book> Volume::BookOfHot(const duck::DuckDb& database, const std::string& folder) {
  ASSIGN_OR_RETURN(const auto hot, duck::HotFile::Open(database, folder + "/" + kHotFile));
  Book book;
  // What comes behind the state does not matter.
  (void)hot
      ->Load({.state = [&book](duck::Bytes bytes) -> base::Result<void> {
                ASSIGN_OR_RETURN(book, Book::Decode(AsText(bytes)));
                return {};
              },
              .dictionary = [](duck::Bytes) -> base::Result<void> { return {}; },
              .ledger = [](const duck::LedgerRow&) -> base::Result<void> { return {}; },
              .rows = [](uint32_t, const duck::RowColumns&) -> base::Result<void> { return {}; }})
      .ok();
  return book;
}

// Of a hot file that was lost, or came back without its last commits, the manifest knows what was
// counted when rows were sealed the last time.
void Volume::CountLost(Book* book) const {
  const Book& sealed = manifest_.sealed_book;
  if (book->outcome.rows_kept < sealed.outcome.rows_kept) *book = sealed;
  uint64_t rows = open_rows_ + book->rows_quarantined;
  for (const ManifestSegment& segment : manifest_.segments) rows += segment.rows;
  // Commits that nobody remembers may have counted rows that are sealed since.
  const uint64_t uncounted = rows - std::min(rows, book->outcome.rows_kept);
  book->outcome.rows_received += uncounted;
  book->outcome.rows_kept += uncounted;
  book->rows_quarantined += book->outcome.rows_kept - std::min(rows, book->outcome.rows_kept);
}

}  // namespace vesta::store
