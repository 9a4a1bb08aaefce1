// What could not be delivered, in files on disk until it can: a bounded queue of records. It knows
// nothing of what is in them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace vesta::spool {

enum class RecordKind : uint8_t { kBatch = 1, kSymbols = 2 };

// A number of records with what they hold.
// Units: bytes of payloads; samples as the caller counts them.
struct Amount {
  uint64_t records = 0;
  uint64_t bytes = 0;
  uint64_t samples = 0;
  Amount& operator+=(const Amount& other) {
    records += other.records;
    bytes += other.bytes;
    samples += other.samples;
    return *this;
  }
  friend bool operator==(const Amount&, const Amount&) = default;
};

// Why records were lost; whoever reads adds reasons of its own (Spool::Discard).
inline constexpr std::string_view kLostBytes = "bytes";      // beyond SpoolOptions::bytes_max
inline constexpr std::string_view kLostAge = "age";          // beyond SpoolOptions::age_ms_max
inline constexpr std::string_view kLostDamaged = "damaged";  // their bytes on disk are not theirs
// The record that was being written when the process or the machine ended: it had not been taken.
inline constexpr std::string_view kLostTorn = "torn";

struct SpoolOptions {
  std::string folder = {};                 // made when it is not there; its parent must be
  uint64_t bytes_max = uint64_t{1} << 30;  // of all files; the oldest file goes first
  uint64_t age_ms_max = uint64_t{72} * 3'600'000;
  // A file that has so much gets no more records; a spool has eight files or more within bytes_max.
  uint64_t file_bytes_max = uint64_t{4} << 20;
  uint64_t record_bytes_max = uint64_t{64} << 20;
  uint64_t sync_period_ms = 5'000;
  // Nothing = the system's: CLOCK_REALTIME, CLOCK_BOOTTIME, and the kernel's boot id.
  std::function<int64_t()> now_unix_ms = {};
  std::function<int64_t()> now_boot_ms = {};
  std::string boot_id = {};
  // A sentence for the log when something was lost or set aside for which nobody asked.
  std::function<void(const std::string& sentence)> on_notice = {};
};

// Shape: reference = the sequence of a record that is needed to read this one, 0 = none; it is the
//        first one of the same file, and Spool::Referenced has it.
struct Record {
  uint64_t sequence = 0;
  RecordKind kind = RecordKind::kBatch;
  uint64_t samples = 0;
  uint64_t reference = 0;
  uint64_t age_ms = 0;
  std::string payload;
};

struct NewRecord {
  RecordKind kind = RecordKind::kBatch;
  uint64_t samples = 0;
  uint64_t reference = 0;  // as Spool::OpenFileFirst gave it, or 0
  std::string_view payload;
};

// found + appended == acknowledged + waiting + sum(lost), in each of the three numbers.
struct SpoolState {
  Amount found;  // left by earlier processes
  Amount appended;
  Amount acknowledged;
  Amount waiting;
  std::map<std::string, Amount, std::less<>> lost;  // by reason
  uint64_t files = 0;
  uint64_t disk_bytes = 0;
  // Of a newer vesta, or not in order with the others: left alone, and part of disk_bytes. They go
  // first when room is needed.
  uint64_t files_aside = 0;
};

// A bounded queue of records in a folder, oldest first.
// Shape:  the file format is docs/formats/spool.md. Sequences count up, and never
//         repeat while anything waits.
//         A record is taken from the file when it is read, so damage in the middle of the folder
//         costs what was damaged; the rest is read, and the loss is counted exactly, since each
//         record says how much was written before it.
// Durable: what Append took survives the end of the process at any moment. It is brought to the
// disk
//         once in sync_period_ms, so a power failure costs at most what came since; what was
//         acknowledged in that time may come again.
// Time:   a record's age counts by the clock that no one can set while the machine runs, and by the
//         wall clock only over a reboot; it is never negative.
// Owner:  one thread of one process; another one is told that the folder is taken.
// Cost:   Open reads the headers of all files and the records of the first and the last one; memory
//         is about 100 bytes a file besides one record.
class Spool {
 public:
  // Errors: Unavailable when another process has it or the disk fails, Permission for a folder that
  //         may not be written (a read-only disk, too), InvalidInput for options that do not fit.
  static base::Result<std::unique_ptr<Spool>> Open(const SpoolOptions& options);
  virtual ~Spool() = default;

  // The sequence of the first record of the file that the next record goes to; 0 when that is a new
  // one.
  virtual uint64_t OpenFileFirst() const = 0;
  // Returns the record's sequence. Older ones are lost when there is no room within bytes_max.
  // Errors: Exhausted when the disk is full: nothing changed, and it may work later; InvalidInput
  //         for one larger than record_bytes_max or bytes_max; else as write(2).
  virtual base::Result<uint64_t> Append(const NewRecord& record) = 0;

  // The oldest record that waits, good until the next call of any but State; null when none does.
  // Damaged ones in front are lost by this.
  // Errors: as open(2) and read(2), when it may work later. A file that cannot be read for ten
  //         minutes is lost as damaged.
  virtual base::Result<const Record*> Oldest() = 0;
  // The payload of the record that the oldest one refers to. Errors: Corrupt, NotFound.
  virtual base::Result<std::string> Referenced(uint64_t sequence) = 0;
  // The oldest one is done with, or lost for a reason of the caller's. Nothing happens when it is
  // no longer the oldest: then it was lost meanwhile.
  virtual void Acknowledge(uint64_t sequence) = 0;
  virtual void Discard(uint64_t sequence, std::string_view reason) = 0;

  // Loses what is too old, and syncs when it is time to; to be called every second or so.
  virtual void Maintain() = 0;
  // Brings all to the disk now. Errors: as fdatasync(2).
  virtual base::Result<void> Sync() = 0;

  virtual SpoolState State() const = 0;
  // Of the oldest record that waits; 0 when none does.
  virtual uint64_t OldestAgeMs() = 0;
};

}  // namespace vesta::spool
