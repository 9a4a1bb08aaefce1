#include "src/store/duck/hot_file.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "src/store/duck/duck_handles.h"
#include "src/store/duck/row_bytes.h"

namespace vesta::store::duck {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr uint32_t kSchemaVersion = 2;
// Name of the attached file.
constexpr const char* kCatalog = "hot";
constexpr size_t kJournalColumns = 8;
// What an instance keeps once nothing is to be done. More than that is only a limit.
constexpr uint64_t kMemoryBytesIdle = uint64_t{32} << 20;
// A log takes four times its size when it is read or moved, or somewhat more if it is of texts.
constexpr uint64_t MemoryForLog(uint64_t log_bytes) { return kMemoryBytesIdle / 2 + 6 * log_bytes; }
// While the log is short.
constexpr uint64_t kMemoryBytesMax = MemoryForLog(kLogBytesMax);
// All dictionaries are sorted at once when they are loaded, and written anew when the log is moved.
constexpr uint64_t MemoryForFile(uint64_t file_bytes, uint64_t log_bytes) {
  return MemoryForLog(log_bytes) + 4 * (file_bytes + log_bytes);
}
constexpr uint64_t kCheckpointBytesMin = uint64_t{1} << 20;
constexpr uint64_t kRowBytesMax = 44;
constexpr std::string_view kRowTablePrefix = "rows_";

std::string RowTable(uint32_t part) { return std::string(kRowTablePrefix) + std::to_string(part); }

std::string InHot(const std::string& table) { return std::string(kCatalog) + ".main." + table; }

Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Rows [from, from + rows_max) of all.
RowColumns SliceOf(const RowColumns& rows, size_t from, size_t rows_max) {
  const size_t count = std::min(rows_max, rows.row_count - from);
  return {.row_count = count,
          .type = rows.type.subspan(from, count),
          .series = rows.series.subspan(from, count),
          .task = rows.task.subspan(from, count),
          .stack = rows.stack.subspan(from, count),
          .time_unix_ms = rows.time_unix_ms.subspan(from, count),
          .value = rows.value.subspan(from, count),
          .count = rows.count.subspan(from, count),
          .weight = rows.weight.subspan(from, count)};
}

uint64_t FileBytes(const std::string& path) {
  std::error_code missing;
  const uintmax_t bytes = std::filesystem::file_size(path, missing);
  return missing ? 0 : bytes;
}

uint64_t LogBytes(const std::string& path) { return FileBytes(path + ".wal"); }

// An instance of its own for each file, so that damage in one does not stop the others' work.
Result<std::unique_ptr<Connection>> Attach(const DuckDb& db, const std::string& path,
                                           uint64_t memory_bytes) {
  DuckSettings settings = db.state().settings();
  settings.threads = 1;
  settings.memory_bytes_max = memory_bytes;
  ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, StartInstance(settings));
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> writer, Connection::Open(std::move(instance)));
  // Absolute, since "a:b" would name an extension.
  const std::string absolute = std::filesystem::absolute(path).string();
  RETURN_IF_ERROR(
      writer->Run("ATTACH " + SqlText(absolute) + " AS " + kCatalog + " (TYPE duckdb)", path));
  // Only Close knows whether there is room for it.
  RETURN_IF_ERROR(writer->Run("PRAGMA disable_checkpoint_on_shutdown", path));
  return writer;
}

}  // namespace

class HotFile::State {
 public:
  State(std::string path, std::unique_ptr<Connection> writer, uint64_t memory_bytes)
      : path_(std::move(path)), writer_(std::move(writer)), memory_bytes_(memory_bytes) {}
  ~State() {
    if (!is_closed_) (void)Close().ok();
  }

  Result<void> Prepare();
  Result<void> Load(const HotLoad& load);
  Result<void> Commit(const HotCommit& commit);
  Result<std::vector<HotPart>> Parts(Connection* connection);
  Result<void> DropPart(uint32_t part);
  Result<void> TakeBack(uint64_t commit);
  Result<void> Checkpoint();
  Result<void> Close();

  uint64_t next_commit() const { return next_commit_; }
  bool is_usable() const { return is_usable_; }
  uint64_t log_bytes() const { return LogBytes(path_); }
  Result<std::unique_ptr<Connection>> Reader() {
    return Connection::Open(writer_->shared_instance());
  }
  const std::string& path() const { return path_; }

 private:
  Result<void> MakeTables();
  Result<void> NeedMemory(uint64_t bytes);
  Result<void> SetMemory(uint64_t bytes);
  Result<void> GiveMemoryBack();
  Result<void> Append(const HotCommit& commit);
  Result<void> AppendJournal(const HotCommit& commit);
  Result<Appender*> PartAppender(uint32_t part);
  void ForgetAppenders();

  const std::string path_;
  std::unique_ptr<Connection> writer_;
  std::map<uint32_t, std::unique_ptr<Appender>> parts_;  // those with a table
  std::unique_ptr<Appender> journal_;
  std::vector<uint8_t> row_bytes_;  // of the part being committed
  uint64_t next_commit_ = 0;
  uint64_t memory_bytes_;  // DuckDB's limit
  bool is_usable_ = true;
  bool is_closed_ = false;
};

Result<void> HotFile::State::MakeTables() {
  for (const std::string& sql :
       {std::string("BEGIN"),
        "CREATE TABLE " + InHot("meta") + "(schema_version UINTEGER NOT NULL)",
        "INSERT INTO " + InHot("meta") + " VALUES (" + std::to_string(kSchemaVersion) + ")",
        "CREATE TABLE " + InHot("journal") +
            "(\"commit\" UBIGINT NOT NULL, dictionary BLOB NOT NULL, state BLOB NOT NULL,"
            " agent BLOB, boot BLOB, \"sequence\" UBIGINT, \"rows\" UBIGINT, time_unix_ms BIGINT)",
        std::string("COMMIT")}) {
    RETURN_IF_ERROR(writer_->Run(sql, path_));
  }
  return {};
}

Result<void> HotFile::State::Prepare() {
  std::optional<uint32_t> version;
  {
    ASSIGN_OR_RETURN(ResultStream tables,
                     writer_->Query("SELECT count(*)::UINTEGER FROM duckdb_tables()"
                                    " WHERE database_name = 'hot'",
                                    path_));
    ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> counted, tables.Next());
    if (counted != nullptr && *counted->values<uint32_t>(0) > 0) version = 0;
  }
  if (!version.has_value()) {
    RETURN_IF_ERROR(MakeTables());
    return {};
  }
  ASSIGN_OR_RETURN(ResultStream meta,
                   writer_->Query("SELECT schema_version::UINTEGER FROM " + InHot("meta"), path_));
  ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> row, meta.Next());
  if (row == nullptr) return Error(ErrorCode::kCorrupt, path_ + ": has no schema version");
  version = *row->values<uint32_t>(0);
  if (*version != kSchemaVersion) {
    return Error(ErrorCode::kUnsupported, path_ + ": has schema version " +
                                              std::to_string(*version) + ", this vesta writes " +
                                              std::to_string(kSchemaVersion));
  }
  ASSIGN_OR_RETURN(ResultStream last,
                   writer_->Query("SELECT max(\"commit\") FROM " + InHot("journal"), path_));
  ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> sequence, last.Next());
  if (sequence != nullptr && !sequence->is_null(0, 0)) {
    next_commit_ = *sequence->values<uint64_t>(0) + 1;
  }
  return {};
}

Result<void> HotFile::State::Load(const HotLoad& load) {
  RETURN_IF_ERROR(NeedMemory(MemoryForFile(FileBytes(path_), log_bytes())));
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> reader, Reader());
  const auto each = [&](const std::string& sql, auto&& row) -> Result<void> {
    ASSIGN_OR_RETURN(ResultStream stream, reader->Query(sql, path_));
    for (;;) {
      ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> chunk, stream.Next());
      if (chunk == nullptr) return {};
      for (size_t i = 0; i < chunk->row_count(); ++i) RETURN_IF_ERROR(row(*chunk, i));
    }
  };
  RETURN_IF_ERROR(
      each("SELECT state FROM " + InHot("journal") +
               " WHERE octet_length(state) > 0 ORDER BY \"commit\" DESC LIMIT 1",
           [&](const Chunk& chunk, size_t i) { return load.state(AsBytes(chunk.bytes(0, i))); }));
  RETURN_IF_ERROR(each(
      "SELECT dictionary FROM " + InHot("journal") +
          " WHERE octet_length(dictionary) > 0 ORDER BY \"commit\"",
      [&](const Chunk& chunk, size_t i) { return load.dictionary(AsBytes(chunk.bytes(0, i))); }));
  RETURN_IF_ERROR(
      each("SELECT agent, boot, \"sequence\", \"rows\", time_unix_ms FROM " + InHot("journal") +
               " WHERE agent IS NOT NULL AND boot IS NOT NULL AND \"sequence\" IS NOT NULL"
               " AND \"rows\" IS NOT NULL AND time_unix_ms IS NOT NULL",
           [&](const Chunk& chunk, size_t i) {
             return load.ledger({chunk.bytes(0, i), chunk.bytes(1, i), chunk.values<uint64_t>(2)[i],
                                 chunk.values<uint64_t>(3)[i], chunk.values<int64_t>(4)[i]});
           }));
  ASSIGN_OR_RETURN(const std::vector<HotPart> parts, Parts(reader.get()));
  // A chunk is up to 2,048 values, so mostly all of a part.
  for (const HotPart& part : parts) {
    RETURN_IF_ERROR(NeedMemory(kMemoryBytesMax + 2 * part.rows * kRowBytesMax));
  }
  DecodedRows rows;
  for (const HotPart& part : parts) {
    const auto decode = [&](const Chunk& chunk, size_t i) -> Result<void> {
      RETURN_IF_ERROR(rows.Decode(AsBytes(chunk.bytes(0, i)), path_));
      return load.rows(part.part, rows.View());
    };
    RETURN_IF_ERROR(each("SELECT \"bytes\" FROM " + InHot(RowTable(part.part)), decode));
  }
  return GiveMemoryBack();
}

Result<std::vector<HotPart>> HotFile::State::Parts(Connection* connection) {
  std::vector<HotPart> parts;
  {
    ASSIGN_OR_RETURN(ResultStream tables,
                     connection->Query("SELECT table_name FROM duckdb_tables()"
                                       " WHERE database_name = 'hot'"
                                       " AND regexp_full_match(table_name, 'rows_[0-9]{1,10}')",
                                       path_));
    for (;;) {
      ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> chunk, tables.Next());
      if (chunk == nullptr) break;
      for (size_t i = 0; i < chunk->row_count(); ++i) {
        const std::string_view digits = chunk->bytes(0, i).substr(kRowTablePrefix.size());
        const uint64_t part = std::stoull(std::string(digits));
        if (part <= std::numeric_limits<uint32_t>::max()) {
          parts.push_back({static_cast<uint32_t>(part), 0});
        }
      }
    }
  }
  for (HotPart& part : parts) {
    ASSIGN_OR_RETURN(ResultStream stream,
                     connection->Query("SELECT coalesce(sum(row_count), 0)::UBIGINT FROM " +
                                           InHot(RowTable(part.part)),
                                       path_));
    ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> counted, stream.Next());
    if (counted != nullptr) part.rows = *counted->values<uint64_t>(0);
  }
  std::sort(parts.begin(), parts.end(),
            [](const HotPart& a, const HotPart& b) { return a.part < b.part; });
  return parts;
}

Result<Appender*> HotFile::State::PartAppender(uint32_t part) {
  std::unique_ptr<Appender>& appender = parts_[part];
  if (appender == nullptr) {
    RETURN_IF_ERROR(writer_->Run(
        "CREATE TABLE IF NOT EXISTS " + InHot(RowTable(part)) +
            "(\"commit\" UBIGINT NOT NULL, row_count UBIGINT NOT NULL, \"bytes\" BLOB NOT NULL)",
        path_));
    ASSIGN_OR_RETURN(appender, Appender::Open(writer_.get(), kCatalog, RowTable(part), {}, path_));
  }
  return appender.get();
}

void HotFile::State::ForgetAppenders() {
  parts_.clear();
  journal_.reset();
}

Result<void> HotFile::State::AppendJournal(const HotCommit& commit) {
  if (journal_ == nullptr) {
    ASSIGN_OR_RETURN(journal_, Appender::Open(writer_.get(), kCatalog, "journal", {}, path_));
  }
  const DuckLibrary& library = writer_->library();
  Appender& to = *journal_;
  const auto blob = [&](const void* bytes, size_t size) {
    return to.Check(library.append_blob(to.get(), bytes, size));
  };
  const size_t rows = std::max<size_t>(1, commit.ledger.size());
  for (size_t i = 0; i < rows; ++i) {
    RETURN_IF_ERROR(to.Check(library.append_uint64(to.get(), next_commit_)));
    for (const Bytes bytes : {commit.dictionary, commit.state}) {
      RETURN_IF_ERROR(blob(bytes.data(), i == 0 ? bytes.size() : 0));
    }
    if (commit.ledger.empty()) {
      for (size_t column = 3; column < kJournalColumns; ++column) {
        RETURN_IF_ERROR(to.Check(library.append_null(to.get())));
      }
    } else {
      const LedgerRow& row = commit.ledger[i];
      RETURN_IF_ERROR(blob(row.agent.data(), row.agent.size()));
      RETURN_IF_ERROR(blob(row.boot.data(), row.boot.size()));
      RETURN_IF_ERROR(to.Check(library.append_uint64(to.get(), row.sequence)));
      RETURN_IF_ERROR(to.Check(library.append_uint64(to.get(), row.rows)));
      RETURN_IF_ERROR(to.Check(library.append_int64(to.get(), row.time_unix_ms)));
    }
    RETURN_IF_ERROR(to.Check(library.appender_end_row(to.get())));
  }
  return to.Flush();
}

Result<void> HotFile::State::Append(const HotCommit& commit) {
  const DuckLibrary& library = writer_->library();
  for (const PartRows& part : commit.parts) {
    ASSIGN_OR_RETURN(Appender * to, PartAppender(part.part));
    for (size_t from = 0; from < part.rows.row_count; from += kRowsOfValueMax) {
      const RowColumns rows = SliceOf(part.rows, from, kRowsOfValueMax);
      EncodeRows(rows, &row_bytes_);
      RETURN_IF_ERROR(to->Check(library.append_uint64(to->get(), next_commit_)));
      RETURN_IF_ERROR(to->Check(library.append_uint64(to->get(), rows.row_count)));
      RETURN_IF_ERROR(
          to->Check(library.append_blob(to->get(), row_bytes_.data(), row_bytes_.size())));
      RETURN_IF_ERROR(to->Check(library.appender_end_row(to->get())));
    }
    RETURN_IF_ERROR(to->Flush());
  }
  return AppendJournal(commit);
}

// What the log holds is in memory, and so is all of a commit while it is written.
Result<void> HotFile::State::NeedMemory(uint64_t bytes) {
  return bytes <= memory_bytes_ ? Result<void>() : SetMemory(bytes);
}

Result<void> HotFile::State::SetMemory(uint64_t bytes) {
  RETURN_IF_ERROR(
      writer_->Run("SET GLOBAL memory_limit = '" + std::to_string(bytes) + "B'", path_));
  memory_bytes_ = bytes;
  return {};
}

// Blocks of the file that are only kept go, where that can be.
Result<void> HotFile::State::GiveMemoryBack() {
  (void)SetMemory(kMemoryBytesIdle).ok();
  return SetMemory(std::max(kMemoryBytesMax, MemoryForLog(log_bytes())));
}

Result<void> HotFile::State::Commit(const HotCommit& commit) {
  if (commit.parts.empty() && commit.dictionary.empty() && commit.state.empty() &&
      commit.ledger.empty()) {
    return {};
  }
  uint64_t bytes = commit.dictionary.size() + commit.state.size();
  for (const PartRows& part : commit.parts) bytes += part.rows.row_count * kRowBytesMax;
  RETURN_IF_ERROR(NeedMemory(MemoryForLog(log_bytes() + bytes)));
  RETURN_IF_ERROR(writer_->Run("BEGIN", path_));
  Result<void> done = Append(commit);
  if (done.ok()) {
    if (auto committed = writer_->Run("COMMIT", path_); !committed.ok()) {
      done = std::move(committed).error();
    }
  }
  if (!done.ok()) {
    is_usable_ = false;
    return done;
  }
  ++next_commit_;
  return {};
}

Result<void> HotFile::State::DropPart(uint32_t part) {
  parts_.erase(part);
  const auto dropped = writer_->Run("DROP TABLE IF EXISTS " + InHot(RowTable(part)), path_);
  if (dropped.ok()) return {};
  is_usable_ = false;
  return dropped.error();
}

Result<void> HotFile::State::TakeBack(uint64_t commit) {
  ASSIGN_OR_RETURN(const std::vector<HotPart> parts, Parts(writer_.get()));
  const std::string behind = " WHERE \"commit\" >= " + std::to_string(commit);
  std::vector<std::string> statements = {"BEGIN", "DELETE FROM " + InHot("journal") + behind};
  for (const HotPart& part : parts) {
    statements.push_back("DELETE FROM " + InHot(RowTable(part.part)) + behind);
  }
  statements.emplace_back("COMMIT");
  is_usable_ = false;
  for (const std::string& sql : statements) RETURN_IF_ERROR(writer_->Run(sql, path_));
  is_usable_ = true;
  next_commit_ = commit;
  return {};
}

Result<void> HotFile::State::Checkpoint() {
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(path_, unknown);
  if (!unknown && space.available < 2 * log_bytes() + kCheckpointBytesMin) {
    return Error(ErrorCode::kUnavailable, path_ + ": no space left to move the log into it");
  }
  RETURN_IF_ERROR(NeedMemory(MemoryForFile(FileBytes(path_), log_bytes())));
  is_usable_ = false;
  RETURN_IF_ERROR(writer_->Run(std::string("CHECKPOINT ") + kCatalog, path_));
  is_usable_ = true;
  return GiveMemoryBack();
}

Result<void> HotFile::State::Close() {
  is_closed_ = true;
  // Without room the log is as good.
  if (is_usable_) (void)Checkpoint().ok();
  ForgetAppenders();
  RETURN_IF_ERROR(writer_->Run(std::string("DETACH ") + kCatalog, path_));
  return {};
}

HotFile::HotFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
HotFile::~HotFile() = default;

Result<std::unique_ptr<HotFile>> HotFile::Open(const DuckDb& db, const std::string& path) {
  const uint64_t memory_bytes = std::max(kMemoryBytesMax, MemoryForLog(LogBytes(path)));
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> writer, Attach(db, path, memory_bytes));
  auto state = std::make_unique<State>(path, std::move(writer), memory_bytes);
  RETURN_IF_ERROR(state->Prepare());
  return std::unique_ptr<HotFile>(new HotFile(std::move(state)));
}

Result<void> HotFile::Load(const HotLoad& load) { return state_->Load(load); }
Result<void> HotFile::Commit(const HotCommit& commit) { return state_->Commit(commit); }

Result<std::vector<HotPart>> HotFile::Parts() {
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> reader, state_->Reader());
  return state_->Parts(reader.get());
}

Result<void> HotFile::DropPart(uint32_t part) { return state_->DropPart(part); }
uint64_t HotFile::next_commit() const { return state_->next_commit(); }
Result<void> HotFile::TakeBack(uint64_t commit) { return state_->TakeBack(commit); }
uint64_t HotFile::log_bytes() const { return state_->log_bytes(); }
bool HotFile::is_usable() const { return state_->is_usable(); }
Result<void> HotFile::Checkpoint() { return state_->Checkpoint(); }
Result<void> HotFile::Close() { return state_->Close(); }

}  // namespace vesta::store::duck
