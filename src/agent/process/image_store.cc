#include "src/agent/process/image_store.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace vesta::agent::process {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using object::LoadSegment;
using profile::ImageId;

constexpr uint64_t kPageMask = 4095;
// A record, and its entry in the map that finds it, without their texts.
constexpr size_t kImageBytes = 512;
// Of text that may have been moved, at three places.
constexpr uint64_t kComparedBytes = 4096;
// 64-bit programs get their vDSO near the stack; below lie those of 32-bit programs.
constexpr uint64_t kFirst64BitAddress = uint64_t{1} << 32;

// Bytes in memory that live as long as someone reads them.
class OwnedSource final : public base::ByteSource {
 public:
  explicit OwnedSource(std::string bytes)
      : bytes_(std::move(bytes)), source_(std::as_bytes(std::span(bytes_))) {}
  uint64_t size_bytes() const override { return source_.size_bytes(); }
  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    return source_.ReadAt(offset, out);
  }

 private:
  std::string bytes_;
  base::MemorySource source_;
};

// The address that a mapping with this file offset starts with. The kernel maps whole pages: a
// segment is mapped from the start of its first page to the end of its last, so that two segments
// can share a page of the file and show it at different addresses; then the executable one counts,
// and among those the one that starts there.
std::optional<uint64_t> AddressAt(const std::vector<LoadSegment>& segments, uint64_t file_offset) {
  const LoadSegment* best = nullptr;
  int best_rank = 0;
  for (const LoadSegment& segment : segments) {
    const uint64_t first_page = segment.file_offset & ~kPageMask;
    const uint64_t span_bytes = segment.file_offset - first_page + segment.file_size_bytes;
    if (file_offset < first_page ||
        file_offset - first_page >= ((span_bytes + kPageMask) & ~kPageMask)) {
      continue;
    }
    const int rank = 1 + (segment.executable ? 2 : 0) + (file_offset == first_page ? 1 : 0);
    if (rank > best_rank) {
      best = &segment;
      best_rank = rank;
    }
  }
  if (best == nullptr) return std::nullopt;
  return best->vaddr - best->file_offset + file_offset;
}

std::string ContentKey(const std::string& identity, const std::vector<LoadSegment>& segments) {
  std::string key = identity;
  for (const LoadSegment& segment : segments) {
    if (!segment.executable) continue;
    key += ' ' + std::to_string(segment.vaddr) + ' ' + std::to_string(segment.file_offset) + ' ' +
           std::to_string(segment.file_size_bytes);
  }
  return key;
}

size_t BytesOf(const Image& image, const std::vector<LoadSegment>& segments) {
  return kImageBytes + 2 * (image.path.size() + image.identity.size()) + image.gnu_build_id.size() +
         image.unreadable_why.size() + segments.size() * sizeof(LoadSegment);
}

void DescribeText(const std::vector<LoadSegment>& segments, Image& image) {
  bool found = false;
  for (const LoadSegment& segment : segments) {
    if (!segment.executable) continue;
    if (!found || segment.vaddr < image.text_vaddr) {
      image.text_vaddr = segment.vaddr;
      image.text_file_offset = segment.file_offset;
    }
    image.text_end_vaddr =
        std::max(image.text_end_vaddr, segment.vaddr + segment.memory_size_bytes);
    found = true;
  }
}

// Files that hold code made by the process itself, when they are no ELF.
bool BelongsToOneProcess(const MapsEntry& entry) {
  return entry.deleted || entry.path.rfind("/memfd:", 0) == 0;
}

// Whether the file itself is to blame, so that asking again is useless.
bool IsAboutContent(const Error& error) {
  return error.code() == ErrorCode::kCorrupt || error.code() == ErrorCode::kUnsupported ||
         error.code() == ErrorCode::kInvalidInput;
}

size_t Mix(size_t seed, uint64_t value) {
  return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29);
}

}  // namespace

size_t ImageStore::IdentityHash::operator()(const FileIdentity& identity) const {
  size_t hash = Mix(identity.device, identity.inode);
  hash = Mix(hash, identity.size_bytes);
  hash = Mix(hash, static_cast<uint64_t>(identity.mtime_ns));
  return Mix(hash, static_cast<uint64_t>(identity.ctime_ns));
}

ImageStore::ImageStore(const ProcView& proc, Options options) : proc_(proc), options_(options) {}

const ImageStore::Record& ImageStore::RecordOf(ImageId id) const {
  CHECK(id.value() >= 1 && id.value() <= records_.size());
  return records_[id.value() - 1];
}

ImageStore::Record& ImageStore::RecordOf(ImageId id) {
  return const_cast<Record&>(std::as_const(*this).RecordOf(id));
}

size_t ImageStore::RoomOf(const Image& image) const {
  const size_t quarter = options_.images_bytes_max / 4;
  return image.kind == ImageKind::kUnreadable ? quarter : options_.images_bytes_max - quarter;
}

bool ImageStore::TakeRoom(const Image& image, const std::vector<LoadSegment>& segments) {
  // One place stays free for the stand-in.
  if (image_count() + 1 >= options_.images_max) return false;
  const size_t bytes = BytesOf(image, segments);
  size_t& used = RoomTakenBy(image);
  if (used + bytes > RoomOf(image)) return false;
  used += bytes;
  return true;
}

ImageId ImageStore::AddImage(Image image, std::vector<LoadSegment> segments) {
  if (!TakeRoom(image, segments)) {
    ++counters_.images_beyond_limit;
    if (beyond_limit_ != ImageId()) return beyond_limit_;
    image = Image{};
    image.kind = ImageKind::kUnreadable;
    image.path = "[other images]";
    image.unreadable_why = "too many images";
    segments.clear();
  }
  ImageId id(static_cast<uint32_t>(records_.size() + 1));
  if (free_ids_.empty()) {
    records_.emplace_back();
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
  }
  if (image.path == "[other images]") beyond_limit_ = id;
  image.id = id;
  Record& record = RecordOf(id);
  record = Record();
  record.image = std::move(image);
  record.segments = std::move(segments);
  return id;
}

ResolvedMapping ImageStore::Resolve(ImageOwner& owner, const MapsEntry& entry) {
  const ResolvedMapping found = Find(owner, entry);
  Record& record = RecordOf(found.image);
  record.met = met_next_++;
  record.was_unneeded = false;
  return found;
}

bool ImageStore::IsCrowded() const {
  const size_t quarter = options_.images_bytes_max / 4;
  return image_count() > options_.images_max / 4 * 3 ||
         readable_bytes_ > (options_.images_bytes_max - quarter) / 4 * 3 ||
         unreadable_bytes_ > quarter / 4 * 3;
}

std::vector<ImageId> ImageStore::Recycle(std::vector<bool> needed) {
  CHECK(needed.size() == id_limit());
  // Code that was there before a fork is named by the process before it.
  for (const Record& record : records_) {
    if (!needed[record.image.id.value()]) continue;
    for (ImageId code = record.image.forked_from; code != ImageId() && !needed[code.value()];
         code = RecordOf(code).image.forked_from) {
      needed[code.value()] = true;
    }
  }
  std::vector<const Record*> unneeded;
  for (Record& record : records_) {
    const ImageId id = record.image.id;
    if (record.is_free || id == vdso_ || id == beyond_limit_) continue;
    if (!needed[id.value()] && record.was_unneeded) unneeded.push_back(&record);
    record.was_unneeded = !needed[id.value()];
  }
  std::sort(unneeded.begin(), unneeded.end(),
            [](const Record* a, const Record* b) { return a->met < b->met; });
  std::vector<ImageId> freed;
  for (const Record* record : unneeded) {
    const bool is_crowded = image_count() > options_.images_max / 2 ||
                            RoomTakenBy(record->image) > RoomOf(record->image) / 2;
    if (!is_crowded) continue;
    freed.push_back(record->image.id);
    Free(record->image.id);
  }
  if (!freed.empty()) ForgetFreed();
  counters_.images_recycled += freed.size();
  return freed;
}

// The number stays valid until another image gets it.
void ImageStore::Free(ImageId id) {
  Record& record = RecordOf(id);
  RoomTakenBy(record.image) -= BytesOf(record.image, record.segments);
  if (record.open) open_.erase(*record.open);
  record = Record();
  record.is_free = true;
  record.image.id = id;
  record.image.kind = ImageKind::kUnreadable;
  record.image.path = "[forgotten]";
  record.image.unreadable_why = "no process maps it any more";
  free_ids_.push_back(id);
}

// No file and no content leads to a number that is free. Files that found no room may find it now.
void ImageStore::ForgetFreed() {
  const auto is_freed = [this](ImageId id) { return id != ImageId() && RecordOf(id).is_free; };
  const auto forget = [&](auto& ids) {
    for (auto entry = ids.begin(); entry != ids.end();) {
      entry = is_freed(entry->second) ? ids.erase(entry) : std::next(entry);
    }
  };
  forget(by_content_);
  forget(unreadable_);
  for (auto file = known_files_.begin(); file != known_files_.end();) {
    const bool goes =
        is_freed(file->known) || (file->known == beyond_limit_ && beyond_limit_ != ImageId());
    if (goes) by_file_.erase(file->identity);
    file = goes ? known_files_.erase(file) : std::next(file);
  }
}

ResolvedMapping ImageStore::Find(ImageOwner& owner, const MapsEntry& entry) {
  switch (entry.kind) {
    case MappingKind::kFile:
      return ResolveFile(owner, entry);
    case MappingKind::kVdso:
      return ResolveVdso(owner, entry);
    case MappingKind::kAnonymous:
    case MappingKind::kVsyscall:
      break;
  }
  return {GeneratedCode(owner), 0};
}

bool ImageStore::HoldsTextOf(uint32_t pid, const MapsEntry& anonymous,
                             const ResolvedMapping& file) {
  const Record& record = RecordOf(file.image);
  const uint64_t start = anonymous.start - file.bias;
  const uint64_t size_bytes = anonymous.end - anonymous.start;
  const auto covers = [&](const LoadSegment& segment) {
    const uint64_t first = segment.vaddr & ~kPageMask;
    const uint64_t end = (segment.vaddr + segment.file_size_bytes + kPageMask) & ~kPageMask;
    return segment.executable && start >= first && start < end && size_bytes <= end - start;
  };
  const auto segment = std::find_if(record.segments.begin(), record.segments.end(), covers);
  if (record.image.kind != ImageKind::kElf || segment == record.segments.end()) return false;
  const auto source = Open(file.image);
  if (!source.ok()) return false;
  // Only the bytes that the file has: what lies behind them in the last page is not compared.
  const uint64_t text_start = std::max(start, segment->vaddr);
  const uint64_t text_end = std::min(start + size_bytes, segment->vaddr + segment->file_size_bytes);
  if (text_start >= text_end) return false;
  const uint64_t part_bytes = std::min(kComparedBytes, text_end - text_start);
  const uint64_t last = text_end - part_bytes;
  std::vector<std::byte> in_memory(part_bytes);
  std::vector<std::byte> in_file(part_bytes);
  for (const uint64_t at : {text_start, text_start + (last - text_start) / 2, last}) {
    const uint64_t file_offset = segment->file_offset + (at - segment->vaddr);
    if (!proc_.ReadMemory(pid, at + file.bias, in_memory).ok() ||
        !(*source)->ReadAt(file_offset, in_file).ok() || in_memory != in_file) {
      return false;
    }
  }
  return true;
}

ImageId ImageStore::GeneratedCode(ImageOwner& owner) {
  if (owner.generated_code == ImageId()) {
    Image image;
    image.kind = ImageKind::kAnonymous;
    image.path = "[generated code]";
    image.owner_pid = owner.pid;
    image.owner_start_boot_ns = owner.start_boot_ns;
    image.owner_exec_mono_ns = owner.exec_mono_ns;
    image.forked_from = owner.inherited_code;
    owner.generated_code = AddImage(std::move(image), {});
  }
  return owner.generated_code;
}

void ImageStore::SetOwnerStart(ImageOwner& owner, uint64_t start_boot_ns) {
  owner.start_boot_ns = start_boot_ns;
  if (owner.generated_code == ImageId()) return;
  Image& image = RecordOf(owner.generated_code).image;
  if (image.kind == ImageKind::kAnonymous) image.owner_start_boot_ns = start_boot_ns;
}

ResolvedMapping ImageStore::Unreadable(const MapsEntry& entry, const Error& error) {
  // By code, not by message: that may name a process, and processes come and go.
  std::string key = entry.path + '\0' + ErrorCodeName(error.code());
  const uint64_t bias = entry.start - entry.file_offset;
  if (const auto same = unreadable_.find(key); same != unreadable_.end()) {
    return {same->second, bias};
  }
  Image image;
  image.kind = ImageKind::kUnreadable;
  image.path = entry.path;
  image.unreadable_why = error.message();
  const ImageId id = AddImage(std::move(image), {});
  if (id != beyond_limit_) unreadable_.emplace(std::move(key), id);
  return {id, bias};
}

ResolvedMapping ImageStore::ResolveVdso(ImageOwner& owner, const MapsEntry& entry) {
  if (!vdso_tried_) {
    vdso_tried_ = true;
    if (auto bytes = proc_.ReadVdso(); bytes.ok()) {
      OpenedFile file{std::make_shared<OwnedSource>(std::move(*bytes)), {}, true};
      const auto id = Parse(entry, file);
      if (id.ok() && RecordOf(*id).image.kind == ImageKind::kElf) {
        vdso_ = *id;
        vdso_source_ = file.source;
        RecordOf(vdso_).image.kind = ImageKind::kVdso;
      }
    }
  }
  if (vdso_ == ImageId()) return {GeneratedCode(owner), 0};
  if (entry.start < kFirst64BitAddress || entry.end - entry.start != vdso_source_->size_bytes()) {
    return Unreadable(entry,
                      Error(ErrorCode::kUnsupported, "it is not the vDSO of 64-bit programs"));
  }
  const auto address = AddressAt(RecordOf(vdso_).segments, 0);
  return {vdso_, entry.start - address.value_or(0)};
}

ResolvedMapping ImageStore::ResolveFile(ImageOwner& owner, const MapsEntry& entry) {
  auto known = Identify(owner.pid, entry);
  if (!known.ok() && known.error().code() == ErrorCode::kNotFound && entry.inode != 0) {
    // The process is gone. Device and inode tell whether another one sees the same file at its
    // path, and most processes see those that we see.
    auto same = Result<Known>(known.error());
    if (owner.ancestor_pid != 0) same = Identify(owner.ancestor_pid, entry);
    if (!same.ok()) same = Identify(0, entry);
    if (same.ok()) known = std::move(same);
  }
  if (!known.ok()) return Unreadable(entry, known.error());
  if (*known == Known()) return {GeneratedCode(owner), 0};
  const Record& record = RecordOf(*known);
  if (record.image.kind == ImageKind::kUnreadable) {
    return {*known, entry.start - entry.file_offset};
  }
  const auto address = AddressAt(record.segments, entry.file_offset);
  if (!address) {
    return Unreadable(
        entry, Error(ErrorCode::kInvalidInput, "it is mapped where the file has no segment"));
  }
  return {*known, entry.start - *address};
}

Result<ImageStore::Known> ImageStore::Identify(uint32_t pid, const MapsEntry& entry) {
  const MappedFile mapped{entry.start, entry.end, entry.device, entry.inode, entry.path};
  ++counters_.files_checked;
  ASSIGN_OR_RETURN(const FileIdentity identity, proc_.StatMapped(pid, mapped));
  if (const auto same = Recall(identity)) return *same;
  auto file = proc_.OpenMapped(pid, mapped);
  auto parsed = file.ok() ? Parse(entry, *file) : Result<Known>(file.error());
  Known known;
  if (parsed.ok()) {
    known = *parsed;
  } else if (!IsAboutContent(parsed.error())) {
    return std::move(parsed).error();
  } else if (!BelongsToOneProcess(entry)) {
    known = Unreadable(entry, parsed.error()).image;
  }
  Remember(file.ok() ? file->identity : identity, known);
  return known;
}

std::optional<ImageStore::Known> ImageStore::Recall(const FileIdentity& identity) {
  const auto same = by_file_.find(identity);
  if (same == by_file_.end()) return std::nullopt;
  known_files_.splice(known_files_.begin(), known_files_, same->second);
  return same->second->known;
}

void ImageStore::Remember(const FileIdentity& identity, Known known) {
  known_files_.push_front({identity, known});
  const auto [place, is_new] = by_file_.try_emplace(identity, known_files_.begin());
  if (!is_new) {  // it was replaced by a known file while it was opened
    known_files_.erase(place->second);
    place->second = known_files_.begin();
  }
  if (known_files_.size() <= options_.known_files_max) return;
  // Most likely one that was replaced, as a linker does over and over.
  by_file_.erase(known_files_.back().identity);
  known_files_.pop_back();
}

Result<ImageStore::Known> ImageStore::Parse(const MapsEntry& entry, const OpenedFile& file) {
  ++counters_.files_parsed;
  ASSIGN_OR_RETURN(const object::ElfFile elf, object::ElfFile::Parse(*file.source));
  ASSIGN_OR_RETURN(std::string identity, object::ImageIdentity(elf, *file.source));
  std::string key = ContentKey(identity, elf.load_segments());
  Known known;
  if (const auto same = by_content_.find(key); same != by_content_.end()) {
    known = same->second;
  } else {
    Image image;
    image.path = entry.path;
    image.identity = std::move(identity);
    image.gnu_build_id = elf.gnu_build_id();
    DescribeText(elf.load_segments(), image);
    known = AddImage(std::move(image), elf.load_segments());
    if (known != beyond_limit_) by_content_.emplace(std::move(key), known);
  }
  if (RecordOf(known).image.kind == ImageKind::kElf) KeepOpen(known, file);
  return known;
}

bool ImageStore::IsImage(const Record& record, const base::ByteSource& source) const {
  const auto elf = object::ElfFile::Parse(source);
  if (!elf.ok()) return false;
  const auto identity = object::ImageIdentity(*elf, source);
  return identity.ok() && ContentKey(*identity, elf->load_segments()) ==
                              ContentKey(record.image.identity, record.segments);
}

void ImageStore::CloseOne() {
  // What has no name any more could not be opened again.
  auto victim = std::find_if(open_.rbegin(), open_.rend(),
                             [](const OpenImage& image) { return !image.unlinked; });
  if (victim == open_.rend()) victim = open_.rbegin();
  Close(std::next(victim).base());
}

void ImageStore::Close(std::list<OpenImage>::iterator image) {
  RecordOf(image->id).open.reset();
  open_.erase(image);
}

void ImageStore::ReleaseMounts() {
  for (auto image = open_.begin(); image != open_.end();) {
    const auto next = std::next(image);
    if (image->holds_mount && !image->unlinked) Close(image);
    image = next;
  }
}

void ImageStore::KeepOpen(ImageId id, const OpenedFile& file) {
  Record& record = RecordOf(id);
  if (record.open) return;
  while (!open_.empty() && open_.size() >= options_.open_files_max) CloseOne();
  open_.push_front({id, file.source, file.unlinked, file.holds_mount});
  record.open = open_.begin();
}

Result<OpenedFile> ImageStore::Reach(const Record& record) const {
  const Image& image = record.image;
  if (find_mapping_) {
    if (const auto place = find_mapping_(image.id)) {
      auto file = proc_.OpenMapped(place->pid, {place->start, place->end, 0, 0, image.path});
      if (file.ok() && IsImage(record, *file->source)) return file;
    }
  }
  auto file = proc_.OpenMapped(0, {0, 0, 0, 0, image.path});
  if (file.ok() && IsImage(record, *file->source)) return file;
  return Error(ErrorCode::kNotFound,
               image.path +
                   " cannot be opened any more: no process maps it, and it is gone from "
                   "its path or was replaced");
}

Result<std::shared_ptr<const base::ByteSource>> ImageStore::Open(ImageId id) {
  Record& record = RecordOf(id);
  switch (record.image.kind) {
    case ImageKind::kVdso:
      return vdso_source_;
    case ImageKind::kAnonymous:
      return Error(ErrorCode::kNotFound, "generated code has no file");
    case ImageKind::kUnreadable:
      return Error(ErrorCode::kNotFound,
                   record.image.path + " is not readable: " + record.image.unreadable_why);
    case ImageKind::kElf:
      break;
  }
  if (!record.open) {
    ASSIGN_OR_RETURN(const OpenedFile file, Reach(record));
    ++counters_.files_reopened;
    KeepOpen(id, file);
  } else {
    open_.splice(open_.begin(), open_, *record.open);
  }
  return (*record.open)->source;
}

}  // namespace vesta::agent::process
