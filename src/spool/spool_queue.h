// The spool behind its interface: which files there are, and where reading and writing stand.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/descriptor.h"
#include "src/spool/file_reader.h"
#include "src/spool/spool.h"
#include "src/spool/spool_folder.h"
#include "src/spool/spool_format.h"

namespace vesta::spool {

class SpoolQueue final : public Spool {
 public:
  SpoolQueue(const SpoolOptions& options, SpoolFolder folder);
  ~SpoolQueue() override;

  // What the folder holds; called once, before anything else.
  base::Result<void> Load();

  uint64_t OpenFileFirst() const override;
  base::Result<uint64_t> Append(const NewRecord& record) override;
  base::Result<const Record*> Oldest() override;
  base::Result<std::string> Referenced(uint64_t sequence) override;
  void Acknowledge(uint64_t sequence) override;
  void Discard(uint64_t sequence, std::string_view reason) override;
  void Maintain() override;
  base::Result<void> Sync() override;
  SpoolState State() const override;
  uint64_t OldestAgeMs() override;

 private:
  struct File {
    std::string name;
    Total start;  // what was written before its first record
    uint64_t disk_bytes = 0;
    uint64_t boot = 0;
  };

  // spool_open.cc
  void LoadFile(const FolderFile& listed);
  void SetAside(const FolderFile& listed, const std::string& why);
  base::Result<void> FindEnd();
  void CutTail(File& file, const FileReader& reader, uint64_t end_offset);
  void FindHead(const std::optional<ReadMark>& mark);

  const Total& EndOf(size_t file) const;

  void MakeRoom(uint64_t bytes);
  base::Result<void> OpenNewFile();
  void UndoWrite();
  void CloseFile();
  void RemoveFront();
  void DropFront(std::string_view reason);
  void Pass();  // the oldest record, which was read
  base::Result<bool> ReadNext();
  uint64_t AgeMs(const RecordHeader& header, uint64_t boot) const;

  void Lose(std::string_view reason, const Amount& amount);
  void Notice(const std::string& topic, const std::string& sentence);

  const SpoolOptions options_;
  const uint64_t file_bytes_max_;
  const uint64_t record_bytes_max_;
  const uint64_t boot_;
  const int64_t opened_unix_ms_;
  const int64_t opened_boot_ms_;
  SpoolFolder folder_;

  std::deque<File> files_;  // oldest first
  std::vector<FolderFile> aside_;
  std::vector<std::optional<ReadMark>> marks_;  // of files_, while loading
  Amount damaged_at_end_;                       // at least so much; while loading
  uint64_t last_name_ = 0;
  uint64_t disk_bytes_ = 0;

  Total head_;                                 // before the oldest record that waits
  uint64_t head_offset_ = kFileHeaderBytes;    // in the first file: it is there or behind
  std::optional<FoundRecord> current_;         // the oldest record, when it was read
  Record current_record_;                      // as the caller sees it
  std::optional<int64_t> read_failing_since_;  // CLOCK_BOOTTIME ms, of the first file

  Total end_;                    // behind the newest record
  base::Descriptor write_file_;  // of the last file, when it gets more
  bool is_unsynced_ = false;
  bool is_folder_unsynced_ = false;
  int64_t synced_boot_ms_ = 0;

  SpoolState state_;
  std::map<std::string, int64_t> noticed_boot_ms_;  // by topic
};

}  // namespace vesta::spool
