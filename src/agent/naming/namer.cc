#include "src/agent/naming/namer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

#include "src/base/byte_source.h"
#include "src/object/elf_file.h"
#include "src/symbolize/demangle.h"
#include "src/symbolize/elf_symbolizer.h"

namespace vesta::agent::naming {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using profile::ImageId;
using symbolize::Symbol;

// Of functions inlined into each other.
constexpr size_t kDepthMax = 128;
// Names that were demangled, of all indexes together.
constexpr size_t kNameBytesMax = 4u << 20;
// Pages of a large index are given back after so many addresses, too.
constexpr size_t kAddressesPerDrop = 512;
constexpr size_t kLargeIndexBytes = 8u << 20;
constexpr uint64_t kLearnNs = 250'000'000;
constexpr size_t kRootsHeldMax = 64;
constexpr uint64_t kElsewhereNs = 200'000'000;
constexpr uint64_t kNoteAgeMaxS = 86'400;
constexpr int64_t kAccountNsMax = 100'000'000;
constexpr timespec kWait = {0, 5'000'000};

uint64_t NowMonoNs() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t NowUnixS() { return static_cast<uint64_t>(std::max<time_t>(::time(nullptr), 0)); }

bool MayHaveIndex(process::ImageKind kind) { return kind == process::ImageKind::kElf; }

// Two files of one build id whose code lies elsewhere do not share an index.
std::string ContentOf(const process::Image& image) {
  char place[64];
  std::snprintf(place, sizeof(place), "@%llx-%llx",
                static_cast<unsigned long long>(image.text_vaddr),
                static_cast<unsigned long long>(image.text_end_vaddr));
  return image.identity + place;
}

// Where packages put what was stripped from a binary.
bool HasDebugFile(const std::string& build_id) {
  if (build_id.size() < 3) return false;
  const std::string path =
      "/usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
  return ::access(path.c_str(), R_OK) == 0;
}

}  // namespace

Namer::Namer(process::ImageStore& images, Options options)
    : images_(images),
      options_(std::move(options)),
      cache_(options_.cache),
      runner_(options_.runner) {}

Namer::Entry* Namer::EntryOf(ImageId id) {
  if (id.value() >= by_image_.size()) by_image_.resize(id.value() + 1);
  Entry*& known = by_image_[id.value()];
  const process::Image& image = images_.image(id);
  if (known != nullptr || !MayHaveIndex(image.kind)) return known;
  const std::string content = ContentOf(image);
  const auto [place, is_new] = entries_.try_emplace(content);
  known = &place->second;
  ++known->image_count;
  known->image = id;
  if (is_new) {
    known->key = SymbolCache::KeyOf(content);
    known->identity = image.identity;
    known->content = content;
    LookUp(*known);
    if (known->state == State::kReady) ++book_.cache_hits;
    if (known->state == State::kQueued) HoldRoot(*known);
  }
  return known;
}

void Namer::HoldRoot(Entry& entry) {
  const auto held = std::count_if(entries_.begin(), entries_.end(),
                                  [](const auto& known) { return known.second.root != nullptr; });
  if (static_cast<size_t>(held) >= kRootsHeldMax) return;
  if (const auto place = images_.FindMapping(entry.image)) {
    entry.root = ForeignRoot::Hold(place->pid);
  }
}

void Namer::LookUp(Entry& entry) {
  const auto note = cache_.ReadNote(entry.key);
  const bool is_over = !note || IsOver(*note, entry);
  if (cache_.Has(entry.key)) {
    entry.state = !note || !is_over ? State::kReady : State::kQueued;
  } else {
    entry.state = is_over ? State::kQueued : State::kNone;
    if (!is_over) ++book_.skipped_by_note;
  }
}

bool Namer::IsOver(const CacheNote& note, const Entry& entry) {
  const uint64_t now_unix_s = NowUnixS();
  if (note.time_unix_s > now_unix_s || now_unix_s - note.time_unix_s > kNoteAgeMaxS) return true;
  if (!note.asked_servers && !options_.debuginfod_urls.empty()) return true;
  if (!note.debug_file_existed && HasDebugFile(images_.image(entry.image).gnu_build_id))
    return true;
  const auto source = images_.Open(entry.image);
  return source.ok() && (*source)->size_bytes() != note.image_bytes;
}

uint64_t Namer::SamplesOf(const Entry& entry) const {
  return entry.image.value() < wanted_.size() ? wanted_[entry.image.value()] : 0;
}

void Namer::LearnWanted() {
  for (uint32_t id = 1; id < wanted_.size() && id < images_.id_limit(); ++id) {
    if (wanted_[id] == 0 || (id < by_image_.size() && by_image_[id] != nullptr)) continue;
    EntryOf(ImageId(id));
  }
}

void Namer::Poll(uint64_t now_mono_ns) {
  if (first_poll_mono_ns_ == 0) first_poll_mono_ns_ = now_mono_ns;
  if (const auto outcome = runner_.Poll(now_mono_ns)) TakeOutcome(*outcome);
  KeepPace(now_mono_ns);
  if (now_mono_ns >= learn_next_mono_ns_) {
    learn_next_mono_ns_ = now_mono_ns + kLearnNs;
    LearnWanted();
  }
  if (now_mono_ns - first_poll_mono_ns_ < options_.start_delay_ns) return;
  if (pace_.may_run && account_ns_ >= 0) StartNext(now_mono_ns);
}

void Namer::KeepPace(uint64_t now_mono_ns) {
  const uint64_t cpu_ns = runner_.cpu_ns();
  if (pace_.cpu_ns_per_s == 0) {
    account_ns_ = kAccountNsMax;
  } else {
    const double elapsed_s = static_cast<double>(now_mono_ns - paced_mono_ns_) / 1e9;
    const double earned_ns = std::min(elapsed_s, 1.0) * static_cast<double>(pace_.cpu_ns_per_s);
    account_ns_ += static_cast<int64_t>(earned_ns) - static_cast<int64_t>(cpu_ns - paced_cpu_ns_);
    account_ns_ = std::min(account_ns_, kAccountNsMax);
  }
  paced_mono_ns_ = now_mono_ns;
  paced_cpu_ns_ = cpu_ns;
  runner_.SetStopped(!pace_.may_run || account_ns_ < 0);
}

Namer::Entry* Namer::NextQueued(uint64_t now_mono_ns) {
  Entry* next = nullptr;
  for (auto& [content, entry] : entries_) {
    if (entry.state == State::kElsewhere && now_mono_ns >= entry.look_again_mono_ns) LookUp(entry);
    if (entry.state != State::kQueued) continue;
    if (next == nullptr || SamplesOf(entry) > SamplesOf(*next)) next = &entry;
  }
  return next;
}

void Namer::StartNext(uint64_t now_mono_ns) {
  while (building_ == nullptr) {
    Entry* entry = NextQueued(now_mono_ns);
    if (entry == nullptr) return;
    const auto started = StartBuilding(*entry, now_mono_ns);
    if (started.ok()) {
      entry->state = State::kBuilding;
      building_ = entry;
    } else if (started.error().code() == ErrorCode::kUnavailable) {
      entry->state = State::kElsewhere;
      entry->look_again_mono_ns = now_mono_ns + kElsewhereNs;
    } else {
      ++book_.ended[static_cast<size_t>(IndexEnd::kNotStarted)];
      entry->state = State::kNone;
      entry->root.reset();
    }
  }
}

Result<void> Namer::StartBuilding(Entry& entry, uint64_t now_mono_ns) {
  const auto source = images_.Open(entry.image);
  if (!source.ok()) return Error(ErrorCode::kNotFound, source.error().message());
  const auto* file = dynamic_cast<const base::FileSource*>(source->get());
  if (file == nullptr) return Error(ErrorCode::kUnsupported, "it is not read from a file");
  auto writing = cache_.BeginWrite(entry.key);
  if (!writing.ok()) return std::move(writing).error();
  IndexJob job;
  job.image_fd = file->fd();
  job.index_fd = (*writing)->fd();
  job.index_bytes_max = cache_.bytes_max_of_one();
  job.identity = entry.identity;
  job.path = images_.image(entry.image).path;
  if (entry.root != nullptr) {
    job.roots.push_back(entry.root->path());
  } else if (const auto place = images_.FindMapping(entry.image)) {
    job.roots.push_back("/proc/" + std::to_string(place->pid) + "/root");
  }
  job.roots.emplace_back("/");
  job.scratch = cache_.scratch_folder();
  job.debuginfod_urls = options_.debuginfod_urls;
  const auto started = runner_.Start(job, now_mono_ns);
  if (!started.ok()) {
    cache_.Discard(**writing);
    return Error(ErrorCode::kInternal, started.error().message());
  }
  writing_ = std::move(writing).value();
  image_bytes_ = file->size_bytes();
  return {};
}

void Namer::TakeOutcome(const IndexOutcome& outcome) {
  Entry& entry = *std::exchange(building_, nullptr);
  ++book_.ended[static_cast<size_t>(outcome.end)];
  book_.peak_memory_bytes = std::max(book_.peak_memory_bytes, outcome.peak_memory_bytes);
  CacheNote note{NowUnixS(), image_bytes_, HasDebugFile(images_.image(entry.image).gnu_build_id),
                 !options_.debuginfod_urls.empty(), outcome.why};
  entry.state = State::kNone;
  if (outcome.end == IndexEnd::kDone) {
    auto file = cache_.Finish(*writing_);
    auto checked = file.ok() ? Check(std::move(file).value(), entry)
                             : Result<std::unique_ptr<OpenIndex>>(file.error());
    if (checked.ok() && cache_.Keep(*writing_).ok()) {
      ++book_.built;
      entry.state = State::kReady;
      Adopt(entry, std::move(checked).value());
    } else {
      ++book_.invalid;
      note.why = "the index that was built was refused";
    }
  }
  entry.root.reset();
  const bool is_of_image = outcome.end != IndexEnd::kNoRoom && outcome.end != IndexEnd::kNotStarted;
  if (entry.state == State::kReady && outcome.has_lines) {
    cache_.RemoveNote(entry.key);
  } else if (is_of_image) {
    cache_.WriteNote(entry.key, note);
  }
  if (entry.state != State::kReady) cache_.Discard(*writing_);
  writing_.reset();
  cache_.Trim();
  if (entry.image_count == 0) Erase(entry);
}

void Namer::GiveUp() {
  if (building_ == nullptr) return;
  runner_.Kill();
  cache_.Discard(*writing_);
  writing_.reset();
  Entry& entry = *std::exchange(building_, nullptr);
  entry.state = State::kQueued;
  if (entry.image_count == 0) Erase(entry);
}

bool Namer::WaitIdle(uint64_t until_mono_ns, const KeepWaiting& keep_waiting) {
  pace_ = Pace{};
  LearnWanted();
  // What is damaged is found while there is time to build it again.
  for (auto& [content, entry] : entries_) {
    if (open_count_ >= options_.open_indexes_max) break;
    if (entry.state == State::kReady && entry.open == nullptr) OpenIndexOf(entry);
  }
  for (;;) {
    const uint64_t now_mono_ns = NowMonoNs();
    if (const auto outcome = runner_.Poll(now_mono_ns)) TakeOutcome(*outcome);
    KeepPace(now_mono_ns);
    if (now_mono_ns < until_mono_ns) StartNext(now_mono_ns);
    const size_t pending = pending_count();
    if (pending == 0) return true;
    Progress progress{entries_.size() - pending, entries_.size(), {}, runner_.progress_percent()};
    if (building_ != nullptr) progress.path = images_.image(building_->image).path;
    if (now_mono_ns >= until_mono_ns || !keep_waiting(progress)) break;
    ::nanosleep(&kWait, nullptr);
  }
  GiveUp();
  return false;
}

bool Namer::IsStillToCome(const Entry& entry) {
  return entry.state != State::kReady && entry.state != State::kNone;
}

bool Namer::IsPending(ImageId image) {
  const Entry* entry = EntryOf(image);
  return entry != nullptr && IsStillToCome(*entry);
}

bool Namer::HasIndex(ImageId image) {
  const Entry* entry = EntryOf(image);
  return entry != nullptr && entry->state == State::kReady;
}

size_t Namer::pending_count() const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [](const auto& known) {
    return IsStillToCome(known.second);
  }));
}

void Namer::Forget(ImageId id) {
  if (id.value() < wanted_.size()) wanted_[id.value()] = 0;
  if (id.value() >= by_image_.size()) return;
  Entry* entry = std::exchange(by_image_[id.value()], nullptr);
  if (entry == nullptr) return;
  if (--entry->image_count != 0) {
    // Any other that has it.
    const auto other = std::find(by_image_.begin(), by_image_.end(), entry);
    entry->image = ImageId(static_cast<uint32_t>(other - by_image_.begin()));
  } else if (entry == building_) {
    GiveUp();
  } else {
    Erase(*entry);
  }
}

void Namer::Erase(Entry& entry) {
  Close(entry);
  entries_.erase(entries_.find(entry.content));
}

void Namer::Close(Entry& entry) {
  if (entry.open == nullptr) return;
  --open_count_;
  copied_bytes_ -= entry.open->file->copied_bytes();
  entry.open.reset();
}

void Namer::Adopt(Entry& entry, std::unique_ptr<OpenIndex> open) {
  Close(entry);
  const size_t copied_bytes = open->file->copied_bytes();
  while (open_count_ >= options_.open_indexes_max ||
         (open_count_ > 0 && copied_bytes_ + copied_bytes > options_.copied_bytes_max)) {
    if (!cache_.Has(entry.key)) {  // it could not be opened again, so it does not push others out
      entry.state = State::kNone;
      return;
    }
    Entry* oldest = nullptr;
    for (auto& [content, each] : entries_) {
      if (each.open == nullptr) continue;
      if (oldest == nullptr || each.open->used < oldest->open->used) oldest = &each;
    }
    Close(*oldest);
  }
  copied_bytes_ += copied_bytes;
  open->used = use_next_++;
  entry.open = std::move(open);
  ++open_count_;
}

Result<std::unique_ptr<Namer::OpenIndex>> Namer::Check(std::unique_ptr<LeasedFile> file,
                                                       const Entry& entry) {
  auto index = symbolize::SymbolIndex::Open(file->bytes(), entry.identity);
  file->DropPages();
  if (!index.ok()) return std::move(index).error();
  return std::make_unique<OpenIndex>(OpenIndex{std::move(file), std::move(index).value(), {}, 0});
}

Namer::OpenIndex* Namer::OpenIndexOf(Entry& entry) {
  if (entry.open != nullptr && !entry.open->file->is_safe()) {
    ++book_.indexes_busy;
    Close(entry);  // whoever wants to write to it may; we look at it again then
  }
  if (entry.open != nullptr) {
    entry.open->used = use_next_++;
    return entry.open.get();
  }
  if (entry.state == State::kNone) return nullptr;
  if (!cache_.Has(entry.key)) {
    if (entry.state == State::kReady) entry.state = State::kQueued;  // another process removed it
    return nullptr;
  }
  auto file = cache_.Open(entry.key);
  auto checked = file.ok() ? Check(std::move(file).value(), entry)
                           : Result<std::unique_ptr<OpenIndex>>(file.error());
  if (checked.ok()) {
    Adopt(entry, std::move(checked).value());
    return entry.open.get();
  }
  if (checked.error().code() == ErrorCode::kUnavailable ||
      checked.error().code() == ErrorCode::kExhausted) {
    ++book_.indexes_busy;
    return nullptr;
  }
  ++book_.indexes_damaged;
  cache_.Remove(entry.key);
  if (entry.state == State::kReady) entry.state = State::kQueued;
  return nullptr;
}

Result<std::vector<Symbol>> Namer::Name(ImageId id, std::span<const uint64_t> addresses) {
  if (Entry* entry = EntryOf(id)) {
    if (OpenIndex* open = OpenIndexOf(*entry)) return NameFromIndex(*open, addresses);
  }
  ASSIGN_OR_RETURN(const auto source, images_.Open(id));
  ASSIGN_OR_RETURN(const object::ElfFile elf, object::ElfFile::Parse(*source));
  return symbolize::ResolveElfSymbols(elf, *source, addresses);
}

std::vector<Symbol> Namer::NameFromIndex(OpenIndex& open, std::span<const uint64_t> addresses) {
  std::vector<Symbol> symbols(addresses.size());
  std::array<symbolize::SymbolIndex::Call, kDepthMax> calls;
  const bool is_large = open.file->bytes().size() > kLargeIndexBytes;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (is_large && i % kAddressesPerDrop == kAddressesPerDrop - 1) open.file->DropPages();
    const size_t count = open.index.Find(addresses[i], calls);
    symbols[i].lines.reserve(count);
    for (const auto& call : std::span(calls).first(count)) {
      const symbolize::IndexFunction function = open.index.function(call.function);
      if (function.system_name().empty()) continue;
      symbolize::FunctionLine& line = symbols[i].lines.emplace_back();
      line.name = NameForPeople(open, call.function);
      line.system_name = function.system_name();
      line.file = open.index.file(call.file);
      line.line = call.line;
      line.start_line = function.start_line;
    }
  }
  open.file->DropPages();
  return symbols;
}

const std::string& Namer::NameForPeople(OpenIndex& open, uint32_t id) {
  const auto known = open.names.find(id);
  if (known != open.names.end()) return known->second;
  if (name_bytes_ > kNameBytesMax) {
    for (auto& [content, entry] : entries_) {
      if (entry.open != nullptr) entry.open->names.clear();
    }
    name_bytes_ = 0;
  }
  const symbolize::IndexFunction function = open.index.function(id);
  const std::string_view system_name = function.system_name();
  std::string name = symbolize::Demangle(system_name);
  // What says nothing to people in its mangled form may have a written one.
  if (name == system_name && !function.name.empty()) name = function.name;
  name_bytes_ += name.size() + 64;
  return open.names.emplace(id, std::move(name)).first->second;
}

}  // namespace vesta::agent::naming
