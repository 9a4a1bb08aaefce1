#include "src/store/disk/manifest.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "src/base/json.h"
#include "src/base/json_reader.h"
#include "src/store/disk/day.h"

namespace vesta::store {

namespace {

constexpr size_t kNameBytesMax = 64;
constexpr size_t kHashDigits = 32;

base::Error Damaged(const std::string& what) {
  return base::Error(base::ErrorCode::kCorrupt, "manifest: " + what);
}

bool IsFileName(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  };
  return !name.empty() && name.size() <= kNameBytesMax && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), is_allowed);
}

// Members of an object that must be there; the first failure stays.
class Members {
 public:
  explicit Members(const base::JsonValue& value) : value_(value) {}

  uint64_t Uint(std::string_view name, uint64_t largest = std::numeric_limits<uint64_t>::max()) {
    const base::JsonValue* member = value_.Find(name);
    const auto number = member == nullptr ? std::nullopt : member->AsUint();
    if (!number || *number > largest) return Fail(name), 0;
    return *number;
  }
  uint32_t Uint32(std::string_view name) {
    return static_cast<uint32_t>(Uint(name, std::numeric_limits<uint32_t>::max()));
  }
  bool Bool(std::string_view name) {
    const base::JsonValue* member = value_.Find(name);
    const auto flag = member == nullptr ? std::nullopt : member->AsBool();
    if (!flag) return Fail(name), false;
    return *flag;
  }
  std::string String(std::string_view name) {
    const base::JsonValue* member = value_.Find(name);
    const std::string* text = member == nullptr ? nullptr : member->AsString();
    if (text == nullptr) return Fail(name), "";
    return *text;
  }
  const std::vector<base::JsonValue>& Items(std::string_view name) {
    static const std::vector<base::JsonValue> kNone;
    const base::JsonValue* member = value_.Find(name);
    if (member == nullptr || member->kind() != base::JsonValue::Kind::kArray) {
      return Fail(name), kNone;
    }
    return member->items();
  }
  index::DictionaryMarks Marks(std::string_view name) {
    index::DictionaryMarks marks;
    const std::vector<base::JsonValue>& items = Items(name);
    if (items.size() != index::kTableCount) return Fail(name), marks;
    for (size_t table = 0; table < items.size(); ++table) {
      const auto number = items[table].AsUint();
      if (!number || *number > std::numeric_limits<uint32_t>::max()) return Fail(name), marks;
      marks.of(static_cast<index::Table>(table)) = static_cast<uint32_t>(*number);
    }
    return marks;
  }
  int64_t Time(std::string_view name) {
    return static_cast<int64_t>(Uint(name, std::numeric_limits<int64_t>::max()));
  }
  base::Result<Book> TakeBook() {
    const base::JsonValue* member = value_.Find("book");
    if (member == nullptr) return Damaged("no book");
    return Book::FromJson(*member);
  }
  void Fail(std::string_view name) {
    if (failed_.empty()) failed_ = name;
  }
  base::Result<void> Check() const {
    if (!failed_.empty()) return Damaged("\"" + failed_ + "\" is missing or not as it must be");
    return {};
  }

 private:
  const base::JsonValue& value_;
  std::string failed_;
};

base::Result<void> CheckVersion(Members& members) {
  const uint64_t version = members.Uint("version");
  RETURN_IF_ERROR(members.Check());
  if (version > kStoreVersion) {
    return base::Error(base::ErrorCode::kUnsupported,
                       "written by a newer vesta (version " + std::to_string(version) +
                           ", this one reads up to " + std::to_string(kStoreVersion) + ")");
  }
  if (version == 0) return Damaged("version 0");
  return {};
}

int64_t TakeDay(Members& members) {
  const auto day = ParseDayName(members.String("day"));
  if (!day) members.Fail("day");
  return day.value_or(0);
}

base::Result<ManifestSegment> DecodeSegment(const base::JsonValue& value) {
  Members members(value);
  ManifestSegment segment;
  segment.part = members.Uint32("part");
  segment.rows_file = members.String("rows_file");
  segment.index_file = members.String("index_file");
  segment.rows = members.Uint("rows");
  segment.range.from_unix_ms = members.Time("from_unix_ms");
  segment.range.to_unix_ms = members.Time("to_unix_ms");
  segment.marks = members.Marks("marks");
  RETURN_IF_ERROR(members.Check());
  return segment;
}

base::Result<ManifestFile> DecodeFile(const base::JsonValue& value) {
  Members members(value);
  ManifestFile file;
  file.name = members.String("name");
  if (!IsFileName(file.name)) members.Fail("name");
  file.bytes = members.Uint("bytes");
  file.xxh3_128 = members.String("xxh3_128");
  if (file.xxh3_128.size() != kHashDigits ||
      file.xxh3_128.find_first_not_of("0123456789abcdef") != std::string::npos) {
    members.Fail("xxh3_128");
  }
  RETURN_IF_ERROR(members.Check());
  return file;
}

// What one member alone cannot say.
base::Result<void> CheckWhole(const Manifest& manifest) {
  std::set<std::string_view> names;
  for (const ManifestFile& file : manifest.files) {
    if (!names.insert(file.name).second) return Damaged("file " + file.name + " twice");
  }
  for (const std::string& name : manifest.names_files) {
    if (!names.contains(name)) return Damaged("no file " + name);
  }
  std::set<uint32_t> parts;
  for (const ManifestSegment& segment : manifest.segments) {
    for (const std::string* name : {&segment.rows_file, &segment.index_file}) {
      if (!name->empty() && !names.contains(*name)) return Damaged("no file " + *name);
    }
    if (segment.range.from_unix_ms > segment.range.to_unix_ms) return Damaged("a range backwards");
    if (!parts.insert(segment.part).second) return Damaged("a part twice");
  }
  if (manifest.is_closed && manifest.segments.size() != 1) {
    return Damaged("a closed volume without its one segment");
  }
  return {};
}

void WriteMarks(base::JsonWriter& json, const index::DictionaryMarks& marks) {
  json.Key("marks").BeginArray();
  for (size_t table = 0; table < index::kTableCount; ++table) {
    json.Uint(marks.of(static_cast<index::Table>(table)));
  }
  json.EndArray();
}

void WriteSegment(base::JsonWriter& json, const ManifestSegment& segment) {
  json.BeginObject().Key("part").Uint(segment.part);
  json.Key("rows_file").String(segment.rows_file);
  json.Key("index_file").String(segment.index_file);
  json.Key("rows").Uint(segment.rows);
  json.Key("from_unix_ms").Int(segment.range.from_unix_ms);
  json.Key("to_unix_ms").Int(segment.range.to_unix_ms);
  WriteMarks(json, segment.marks);
  json.EndObject();
}

void WriteSealed(base::JsonWriter& json, const Manifest& manifest) {
  json.Key("sealed").BeginObject().Key("names").BeginArray();
  for (const std::string& name : manifest.names_files) json.String(name);
  json.EndArray();
  WriteMarks(json, manifest.names_marks);
  json.Key("book");
  manifest.sealed_book.WriteJson(json);
  json.EndObject();
}

base::Result<void> DecodeSealed(const base::JsonValue& value, Manifest* manifest) {
  Members members(value);
  for (const base::JsonValue& item : members.Items("names")) {
    const std::string* name = item.AsString();
    if (name == nullptr) return Damaged("\"names\" is not as it must be");
    manifest->names_files.push_back(*name);
  }
  manifest->names_marks = members.Marks("marks");
  ASSIGN_OR_RETURN(manifest->sealed_book, members.TakeBook());
  return members.Check();
}

}  // namespace

const ManifestFile* Manifest::FindFile(std::string_view name) const {
  for (const ManifestFile& file : files) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

uint64_t Manifest::rows() const {
  uint64_t sum = 0;
  for (const ManifestSegment& segment : segments) {
    if (!segment.rows_file.empty()) sum += segment.rows;
  }
  return sum;
}

bool Reaches(const index::DictionaryMarks& have, const index::DictionaryMarks& needed) {
  for (size_t at = 0; at < index::kTableCount; ++at) {
    const auto table = static_cast<index::Table>(at);
    if (have.of(table) < needed.of(table)) return false;
  }
  return true;
}

std::string EncodeManifest(const Manifest& manifest) {
  base::JsonWriter json;
  json.BeginObject().Key("version").Uint(kStoreVersion);
  json.Key("day").String(DayName(manifest.day));
  json.Key("number").Uint(manifest.number);
  json.Key("closed").Bool(manifest.is_closed);
  json.Key("replaces").BeginArray();
  for (const uint32_t number : manifest.replaces) json.Uint(number);
  json.EndArray().Key("segments").BeginArray();
  for (const ManifestSegment& segment : manifest.segments) WriteSegment(json, segment);
  json.EndArray().Key("files").BeginArray();
  for (const ManifestFile& file : manifest.files) {
    json.BeginObject().Key("name").String(file.name).Key("bytes").Uint(file.bytes);
    json.Key("xxh3_128").String(file.xxh3_128).EndObject();
  }
  json.EndArray().Key("book");
  manifest.book.WriteJson(json);
  if (!manifest.names_files.empty() || !manifest.sealed_book.empty()) WriteSealed(json, manifest);
  if (manifest.symbols_version != 0) json.Key("symbols_version").Uint(manifest.symbols_version);
  json.EndObject();
  return json.Take() + "\n";
}

base::Result<Manifest> DecodeManifest(std::string_view text) {
  ASSIGN_OR_RETURN(const base::JsonValue value, base::ParseJson(text));
  Members members(value);
  RETURN_IF_ERROR(CheckVersion(members));
  Manifest manifest;
  manifest.day = TakeDay(members);
  manifest.number = members.Uint32("number");
  if (manifest.number == 0) members.Fail("number");
  manifest.is_closed = members.Bool("closed");
  for (const base::JsonValue& item : members.Items("replaces")) {
    const auto number = item.AsUint();
    if (!number || *number > std::numeric_limits<uint32_t>::max()) {
      members.Fail("replaces");
      break;
    }
    manifest.replaces.push_back(static_cast<uint32_t>(*number));
  }
  for (const base::JsonValue& item : members.Items("segments")) {
    ASSIGN_OR_RETURN(ManifestSegment segment, DecodeSegment(item));
    manifest.segments.push_back(std::move(segment));
  }
  for (const base::JsonValue& item : members.Items("files")) {
    ASSIGN_OR_RETURN(ManifestFile file, DecodeFile(item));
    manifest.files.push_back(std::move(file));
  }
  ASSIGN_OR_RETURN(manifest.book, members.TakeBook());
  RETURN_IF_ERROR(members.Check());
  if (const base::JsonValue* sealed = value.Find("sealed"); sealed != nullptr) {
    RETURN_IF_ERROR(DecodeSealed(*sealed, &manifest));
  }
  if (const base::JsonValue* version = value.Find("symbols_version"); version != nullptr) {
    manifest.symbols_version = version->AsUint().value_or(0);
  }
  RETURN_IF_ERROR(CheckWhole(manifest));
  return manifest;
}

std::string EncodeStoreState(const StoreState& state) {
  base::JsonWriter json;
  json.BeginObject().Key("version").Uint(kStoreVersion).Key("book");
  state.book.WriteJson(json);
  json.Key("removed").BeginArray();
  for (const StoreState::Volume& volume : state.removed) {
    json.BeginObject().Key("day").String(DayName(volume.day));
    json.Key("number").Uint(volume.number).EndObject();
  }
  json.EndArray().Key("files_quarantined").Uint(state.files_quarantined);
  json.EndObject();
  return json.Take() + "\n";
}

base::Result<StoreState> DecodeStoreState(std::string_view text) {
  ASSIGN_OR_RETURN(const base::JsonValue value, base::ParseJson(text));
  Members members(value);
  RETURN_IF_ERROR(CheckVersion(members));
  StoreState state;
  ASSIGN_OR_RETURN(state.book, members.TakeBook());
  for (const base::JsonValue& item : members.Items("removed")) {
    Members volume(item);
    state.removed.push_back({TakeDay(volume), volume.Uint32("number")});
    RETURN_IF_ERROR(volume.Check());
  }
  state.files_quarantined = members.Uint("files_quarantined");
  RETURN_IF_ERROR(members.Check());
  return state;
}

}  // namespace vesta::store
