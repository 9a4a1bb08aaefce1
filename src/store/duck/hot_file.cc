#include "src/store/duck/hot_file.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "src/store/duck/duck_handles.h"
#include "src/store/duck/row_chunk.h"

namespace vesta::store::duck {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr uint32_t kSchemaVersion = 1;
// Name of the attached file.
constexpr const char* kCatalog = "hot";
constexpr size_t kJournalColumns = 8;
constexpr std::string_view kRowTablePrefix = "rows_";

std::string RowTable(uint32_t part) { return std::string(kRowTablePrefix) + std::to_string(part); }

std::string InHot(const std::string& table) { return std::string(kCatalog) + ".main." + table; }

Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// An instance of its own for each file, so that damage in one does not stop the others' work.
Result<std::unique_ptr<Connection>> Attach(const DuckDb& db, const std::string& path) {
  DuckSettings settings = db.state().settings();
  settings.threads = 1;
  ASSIGN_OR_RETURN(std::shared_ptr<DuckInstance> instance, StartInstance(settings));
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> writer, Connection::Open(std::move(instance)));
  // Absolute, since "a:b" would name an extension.
  const std::string absolute = std::filesystem::absolute(path).string();
  RETURN_IF_ERROR(
      writer->Run("ATTACH " + SqlText(absolute) + " AS " + kCatalog + " (TYPE duckdb)", path));
  return writer;
}

}  // namespace

class HotFile::State {
 public:
  State(std::string path, std::unique_ptr<Connection> writer)
      : path_(std::move(path)), writer_(std::move(writer)) {}
  ~State() {
    if (!is_closed_) (void)Close().ok();
  }

  Result<void> Prepare();
  Result<void> Load(const HotLoad& load);
  Result<void> Commit(const HotCommit& commit);
  Result<std::vector<HotPart>> Parts(Connection* connection);
  Result<void> DropPart(uint32_t part);
  Result<void> Checkpoint();
  Result<void> Close();

  Result<std::unique_ptr<Connection>> Reader() {
    return Connection::Open(writer_->shared_instance());
  }
  const std::string& path() const { return path_; }

 private:
  Result<void> MakeTables();
  Result<void> Append(const HotCommit& commit);
  Result<void> AppendJournal(const HotCommit& commit);
  Result<Appender*> PartAppender(uint32_t part);
  void ForgetAppenders();

  const std::string path_;
  std::unique_ptr<Connection> writer_;
  std::map<uint32_t, std::unique_ptr<Appender>> parts_;  // those with a table
  std::unique_ptr<Appender> journal_;
  uint64_t next_commit_ = 0;
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
  for (const HotPart& part : parts) {
    ASSIGN_OR_RETURN(ResultStream stream, reader->Query("SELECT " + RowColumnList(kAllColumns) +
                                                            " FROM " + InHot(RowTable(part.part)),
                                                        path_));
    RETURN_IF_ERROR(CheckRowTypes(&stream, kAllColumns, path_));
    for (;;) {
      ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> chunk, stream.Next());
      if (chunk == nullptr) break;
      RETURN_IF_ERROR(load.rows(part.part, ViewRows(*chunk, kAllColumns)));
    }
  }
  return {};
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
    ASSIGN_OR_RETURN(
        ResultStream stream,
        connection->Query("SELECT count(*) FROM " + InHot(RowTable(part.part)), path_));
    ASSIGN_OR_RETURN(const std::unique_ptr<Chunk> counted, stream.Next());
    if (counted != nullptr) part.rows = static_cast<uint64_t>(*counted->values<int64_t>(0));
  }
  std::sort(parts.begin(), parts.end(),
            [](const HotPart& a, const HotPart& b) { return a.part < b.part; });
  return parts;
}

Result<Appender*> HotFile::State::PartAppender(uint32_t part) {
  std::unique_ptr<Appender>& appender = parts_[part];
  if (appender == nullptr) {
    std::string create = CreateRowTable(InHot(RowTable(part)));
    create.insert(std::string_view("CREATE TABLE").size(), " IF NOT EXISTS");
    RETURN_IF_ERROR(writer_->Run(create, path_));
    ASSIGN_OR_RETURN(
        appender, Appender::Open(writer_.get(), kCatalog, RowTable(part), RowColumnTypes(), path_));
  }
  return appender.get();
}

void HotFile::State::ForgetAppenders() {
  parts_.clear();
  journal_.reset();
}

Result<void> HotFile::State::AppendJournal(const HotCommit& commit) {
  if (commit.dictionary.empty() && commit.state.empty() && commit.ledger.empty()) return {};
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
  for (const PartRows& rows : commit.parts) {
    ASSIGN_OR_RETURN(Appender * appender, PartAppender(rows.part));
    RETURN_IF_ERROR(AppendRows(appender, rows.rows));
    RETURN_IF_ERROR(appender->Flush());
  }
  return AppendJournal(commit);
}

Result<void> HotFile::State::Commit(const HotCommit& commit) {
  RETURN_IF_ERROR(writer_->Run("BEGIN", path_));
  Result<void> done = Append(commit);
  if (done.ok()) {
    if (auto committed = writer_->Run("COMMIT", path_); !committed.ok()) {
      done = std::move(committed).error();
    }
  }
  if (!done.ok()) {
    // Tables made in the transaction are gone with it. When COMMIT itself failed, there is none
    // to roll back.
    ForgetAppenders();
    (void)writer_->Run("ROLLBACK", path_).ok();
    return done;
  }
  ++next_commit_;
  return {};
}

Result<void> HotFile::State::DropPart(uint32_t part) {
  parts_.erase(part);
  RETURN_IF_ERROR(writer_->Run("DROP TABLE IF EXISTS " + InHot(RowTable(part)), path_));
  return {};
}

Result<void> HotFile::State::Checkpoint() {
  RETURN_IF_ERROR(writer_->Run(std::string("CHECKPOINT ") + kCatalog, path_));
  return {};
}

Result<void> HotFile::State::Close() {
  is_closed_ = true;
  ForgetAppenders();
  RETURN_IF_ERROR(writer_->Run(std::string("DETACH ") + kCatalog, path_));
  return {};
}

HotFile::HotFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
HotFile::~HotFile() = default;

Result<std::unique_ptr<HotFile>> HotFile::Open(const DuckDb& db, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> writer, Attach(db, path));
  auto state = std::make_unique<State>(path, std::move(writer));
  RETURN_IF_ERROR(state->Prepare());
  return std::unique_ptr<HotFile>(new HotFile(std::move(state)));
}

Result<void> HotFile::Load(const HotLoad& load) { return state_->Load(load); }
Result<void> HotFile::Commit(const HotCommit& commit) { return state_->Commit(commit); }

Result<std::vector<HotPart>> HotFile::Parts() {
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> reader, state_->Reader());
  return state_->Parts(reader.get());
}

Result<uint64_t> HotFile::SealPart(uint32_t part, const std::string& parquet_path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> reader, state_->Reader());
  ASSIGN_OR_RETURN(const std::vector<HotPart> parts, state_->Parts(reader.get()));
  if (std::none_of(parts.begin(), parts.end(),
                   [part](const HotPart& have) { return have.part == part; })) {
    return Error(ErrorCode::kNotFound, state_->path() + ": has no part " + std::to_string(part));
  }
  return CopySorted(reader.get(), "FROM " + InHot(RowTable(part)), parquet_path, nullptr);
}

Result<void> HotFile::DropPart(uint32_t part) { return state_->DropPart(part); }
Result<void> HotFile::Checkpoint() { return state_->Checkpoint(); }
Result<void> HotFile::Close() { return state_->Close(); }

}  // namespace vesta::store::duck
