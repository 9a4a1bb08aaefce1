// Every image (binary, library, vDSO, generated code) that some process maps, once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/agent/process/maps_parser.h"
#include "src/agent/process/proc_view.h"
#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"
#include "src/profile/frame.h"

namespace vesta::agent::process {

enum class ImageKind : uint8_t {
  kElf,  // a file, also when deleted or in memory (memfd)
  kVdso,
  kAnonymous,   // generated code of one process: image address = process address
  kUnreadable,  // a file that could not be opened or is no ELF: image address = file offset
};

struct Image {
  profile::ImageId id;
  ImageKind kind = ImageKind::kElf;
  std::string path;      // as first seen, in the view of the process
  std::string identity;  // see object::ImageIdentity; empty for kAnonymous and kUnreadable
  std::string gnu_build_id;
  uint32_t owner_pid = 0;            // kAnonymous: the process, also when it is gone
  uint64_t owner_start_boot_ns = 0;  // 0 = unknown
  uint64_t owner_exec_mono_ns = 0;   // when it executed its program; 0 = unknown
  // kAnonymous: the image of the process that the owner was forked from, which names code that was
  // there before the fork; 0 = none.
  profile::ImageId forked_from;
  std::string unreadable_why;  // kUnreadable: cause, for the user
  // The executable load segment(s), for pprof's mapping: lowest vaddr, its file offset, end.
  uint64_t text_vaddr = 0;
  uint64_t text_file_offset = 0;
  uint64_t text_end_vaddr = 0;
};

// Where an image's code lies in a process.
struct ResolvedMapping {
  profile::ImageId image;
  uint64_t bias = 0;  // process address - bias = address inside the image
};

// The process that a mapping belongs to; one per incarnation.
struct ImageOwner {
  uint32_t pid = 0;
  uint64_t start_boot_ns = 0;       // 0 = unknown
  uint64_t exec_mono_ns = 0;        // when it executed its program, where we saw that; 0 = unknown
  profile::ImageId generated_code;  // made on first need; 0 = none yet
  profile::ImageId inherited_code;  // of the process it was forked from; 0 = there was none
  // One that it was forked from and that may still live: it most likely sees the same files. 0 =
  // unknown.
  uint32_t ancestor_pid = 0;
};

// A mapping through which an image's file can be reached again.
struct MappingPlace {
  uint32_t pid = 0;
  uint64_t start = 0;
  uint64_t end = 0;
};

struct ImageCounters {
  uint64_t files_checked = 0;   // asked for device, inode, size and times
  uint64_t files_parsed = 0;    // opened and their headers read
  uint64_t files_reopened = 0;  // for Open, after their descriptor had been closed
  uint64_t images_beyond_limit = 0;
  uint64_t images_recycled = 0;
};

// Shape:  ids count from 1, and are used again after Recycle; 0 is no image. Two files are one
// image when their identity (build id,
//         else a hash) and their executable segments are the same, wherever they lie: a library in
//         twenty containers is one image. A file replaced under the same path is another image.
//         In files that exist only for one process (memfd, deleted) something that is no ELF is
//         taken for generated code.
// Owner:  one thread, which also owns the ProcView. What Open gives may be used by any thread.
// Cost:   a file seen before costs one stat, a new one is opened and its headers read; of the files
//         seen, known_files_max are remembered, those met last. About 700 bytes per image, plus at
//         most open_files_max descriptors.
class ImageStore {
 public:
  struct Options {
    size_t open_files_max = 256;
    size_t images_max = 16'384;
    size_t known_files_max = 8192;
    // Of all images; those that cannot be read get a quarter of it, so that a program that maps
    // one odd file after the other does not take the place of libraries.
    size_t images_bytes_max = 12u << 20;
  };

  ImageStore(const ProcView& proc, Options options);

  // Never fails: what cannot be read is an image of its own kind.
  ResolvedMapping Resolve(ImageOwner& owner, const MapsEntry& entry);

  // Whether anonymous memory holds the very text that `file` would have there: engines copy theirs
  // into huge pages, at the same addresses.
  // Cost:   up to three reads of the process's memory, when an executable segment covers it all.
  // Errors: false when the memory or the file cannot be read.
  bool HoldsTextOf(uint32_t pid, const MapsEntry& anonymous, const ResolvedMapping& file);

  // The image of all code that a process generates.
  profile::ImageId GeneratedCode(ImageOwner& owner);
  void SetOwnerStart(ImageOwner& owner, uint64_t start_boot_ns);

  const Image& image(profile::ImageId id) const { return RecordOf(id).image; }
  size_t image_count() const { return records_.size() - free_ids_.size(); }
  size_t id_limit() const { return records_.size() + 1; }  // every id is below it
  size_t known_file_count() const { return known_files_.size(); }

  // The image's bytes. Files stay open as long as there is room, those without a name longest;
  // others are reached again through a process that maps them, or by path, and compared.
  // Errors: NotFound when no way leads to the file any more, or for generated code; the cause when
  //         the image is unreadable.
  base::Result<std::shared_ptr<const base::ByteSource>> Open(profile::ImageId id);

  // Closes files that keep their file system from being unmounted; they are opened again by Open.
  // Those without a name could not be, and stay.
  void ReleaseMounts();

  // How Open finds a living process that maps an image.
  using MappingFinder = std::function<std::optional<MappingPlace>(profile::ImageId)>;
  void SetMappingFinder(MappingFinder finder) { find_mapping_ = std::move(finder); }
  // A living process that maps it, if there is one.
  std::optional<MappingPlace> FindMapping(profile::ImageId id) const {
    return find_mapping_ ? find_mapping_(id) : std::nullopt;
  }

  // Whether more than three quarters of the room for images is taken.
  bool IsCrowded() const;
  // Forgets images that nobody needs, those met longest ago first, down to half of the room. An
  // image goes when it was not needed in this call nor in the one before, and was not met between
  // the two: samples that were on their way at the first call have arrived at the second.
  // Shape: needed by id, id_limit() long: what a process maps, a sample names, or an owner holds.
  //        Returns the ids that are free: other images get them later.
  std::vector<profile::ImageId> Recycle(std::vector<bool> needed);

  const ImageCounters& counters() const { return counters_; }

 private:
  struct OpenImage {
    profile::ImageId id;
    std::shared_ptr<const base::ByteSource> source;
    bool unlinked = false;
    bool holds_mount = false;
  };
  struct Record {
    Image image;
    std::vector<object::LoadSegment> segments;
    std::optional<std::list<OpenImage>::iterator> open;
    uint64_t met = 0;           // a count of all meetings
    bool was_unneeded = false;  // when Recycle looked last, and not met since
    bool is_free = false;
  };
  struct IdentityHash {
    size_t operator()(const FileIdentity& identity) const;
  };
  // What a file turned out to be; the id 0 says that it holds generated code.
  using Known = profile::ImageId;
  struct KnownFile {
    FileIdentity identity;
    Known known;
  };

  const Record& RecordOf(profile::ImageId id) const;
  Record& RecordOf(profile::ImageId id);
  // Counts the bytes of a new image; false when there is no room for it.
  bool TakeRoom(const Image& image, const std::vector<object::LoadSegment>& segments);
  size_t& RoomTakenBy(const Image& image) {
    return image.kind == ImageKind::kUnreadable ? unreadable_bytes_ : readable_bytes_;
  }
  size_t RoomOf(const Image& image) const;
  ResolvedMapping Find(ImageOwner& owner, const MapsEntry& entry);
  void Free(profile::ImageId id);
  void ForgetFreed();
  // An id for a new image, or that of the stand-in when there are too many.
  profile::ImageId AddImage(Image image, std::vector<object::LoadSegment> segments);

  ResolvedMapping ResolveVdso(ImageOwner& owner, const MapsEntry& entry);
  ResolvedMapping ResolveFile(ImageOwner& owner, const MapsEntry& entry);
  ResolvedMapping Unreadable(const MapsEntry& entry, const base::Error& error);
  base::Result<Known> Identify(uint32_t pid, const MapsEntry& entry);
  base::Result<Known> Parse(const MapsEntry& entry, const OpenedFile& file);
  std::optional<Known> Recall(const FileIdentity& identity);
  void Remember(const FileIdentity& identity, Known known);
  bool IsImage(const Record& record, const base::ByteSource& source) const;
  void KeepOpen(profile::ImageId id, const OpenedFile& file);
  void CloseOne();
  void Close(std::list<OpenImage>::iterator image);
  base::Result<OpenedFile> Reach(const Record& record) const;

  const ProcView& proc_;
  Options options_;
  MappingFinder find_mapping_;
  ImageCounters counters_;

  size_t readable_bytes_ = 0;    // of the records and what finds them
  size_t unreadable_bytes_ = 0;  // the same, of images that cannot be read
  std::deque<Record> records_;   // by id - 1; a deque keeps references valid
  std::vector<profile::ImageId> free_ids_;
  uint64_t met_next_ = 1;
  std::unordered_map<std::string, profile::ImageId> by_content_;  // identity and segments
  std::unordered_map<std::string, profile::ImageId> unreadable_;  // path and error code
  std::list<KnownFile> known_files_;                              // most recently met first
  std::unordered_map<FileIdentity, std::list<KnownFile>::iterator, IdentityHash> by_file_;
  std::list<OpenImage> open_;  // most recently used first

  bool vdso_tried_ = false;
  profile::ImageId vdso_;
  std::shared_ptr<const base::ByteSource> vdso_source_;
  profile::ImageId beyond_limit_;
};

}  // namespace vesta::agent::process
