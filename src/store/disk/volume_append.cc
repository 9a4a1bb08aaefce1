// How rows come into an open volume: numbered by the threads that bring them, written by one.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "src/base/json.h"
#include "src/store/disk/day.h"
#include "src/store/disk/volume.h"

namespace vesta::store {

namespace {

constexpr uint32_t kNoId = UINT32_MAX;

void AppendTo(EncodedRows* to, const EncodedRows& from, size_t row) {
  to->type.push_back(from.type[row]);
  to->series.push_back(from.series[row]);
  to->task.push_back(from.task[row]);
  to->stack.push_back(from.stack[row]);
  to->time_unix_ms.push_back(from.time_unix_ms[row]);
  to->value.push_back(from.value[row]);
  to->count.push_back(from.count[row]);
  to->weight.push_back(from.weight[row]);
}

template <typename T>
void Extend(std::vector<T>* to, const std::vector<T>& from) {
  to->insert(to->end(), from.begin(), from.end());
}

void AppendAll(EncodedRows* to, const EncodedRows& from) {
  Extend(&to->type, from.type);
  Extend(&to->series, from.series);
  Extend(&to->task, from.task);
  Extend(&to->stack, from.stack);
  Extend(&to->time_unix_ms, from.time_unix_ms);
  Extend(&to->value, from.value);
  Extend(&to->count, from.count);
  Extend(&to->weight, from.weight);
}

duck::Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

duck::LedgerRow LedgerRowOf(const VolumeAppend& append) {
  return {.agent = append.id->agent,
          .boot = append.id->boot,
          .sequence = append.id->sequence,
          .rows = append.rows.size(),
          .time_unix_ms = append.rows.time_unix_ms.front()};
}

}  // namespace

duck::RowColumns EncodedRows::Columns() const {
  return {.row_count = size(),
          .type = type,
          .series = series,
          .task = task,
          .stack = stack,
          .time_unix_ms = time_unix_ms,
          .value = value,
          .count = count,
          .weight = weight};
}

EncodedRows Volume::Encode(const Batch& batch, std::span<const uint32_t> chosen,
                           std::span<const Labels* const> series) {
  EncodedRows rows;
  std::vector<profile::StackId> stacks;
  stacks.reserve(chosen.size());
  for (auto* column : {&rows.type, &rows.series, &rows.task}) column->reserve(chosen.size());
  for (auto* column : {&rows.time_unix_ms, &rows.value, &rows.count}) {
    column->reserve(chosen.size());
  }
  rows.weight.reserve(chosen.size());
  rows.stack.resize(chosen.size());

  const std::lock_guard lock(intern_);
  index::Dictionary& dictionary = *hot_->dictionary;
  std::vector<uint32_t> series_ids(series.size(), kNoId);
  for (size_t i = 0; i < series.size(); ++i) {
    if (series[i] != nullptr) series_ids[i] = dictionary.InternSeries(*series[i]);
  }
  std::vector<uint32_t> type_ids(batch.types.size(), kNoId);
  std::vector<uint32_t> task_ids(batch.tasks.size(), kNoId);
  for (const uint32_t at : chosen) {
    const BatchRow& row = batch.rows[at];
    uint32_t& type = type_ids[row.type];
    if (type == kNoId) type = dictionary.InternType(batch.types[row.type]);
    uint32_t& task = task_ids[row.task];
    if (task == kNoId) task = dictionary.InternTask(batch.tasks[row.task]);
    rows.type.push_back(type);
    rows.series.push_back(series_ids[row.series]);
    rows.task.push_back(task);
    rows.time_unix_ms.push_back(row.time_unix_ms);
    rows.value.push_back(row.value);
    rows.count.push_back(row.count);
    rows.weight.push_back(row.weight);
    stacks.push_back(row.stack);
  }
  hot_->interner->Intern(*batch.profile, stacks, rows.stack);
  RegisterNames();
  dictionary_bytes_ = dictionary.memory_bytes();
  return rows;
}

void Volume::RegisterNames() {
  const index::DictionaryMarks marks = hot_->dictionary->marks();
  {
    const std::shared_lock lock(state_);
    if (series_.ids().size() == marks.series && types_.size() == marks.types) return;
  }
  const std::unique_lock lock(state_);
  for (auto id = static_cast<uint32_t>(series_.ids().size()); id < marks.series; ++id) {
    series_.Add(hot_->dictionary->series(id));
  }
  for (auto id = static_cast<uint32_t>(types_.size()); id < marks.types; ++id) {
    types_.push_back(world_.catalog->InternType(hot_->dictionary->type(id)));
  }
}

int64_t Volume::HourOf(int64_t time_unix_ms) const {
  return hot_->has_hours ? time_unix_ms / world_.part_ms : 0;
}

uint32_t Volume::PartOf(int64_t time_unix_ms) {
  const auto [at, is_new] = hot_->part_of_hour.emplace(HourOf(time_unix_ms), hot_->next_part);
  if (is_new) ++hot_->next_part;
  return at->second;
}

base::Result<void> Volume::Commit(std::span<VolumeAppend* const> appends) {
  const std::lock_guard commit_lock(commit_);
  Book book;
  std::vector<duck::LedgerRow> ledger;
  std::map<uint32_t, EncodedRows> rows_of_part;
  std::set<std::tuple<std::string_view, std::string_view, uint64_t>> seen;
  for (VolumeAppend* append : appends) {
    book.Add(append->book);
    if (append->id != nullptr && !append->is_duplicate) {
      ASSIGN_OR_RETURN(const bool is_counted, Counted(*append->id));
      append->is_duplicate =
          is_counted ||
          !seen.emplace(append->id->agent, append->id->boot, append->id->sequence).second;
    }
    const EncodedRows& rows = append->rows;
    book.outcome.rows_received += rows.size();
    if (append->is_duplicate) {
      book.outcome.rows_duplicate += rows.size();
      continue;
    }
    if (rows.size() == 0) continue;
    book.outcome.rows_kept += rows.size();
    book.outcome.rows_overflowed += append->rows_overflowed;
    if (append->id != nullptr) ledger.push_back(LedgerRowOf(*append));
    const auto [first, last] =
        std::minmax_element(rows.time_unix_ms.begin(), rows.time_unix_ms.end());
    if (HourOf(*first) == HourOf(*last)) {
      AppendAll(&rows_of_part[PartOf(*first)], rows);
    } else {
      for (size_t row = 0; row < rows.size(); ++row) {
        AppendTo(&rows_of_part[PartOf(rows.time_unix_ms[row])], rows, row);
      }
    }
  }
  return CommitParts(rows_of_part, ledger, book);
}

base::Result<void> Volume::CommitParts(const std::map<uint32_t, EncodedRows>& rows_of_part,
                                       std::span<const duck::LedgerRow> ledger, const Book& book) {
  RETURN_IF_ERROR(NeedHotFile());
  std::vector<duck::PartRows> parts;
  for (const auto& [part, rows] : rows_of_part) parts.push_back({part, rows.Columns()});
  Book whole = durable_book();
  whole.Add(book);
  base::JsonWriter json;
  whole.WriteJson(json);
  const std::string state = json.Take();
  index::DictionaryMarks marks;
  std::vector<uint8_t> delta;
  {
    const std::lock_guard lock(intern_);
    marks = hot_->dictionary->marks();
    if (marks != hot_->durable) delta = hot_->dictionary->EncodeDelta(hot_->durable);
  }
  world_.step("commit");
  auto committed = hot_->file->Commit(
      {.parts = parts, .dictionary = delta, .state = AsBytes(state), .ledger = ledger});
  if (!committed.ok()) {
    hot_->file.reset();
    (void)NeedHotFile().ok();  // else the next one that needs it tries again
    return committed;
  }
  hot_->commits = hot_->file->next_commit();
  hot_->durable = marks;
  Publish(parts, ledger, whole);
  ShortenLog();
  return {};
}

Book Volume::durable_book() const {
  const std::shared_lock lock(state_);
  return book_;
}

// After an error DuckDB is of no use for the file, and only the file tells whether a commit that
// failed is there all the same. It was refused then, so it is taken back.
base::Result<void> Volume::NeedHotFile() {
  if (hot_->file != nullptr) return {};
  world_.step("open hot file again");
  ASSIGN_OR_RETURN(std::unique_ptr<duck::HotFile> file,
                   duck::HotFile::Open(*world_.database, PathOf(kHotFile)));
  if (file->next_commit() < hot_->commits) {
    return base::Error(base::ErrorCode::kCorrupt, PathOf(kHotFile) + ": has lost commits");
  }
  if (file->next_commit() > hot_->commits) RETURN_IF_ERROR(file->TakeBack(hot_->commits));
  // What was sealed may not have been dropped.
  ASSIGN_OR_RETURN(const std::vector<duck::HotPart> parts, file->Parts());
  for (const duck::HotPart& part : parts) {
    const std::shared_lock lock(state_);
    if (parts_.contains(part.part)) continue;
    RETURN_IF_ERROR(file->DropPart(part.part));
  }
  hot_->file = std::move(file);
  return {};
}

// After the commit, not inside: without room for it, nothing is lost but a short start.
void Volume::ShortenLog() {
  const uint64_t bytes = hot_->file->log_bytes();
  if (bytes < hot_->log_bytes_max) return;
  const bool is_moved = hot_->file->Checkpoint().ok();
  if (!hot_->file->is_usable()) hot_->file.reset();
  hot_->log_bytes_max = (is_moved ? 0 : bytes) + duck::kLogBytesMax;
}

void Volume::Publish(std::span<const duck::PartRows> parts, std::span<const duck::LedgerRow> ledger,
                     const Book& book) {
  const std::unique_lock lock(state_);
  for (const duck::PartRows& part : parts) {
    std::shared_ptr<OpenPart>& open = parts_[part.part];
    if (open == nullptr) {
      open = std::make_shared<OpenPart>(part.part, DayStartUnixMs(id_.day));
    }
    open->Add(part.rows);
    open_rows_ += part.rows.row_count;
  }
  for (const duck::LedgerRow& row : ledger) ledger_->Add(row.agent, row.boot, row.sequence);
  book_ = book;
}

}  // namespace vesta::store
