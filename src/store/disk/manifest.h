// What a volume consists of: the file manifest.json, the last to be written at each change, so that
// what it says is there is there. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/store/disk/book.h"
#include "src/store/index/dictionary_rows.h"
#include "src/store/store.h"

namespace vesta::store {

inline constexpr uint32_t kStoreVersion = 1;  // of FORMAT, manifests and state.json

struct ManifestFile {
  std::string name;  // [a-z0-9_.-]+, in the volume's folder
  uint64_t bytes = 0;
  std::string xxh3_128;  // 32 hex digits
  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

// Rows that are sealed together, and their roll-up.
struct ManifestSegment {
  uint32_t part = 0;  // of the hot file, which they came from
  std::string rows_file = {};
  std::string index_file = {};
  uint64_t rows = 0;
  TimeRange range = {};  // of the rows, the last one's time plus 1
  // How far the volume's dictionary had grown when the rows were sealed: with a shorter one their
  // numbers mean nothing.
  index::DictionaryMarks marks = {};
  // Damage took both files; that there were such rows is still counted.
  bool is_lost() const { return rows_file.empty() && index_file.empty(); }
  friend bool operator==(const ManifestSegment&, const ManifestSegment&) = default;
};

// Shape: an open volume has a segment per sealed part, a closed one has one segment, whose
//        rows_file is "" when retention or damage took the raw rows.
struct Manifest {
  int64_t day = 0;
  uint32_t number = 0;
  bool is_closed = false;
  std::vector<uint32_t> replaces = {};  // volumes of the same day that were merged into this one
  std::vector<ManifestSegment> segments = {};
  std::vector<ManifestFile> files = {};
  Book book =
      {};  // of a closed volume; an open one has it in its hot file, except what segments lost
  // Of an open one, for the case that its hot file is lost: files with what the dictionary has
  // gained, in the order in which they must be applied; how far they go; and the book of then.
  std::vector<std::string> names_files = {};
  index::DictionaryMarks names_marks = {};
  Book sealed_book = {};
  // Names that came late up to this version are in the files of a closed volume.
  uint64_t symbols_version = 0;

  const ManifestFile* FindFile(std::string_view name) const;
  uint64_t rows() const;  // of segments that have their rows_file
};

// Whether a dictionary that has grown so far has all that is needed.
bool Reaches(const index::DictionaryMarks& have, const index::DictionaryMarks& needed);

std::string EncodeManifest(const Manifest& manifest);
// Errors: Corrupt naming what is wrong; Unsupported for a newer version.
base::Result<Manifest> DecodeManifest(std::string_view text);

// What the whole store remembers beside its volumes: DIR/state.json.
struct StoreState {
  struct Volume {
    int64_t day = 0;
    uint32_t number = 0;
    friend bool operator==(const Volume&, const Volume&) = default;
  };
  Book book;                    // of volumes that are gone, and of what belongs to none
  std::vector<Volume> removed;  // in the book already; their folders may still be there
  uint64_t files_quarantined = 0;
};

std::string EncodeStoreState(const StoreState& state);
base::Result<StoreState> DecodeStoreState(std::string_view text);

}  // namespace vesta::store
