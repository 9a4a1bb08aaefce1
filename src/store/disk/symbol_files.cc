#include "src/store/disk/symbol_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "src/base/byte_source.h"
#include "src/store/disk/files.h"
#include "src/store/disk/symbol_merge.h"
#include "src/store/symbol_check.h"
#include "src/store/symbols/symbol_log.h"

namespace vesta::store {

using symbols::Fact;
using symbols::FactLine;
using symbols::FunctionText;
using symbols::Hash128;
using symbols::Place;
using symbols::SymbolRun;

namespace {

constexpr const char* kLogKind = "log-";
constexpr const char* kRunKind = "run-";
constexpr std::string_view kSuffix = ".sym";
constexpr size_t kRecordBytes = size_t{512} << 10;
constexpr uint64_t kLogBytesMax = uint64_t{256} << 20;
constexpr uint64_t kMicrosecondsPerMs = 1'000;
// A file of more than this part of what all may have is not written again.
constexpr uint64_t kLargeShare = 4;

// The number in a name like "run-000017.sym".
std::optional<uint64_t> NumberOf(std::string_view name, std::string_view kind) {
  if (!name.starts_with(kind) || !name.ends_with(kSuffix)) return std::nullopt;
  const std::string_view digits =
      name.substr(kind.size(), name.size() - kind.size() - kSuffix.size());
  uint64_t number = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (status != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

base::Error NotWritten(const std::string& path) {
  const base::Error error = base::ErrnoError("writing " + path, errno);
  return base::Error(base::ErrorCode::kUnavailable, error.message());
}

}  // namespace

// The log that is written. What is in it after Sync is there after a crash.
class SymbolFiles::Log {
 public:
  static base::Result<std::shared_ptr<Log>> Open(const std::string& path, uint64_t size) {
    base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640));
    if (file.fd() < 0) return base::ErrnoError("opening " + path, errno);
    auto log = std::make_shared<Log>(path, std::move(file), size);
    RETURN_IF_ERROR(log->Cut());
    if (size == 0) RETURN_IF_ERROR(log->Append(symbols::LogHeader()));
    RETURN_IF_ERROR(log->Sync());
    return log;
  }
  Log(std::string path, base::Descriptor file, uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}

  // All of it, or nothing; is_good() says whether the nothing could be seen to.
  base::Result<void> Append(std::string_view bytes) {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::pwrite(file_.fd(), bytes.data() + done, bytes.size() - done,
                                     static_cast<off_t>(size_ + done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        const base::Error error = NotWritten(path_);
        is_good_ = Cut().ok();
        return error;
      }
      done += static_cast<size_t>(count);
    }
    size_ += bytes.size();
    return {};
  }
  base::Result<void> Sync() const {
    if (::fdatasync(file_.fd()) != 0) return NotWritten(path_);
    return {};
  }
  bool is_good() const { return is_good_; }
  uint64_t size_bytes() const { return size_; }

 private:
  base::Result<void> Cut() const {
    if (::ftruncate(file_.fd(), static_cast<off_t>(size_)) != 0) return NotWritten(path_);
    return {};
  }

  const std::string path_;
  const base::Descriptor file_;
  uint64_t size_;
  bool is_good_ = true;
};

// Points into the batch's profile.
struct SymbolFiles::Told {
  std::vector<FunctionText> functions;
  std::deque<std::vector<FactLine>> lines;
  std::vector<std::pair<Place, size_t>> places;  // and which lines
  uint64_t new_places = 0;
};

SymbolFiles::SymbolFiles(SymbolFilesOptions options)
    : options_(std::move(options)),
      cache_(options_.cache_bytes_max),
      recent_(std::make_shared<symbols::RecentSymbols>()) {}

SymbolFiles::~SymbolFiles() = default;

base::Result<std::unique_ptr<SymbolFiles>> SymbolFiles::Open(SymbolFilesOptions options) {
  std::unique_ptr<SymbolFiles> files(new SymbolFiles(std::move(options)));
  RETURN_IF_ERROR(MakeFolder(files->options_.folder));
  RETURN_IF_ERROR(files->Load());
  return files;
}

std::string SymbolFiles::PathOf(const char* kind, uint64_t number) const {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, '0');
  return options_.folder + "/" + kind + digits + std::string(kSuffix);
}

std::string SymbolFiles::AsidePath(const std::string& path) const {
  const std::string stem = options_.aside_folder + "/symbols-" + path.substr(path.rfind('/') + 1);
  std::string free = stem;
  for (int copy = 2; Exists(free); ++copy) free = stem + "." + std::to_string(copy);
  return free;
}

base::Result<void> SymbolFiles::SetAside(const std::string& path, const std::string& what) {
  RETURN_IF_ERROR(MakeFolder(options_.aside_folder));
  const std::string to = AsidePath(path);
  RETURN_IF_ERROR(RenameDurably(path, to));
  ++files_quarantined_;
  options_.on_notice(path + " was damaged (" + what + ") and is in " + to +
                     " now; names in it that came late are shown as they came first");
  return {};
}

base::Result<void> SymbolFiles::Load() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(options_.folder));
  std::vector<uint64_t> runs;
  std::vector<uint64_t> logs;
  for (const std::string& name : names) {
    if (name.ends_with(kAsideSuffix)) RETURN_IF_ERROR(RemoveAll(options_.folder + "/" + name));
    if (const auto number = NumberOf(name, kRunKind)) runs.push_back(*number);
    if (const auto number = NumberOf(name, kLogKind)) logs.push_back(*number);
  }
  std::sort(runs.begin(), runs.end());
  std::sort(logs.begin(), logs.end());
  for (const uint64_t number : runs) {
    log_number_ = std::max(log_number_, number);
    RETURN_IF_ERROR(LoadRun(number));
  }
  bool is_damaged = false;
  for (const uint64_t number : logs) {
    log_number_ = std::max(log_number_, number);
    const bool is_in_file = std::any_of(runs_.begin(), runs_.end(), [number](const RunFile& file) {
      return file.number == number;
    });
    if (is_in_file) {  // all of it
      RETURN_IF_ERROR(RemoveAll(PathOf(kLogKind, number)));
      continue;
    }
    RETURN_IF_ERROR(LoadLog(number, &is_damaged));
  }
  // One log is enough; and what is left of damaged ones must be in a good file before they go.
  const bool is_last = log_ != nullptr && !is_damaged;
  if (!is_last) {
    ++log_number_;
    ASSIGN_OR_RETURN(log_, Log::Open(PathOf(kLogKind, log_number_), 0));
    RETURN_IF_ERROR(SyncFolder(options_.folder));
  }
  if (is_damaged) RETURN_IF_ERROR(Rotate());
  for (const uint64_t number : logs) {
    const std::string path = PathOf(kLogKind, number);
    if (!is_damaged || !Exists(path)) continue;
    RETURN_IF_ERROR(SetAside(path, "a record of it cannot be read"));
  }
  told_version_ = last_version_;
  return {};
}

base::Result<std::shared_ptr<const SymbolRun>> SymbolFiles::OpenRun(uint64_t number) {
  ASSIGN_OR_RETURN(auto file, base::FileSource::Open(PathOf(kRunKind, number)));
  return SymbolRun::Open(std::move(file), &cache_);
}

base::Result<void> SymbolFiles::LoadRun(uint64_t number) {
  const auto run = OpenRun(number);
  if (!run.ok() && IsDamage(run.error())) {
    return SetAside(PathOf(kRunKind, number), run.error().message());
  }
  if (!run.ok()) return run.error().Context(PathOf(kRunKind, number));
  // What was merged into this one and is still there: its removal was under way.
  while (!runs_.empty() && runs_.front().number >= (*run)->facts().first_file) {
    RETURN_IF_ERROR(RemoveAll(PathOf(kRunKind, runs_.front().number)));
    runs_.erase(runs_.begin());
  }
  runs_.insert(runs_.begin(), {number, *run});
  last_version_ = std::max(last_version_, (*run)->facts().newest_version);
  for (const Hash128& batch : (*run)->batches()) RememberBatch(batch);
  return {};
}

base::Result<void> SymbolFiles::LoadLog(uint64_t number, bool* is_damaged) {
  const std::string path = PathOf(kLogKind, number);
  const auto bytes = ReadWholeFile(path, kLogBytesMax);
  if (!bytes.ok() && !IsDamage(bytes.error())) return bytes.error();
  const bool was_being_made = bytes.ok() && bytes->size() < symbols::LogHeader().size();
  if (was_being_made) return RemoveAll(path);
  auto content =
      bytes.ok() ? symbols::ReadLog(*bytes) : base::Result<symbols::LogContent>(bytes.error());
  if (!content.ok() && !IsDamage(content.error())) return content.error().Context(path);
  if (!content.ok()) return SetAside(path, content.error().message());
  for (const auto& block : content->blocks) Replay(*block);
  *is_damaged = *is_damaged || content->is_damaged;
  log_number_ = number;
  ASSIGN_OR_RETURN(log_,
                   Log::Open(path, content->is_damaged ? bytes->size() : content->good_bytes));
  return {};
}

void SymbolFiles::Replay(const symbols::FactBlock& block) {
  symbols::SymbolView view = ViewUntil(UINT64_MAX);
  for (size_t i = 0; i < block.count(); ++i) {
    if (!view.Find(block.place(i), 0)) ++recent_new_places_;
    recent_->Add(block.place(i), block.fact(i));
    last_version_ = std::max(last_version_, block.fact(i).version);
  }
  for (const Hash128& batch : block.batches()) {
    RememberBatch(batch);
    recent_batches_.push_back(batch);
  }
}

void SymbolFiles::RememberBatch(const Hash128& batch) {
  if (!batches_known_.insert(batch).second) return;
  batches_.push_back(batch);
  if (batches_.size() <= options_.batches_max) return;
  batches_known_.erase(batches_.front());
  batches_.pop_front();
}

symbols::SymbolView SymbolFiles::ViewUntil(uint64_t version) const {
  symbols::SymbolView::Runs runs;
  for (const RunFile& file : runs_) runs.push_back(file.run);
  return symbols::SymbolView({recent_}, std::move(runs), version);
}

symbols::SymbolView SymbolFiles::View() {
  const std::lock_guard lock(mutex_);
  return ViewUntil(told_version_);
}

base::Result<SymbolsOutcome> SymbolFiles::Append(const SymbolBatch& batch) {
  RETURN_IF_ERROR(CheckSymbols(batch));
  SymbolsOutcome outcome = {.locations_received = batch.locations.size()};
  if (batch.locations.empty()) return outcome;
  const std::optional<Hash128> id =
      batch.id ? std::optional(symbols::HashOf(*batch.id)) : std::nullopt;
  std::unique_lock lock(mutex_);
  if (is_log_bad_) RETURN_IF_ERROR(Rotate());
  if (id && batches_known_.contains(*id)) {
    outcome.locations_unchanged = outcome.locations_received;
  } else {
    const Told told = Choose(batch, &outcome);
    if (!told.places.empty()) RETURN_IF_ERROR(Write(told, id));
    if (id) RememberBatch(*id);
  }
  RETURN_IF_ERROR(WaitUntilDurable(&lock));
  book_.Add(outcome);
  return outcome;
}

// What of the batch is good and new.
SymbolFiles::Told SymbolFiles::Choose(const SymbolBatch& batch, SymbolsOutcome* outcome) {
  const profile::Profile& profile = *batch.profile;
  Told told;
  told.functions.resize(profile.function_count());
  for (uint32_t i = 0; i < told.functions.size(); ++i) {
    const profile::Function& function = profile.function(profile::FunctionId{i});
    told.functions[i] = {profile.String(function.name), profile.String(function.system_name),
                         profile.String(function.file), function.start_line};
  }
  std::vector<std::optional<Hash128>> images(profile.mapping_count());
  std::unordered_map<Place, size_t, symbols::PlaceHash> chosen;
  symbols::SymbolView view = ViewUntil(UINT64_MAX);
  for (const profile::LocationId id : batch.locations) {
    const profile::Location location = profile.location(id);
    const PlaceVerdict verdict = JudgePlace(profile, location);
    CountVerdict(verdict, outcome);
    if (verdict != PlaceVerdict::kGood) continue;
    std::optional<Hash128>& image = images[location.mapping.value()];
    if (!image) image = symbols::HashOf(SymbolImageOf(profile, location));
    std::vector<FactLine> lines;
    for (const profile::Line& line : location.lines) {
      lines.push_back({&told.functions[line.function.value()], line.line, line.column});
    }
    const Place place = {*image, location.address};
    const auto [again, is_first] = chosen.try_emplace(place, told.lines.size());
    const auto known = is_first ? view.Find(place, 0) : std::nullopt;
    const bool is_same = is_first ? known && symbols::SameLines(known->lines, lines)
                                  : symbols::SameLines(told.lines[again->second], lines);
    if (is_same) {
      ++outcome->locations_unchanged;
      if (is_first) chosen.erase(again);
      continue;
    }
    ++outcome->locations_kept;
    if (is_first) {
      told.lines.push_back(std::move(lines));
      told.places.emplace_back(place, again->second);
      if (!known) ++told.new_places;
    } else {
      told.lines[again->second] = std::move(lines);
    }
  }
  return told;
}

base::Result<void> SymbolFiles::Write(const Told& told, std::optional<Hash128> batch) {
  const int64_t now = std::max<int64_t>(options_.now_unix_ms(), 0);
  last_version_ = std::max(last_version_ + 1, static_cast<uint64_t>(now) * kMicrosecondsPerMs);
  symbols::FactWriter writer;
  size_t first = 0;
  for (size_t i = 0; i < told.places.size(); ++i) {
    const auto fact_of = [&](size_t at) {
      return Fact{last_version_, told.lines[told.places[at].second]};
    };
    writer.Add(told.places[i].first, fact_of(i));
    const bool is_last = i + 1 == told.places.size();
    if (!is_last && writer.size_bytes() < kRecordBytes) continue;
    if (is_last && batch) writer.AddBatch(*batch);
    options_.step("symbols log");
    auto appended = log_->Append(symbols::LogRecord(writer.Finish()));
    is_log_bad_ = !log_->is_good();
    RETURN_IF_ERROR(std::move(appended));
    ++written_;
    for (; first <= i; ++first) recent_->Add(told.places[first].first, fact_of(first));
    if (is_last) {
      recent_new_places_ += told.new_places;
      if (batch) recent_batches_.push_back(*batch);
      told_version_ = last_version_;
    }
    if (recent_->memory_bytes() > options_.recent_bytes_max) RETURN_IF_ERROR(Rotate());
  }
  return {};
}

base::Result<void> SymbolFiles::WaitUntilDurable(std::unique_lock<std::mutex>* lock) {
  const uint64_t target = written_;
  while (synced_ < target) {
    if (is_syncing_) {
      changed_.wait(*lock);
      continue;
    }
    if (is_log_bad_) RETURN_IF_ERROR(Rotate());
    if (synced_ >= target) break;
    is_syncing_ = true;
    const uint64_t until = written_;
    const std::shared_ptr<Log> log = log_;
    lock->unlock();
    options_.step("symbols sync");
    const auto done = log->Sync();
    lock->lock();
    is_syncing_ = false;
    changed_.notify_all();
    if (synced_ >= target) break;  // by a sorted file meanwhile
    if (!done.ok()) {
      is_log_bad_ = true;  // nobody knows what of it is on disk
      return done.error();
    }
    synced_ = std::max(synced_, until);
  }
  return {};
}

// The log becomes a sorted file, and another one begins.
base::Result<void> SymbolFiles::Rotate() {
  const uint64_t number = log_number_;
  // The next start believes the sorted file and not the log: as soon as that may be there, nothing
  // more may go to the log.
  is_log_bad_ = true;
  options_.step("symbols run");
  const auto fill = [this](symbols::RunWriter* writer) -> base::Result<void> {
    for (const auto& [place, fact] : recent_->Sorted()) RETURN_IF_ERROR(writer->Add(place, fact));
    return writer->Finish(log_number_, recent_new_places_, recent_batches_);
  };
  RETURN_IF_ERROR(WriteRunFile(PathOf(kRunKind, number), fill));
  options_.step("symbols log next");
  ASSIGN_OR_RETURN(auto run, OpenRun(number));
  ASSIGN_OR_RETURN(auto log, Log::Open(PathOf(kLogKind, number + 1), 0));
  RETURN_IF_ERROR(SyncFolder(options_.folder));
  runs_.insert(runs_.begin(), {number, std::move(run)});
  log_ = std::move(log);
  log_number_ = number + 1;
  is_log_bad_ = false;
  recent_ = std::make_shared<symbols::RecentSymbols>();
  recent_batches_.clear();
  recent_new_places_ = 0;
  synced_ = written_;
  changed_.notify_all();
  options_.step("symbols log remove");
  return RemoveAll(PathOf(kLogKind, number));
}

void SymbolFiles::NoteDamage(const symbols::SymbolView& view) {
  if (!view.damage() || !IsDamage(view.damage()->error)) return;
  const std::lock_guard lock(mutex_);
  // Tried again by whoever sees it next.
  (void)SetRunAside(view.damage()->run.get(), view.damage()->error.message()).ok();
}

base::Result<void> SymbolFiles::SetRunAside(const SymbolRun* run, const std::string& what) {
  const auto file = std::find_if(runs_.begin(), runs_.end(),
                                 [run](const RunFile& one) { return one.run.get() == run; });
  if (file == runs_.end()) return {};
  RETURN_IF_ERROR(SetAside(PathOf(kRunKind, file->number), what));
  runs_.erase(file);
  return {};
}

base::Result<void> SymbolFiles::Maintain(int64_t oldest_unix_ms, uint64_t bytes_max) {
  const uint64_t oldest_version =
      static_cast<uint64_t>(std::max<int64_t>(oldest_unix_ms, 0)) * kMicrosecondsPerMs;
  std::vector<RunFile> runs;
  {
    const std::lock_guard lock(mutex_);
    runs = runs_;
  }
  std::vector<RunFile> too_old;
  std::vector<RunFile> too_many;
  uint64_t bytes = 0;
  std::vector<RunFile> small;
  bool are_small = true;
  for (const RunFile& file : runs) {
    bytes += file.run->size_bytes();
    if (file.run->facts().newest_version < oldest_version) {
      too_old.push_back(file);
    } else if (bytes > bytes_max) {
      too_many.push_back(file);
    } else {
      are_small = are_small && file.run->size_bytes() <= bytes_max / kLargeShare;
      if (are_small) small.push_back(file);
    }
  }
  RETURN_IF_ERROR(Drop(too_old, ""));
  RETURN_IF_ERROR(Drop(
      too_many, "names that came late take more than " + std::to_string(bytes_max >> 20) + " MiB"));
  if (small.size() <= options_.runs_max) return {};
  return Merge(small, oldest_version);
}

base::Result<void> SymbolFiles::Drop(const std::vector<RunFile>& runs, const std::string& why) {
  for (const RunFile& file : runs) {
    options_.step("symbols drop");
    RETURN_IF_ERROR(RemoveAll(PathOf(kRunKind, file.number)));
    if (!why.empty()) {
      options_.on_notice(why + ": " + std::to_string(file.run->facts().places) +
                         " of the oldest are shown as they came first");
    }
    const std::lock_guard lock(mutex_);
    std::erase_if(runs_, [&file](const RunFile& one) { return one.run == file.run; });
  }
  return {};
}

// Becomes the newest of them, under its name: a crash before the others are removed leaves files
// that say nothing else.
base::Result<void> SymbolFiles::Merge(const std::vector<RunFile>& runs, uint64_t oldest_version) {
  std::vector<std::shared_ptr<const SymbolRun>> inputs;
  for (const RunFile& file : runs) inputs.push_back(file.run);
  const uint64_t number = runs.front().number;
  options_.step("symbols merge");
  const SymbolRun* damaged = nullptr;
  auto merged = WriteRunFile(PathOf(kRunKind, number), [&](symbols::RunWriter* writer) {
    return MergeRuns(inputs, oldest_version, options_.batches_max, writer, &damaged);
  });
  if (!merged.ok() && damaged != nullptr && IsDamage(merged.error())) {
    const std::lock_guard lock(mutex_);
    return SetRunAside(damaged, merged.error().message());
  }
  RETURN_IF_ERROR(std::move(merged));
  ASSIGN_OR_RETURN(const auto run, OpenRun(number));
  {
    const std::lock_guard lock(mutex_);
    const auto is_input = [&inputs](const RunFile& one) {
      return std::find(inputs.begin(), inputs.end(), one.run) != inputs.end();
    };
    const auto first = std::find_if(runs_.begin(), runs_.end(), is_input);
    *first = {number, run};
    runs_.erase(std::remove_if(first + 1, runs_.end(), is_input), runs_.end());
  }
  options_.step("symbols merge remove");
  for (const RunFile& file : runs) {
    if (file.number != number) RETURN_IF_ERROR(RemoveAll(PathOf(kRunKind, file.number)));
  }
  return {};
}

SymbolFilesStatus SymbolFiles::status() const {
  const std::lock_guard lock(mutex_);
  SymbolFilesStatus status;
  status.book = book_;
  status.places = recent_new_places_;
  status.disk_bytes = log_->size_bytes();
  status.memory_bytes =
      recent_->memory_bytes() + cache_.memory_bytes() + batches_.size() * 4 * sizeof(Hash128);
  for (const RunFile& file : runs_) {
    status.places += file.run->facts().new_places;
    status.disk_bytes += file.run->size_bytes();
    status.memory_bytes += file.run->memory_bytes();
  }
  status.files_quarantined = files_quarantined_;
  return status;
}

}  // namespace vesta::store
