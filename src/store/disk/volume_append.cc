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
    if (series_.size() == marks.series && types_.size() == marks.types) return;
  }
  const std::unique_lock lock(state_);
  for (auto id = static_cast<uint32_t>(series_.size()); id < marks.series; ++id) {
    series_.push_back(world_.catalog->InternSeries(hot_->dictionary->series(id)));
  }
  for (auto id = static_cast<uint32_t>(types_.size()); id < marks.types; ++id) {
    types_.push_back(world_.catalog->InternType(hot_->dictionary->type(id)));
  }
}

uint32_t Volume::PartOf(int64_t time_unix_ms) {
  const int64_t hour = time_unix_ms / world_.part_ms;
  const auto [at, is_new] = hot_->part_of_hour.emplace(hour, hot_->next_part);
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
    if (*first / world_.part_ms == *last / world_.part_ms) {
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
  if (hot_->file == nullptr) {
    return base::Error(base::ErrorCode::kUnavailable, PathOf(kHotFile) + ": cannot be opened");
  }
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
  const auto committed = hot_->file->Commit(
      {.parts = parts, .dictionary = delta, .state = AsBytes(state), .ledger = ledger});
  if (!committed.ok()) {
    if (committed.error().code() != base::ErrorCode::kUnavailable) ReopenHotFile();
    return committed.error();
  }
  hot_->durable = marks;
  Publish(parts, ledger, whole);
  return {};
}

Book Volume::durable_book() const {
  const std::shared_lock lock(state_);
  return book_;
}

void Volume::ReopenHotFile() {
  hot_->file.reset();
  auto opened = duck::HotFile::Open(*world_.database, PathOf(kHotFile));
  if (opened.ok()) hot_->file = std::move(opened).value();
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
