// A small perf.data, written piece by piece, for tests.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vesta::wire {

// Shape: one event (two after AddSecondEvent); all records carry the time that is set when they are
//        added. The registers of a sample hold 1000 plus their number.
class PerfFileForTest {
 public:
  uint64_t sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                         PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_PERIOD |
                         PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  uint64_t time_ns = 100;

  // An event without stacks, which the records other than samples belong to.
  void AddSecondEvent() { has_second_event_ = true; }

  void AddRecord(uint32_t type, uint16_t misc, std::vector<std::byte> body) {
    last_record_bytes_ = 8 + body.size();
    Append(data_, type);
    Append(data_, misc);
    Append(data_, static_cast<uint16_t>(last_record_bytes_));
    data_.insert(data_.end(), body.begin(), body.end());
  }
  size_t last_record_bytes() const { return last_record_bytes_; }

  void AddMapping(uint32_t pid, uint64_t start, uint64_t size_bytes, uint64_t file_offset,
                  std::string_view path, uint32_t protection) {
    std::vector<std::byte> body;
    Append(body, pid);
    Append(body, pid);
    for (const uint64_t value : {start, size_bytes, file_offset}) Append(body, value);
    Append(body, uint32_t{8});
    Append(body, uint32_t{1});
    Append(body, uint64_t{99});
    Append(body, uint64_t{0});
    Append(body, protection);
    Append(body, uint32_t{0});
    AppendText(body, path);
    AppendSampleId(body, pid);
    AddRecord(PERF_RECORD_MMAP2, 0, std::move(body));
  }
  void AddComm(uint32_t pid, uint32_t tid, std::string_view comm, bool is_exec) {
    std::vector<std::byte> body;
    Append(body, pid);
    Append(body, tid);
    AppendText(body, comm);
    AppendSampleId(body, pid);
    AddRecord(PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0, std::move(body));
  }
  void AddFork(uint32_t pid, uint32_t parent_pid) {
    std::vector<std::byte> body;
    for (const uint32_t value : {pid, parent_pid, pid, parent_pid}) Append(body, value);
    Append(body, time_ns);
    AppendSampleId(body, pid);
    AddRecord(PERF_RECORD_FORK, 0, std::move(body));
  }
  void AddLost(uint64_t count) {
    std::vector<std::byte> body;
    Append(body, uint64_t{0});
    Append(body, count);
    AppendSampleId(body, 0);
    AddRecord(PERF_RECORD_LOST, 0, std::move(body));
  }
  // Without words: a sample that interrupted a kernel thread.
  void AddSample(uint32_t pid, uint32_t tid, const std::vector<uint64_t>& stack) {
    std::vector<std::byte> body;
    Append(body, kFirstId);
    Append(body, uint64_t{0x401000});
    Append(body, pid);
    Append(body, tid);
    Append(body, time_ns);
    Append(body, uint64_t{1});  // period
    Append(body, uint64_t{1});  // kernel frames
    Append(body, uint64_t{0xffffffff81000000});
    Append(body, uint64_t{stack.empty() ? 0u : 2u});
    for (unsigned number = 0; !stack.empty() && number < 24; ++number) {
      if ((kRegistersMask >> number & 1) != 0) Append(body, uint64_t{1000 + number});
    }
    if (stack.empty()) {
      Append(body, uint64_t{0});
    } else {
      Append(body, uint64_t{(stack.size() + kUnusedWords) * 8});
      for (const uint64_t word : stack) Append(body, word);
      for (size_t i = 0; i < kUnusedWords; ++i) Append(body, uint64_t{0});
      Append(body, uint64_t{stack.size() * 8});
    }
    AddRecord(PERF_RECORD_SAMPLE, 0, std::move(body));
  }

  // With a call chain and without registers and stack; the sample type must be without them, too.
  void AddChainSample(uint32_t pid, uint32_t tid, uint16_t misc, uint64_t period,
                      const std::vector<uint64_t>& chain) {
    std::vector<std::byte> body;
    Append(body, kFirstId);
    Append(body, chain.empty() ? uint64_t{0x401234} : chain[0]);
    Append(body, pid);
    Append(body, tid);
    Append(body, time_ns);
    Append(body, period);
    Append(body, uint64_t{chain.size()});
    for (const uint64_t address : chain) Append(body, address);
    AddRecord(PERF_RECORD_SAMPLE, misc, std::move(body));
  }

  // The list of build ids behind the records.
  void AddBuildId(std::string_view path, uint8_t first_byte) {
    std::vector<std::byte> entry;
    Append(entry, uint32_t{0xffffffff});
    entry.push_back(std::byte{first_byte});
    entry.resize(4 + 24);
    AppendText(entry, path);
    Append(build_ids_, uint32_t{67});
    Append(build_ids_, uint16_t{0});
    Append(build_ids_, static_cast<uint16_t>(entry.size() + 8));
    build_ids_.insert(build_ids_.end(), entry.begin(), entry.end());
  }
  // The list of events with their names.
  void SetEventName(std::string_view name) {
    for (const uint32_t value : {uint32_t{1}, uint32_t{8}, uint32_t{0}, uint32_t{0}})
      Append(event_names_, value);
    Append(event_names_, uint32_t{0});
    Append(event_names_, static_cast<uint32_t>((name.size() + 8) / 8 * 8));
    AppendText(event_names_, name);
  }

  std::vector<std::byte> Bytes() const {
    const uint64_t events = has_second_event_ ? 2 : 1;
    const uint64_t ids_offset = kHeaderBytes;
    const uint64_t events_offset = ids_offset + 16;
    const uint64_t data_offset = events_offset + events * kEventBytes;
    std::vector<std::byte> bytes;
    AppendText(bytes, "PERFILE2");
    bytes.resize(8);
    for (const uint64_t value : {kHeaderBytes, kEventBytes, events_offset, events * kEventBytes,
                                 data_offset, uint64_t{data_.size()}}) {
      Append(bytes, value);
    }
    bytes.resize(kHeaderBytes);
    Append(bytes, kFirstId);
    Append(bytes, kSecondId);
    AppendEvent(bytes, sample_type, ids_offset);
    if (has_second_event_) AppendEvent(bytes, kSecondSampleType, ids_offset + 8);
    bytes.insert(bytes.end(), data_.begin(), data_.end());
    AppendFeatures(bytes);
    return bytes;
  }

 private:
  static constexpr uint64_t kHeaderBytes = 104;
  static constexpr uint64_t kAttributesBytes = 128;
  static constexpr uint64_t kEventBytes = kAttributesBytes + 16;
  static constexpr uint64_t kFirstId = 41;
  static constexpr uint64_t kSecondId = 42;
  static constexpr uint64_t kSecondSampleType =
      PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  static constexpr uint64_t kRegistersMask = 0xff0fff;
  static constexpr size_t kUnusedWords = 1;

  template <typename Value>
  static void Append(std::vector<std::byte>& bytes, Value value) {
    const auto* const first = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), first, first + sizeof(value));
  }
  static void AppendText(std::vector<std::byte>& bytes, std::string_view text) {
    for (const char letter : text) bytes.push_back(static_cast<std::byte>(letter));
    bytes.resize((bytes.size() + 8) / 8 * 8);
  }
  void AppendSampleId(std::vector<std::byte>& body, uint32_t tid) const {
    if (!has_second_event_) {
      Append(body, tid);
      Append(body, tid);
    }
    if ((sample_type & PERF_SAMPLE_TIME) != 0) Append(body, time_ns);
    if (has_second_event_) Append(body, uint64_t{0});  // CPU
    Append(body, has_second_event_ ? kSecondId : kFirstId);
  }
  static void AppendEvent(std::vector<std::byte>& bytes, uint64_t type, uint64_t ids_offset) {
    const size_t start = bytes.size();
    bytes.resize(start + kAttributesBytes);
    const auto put = [&](size_t offset, uint64_t value) {
      std::memcpy(&bytes[start + offset], &value, sizeof(value));
    };
    put(24, type);
    put(40, uint64_t{1} << 18);  // sample_id_all
    put(80, kRegistersMask);
    Append(bytes, ids_offset);
    Append(bytes, uint64_t{8});
  }

  // Places and sizes of the lists, in the order of their bits, then the lists.
  void AppendFeatures(std::vector<std::byte>& bytes) const {
    uint64_t flags = 0;
    uint64_t offset = bytes.size();
    const auto lists = {std::pair{2, &build_ids_}, std::pair{12, &event_names_}};
    for (const auto& [bit, list] : lists) {
      if (list->empty()) continue;
      flags |= uint64_t{1} << bit;
      offset += 16;
    }
    for (const auto& [bit, list] : lists) {
      if (list->empty()) continue;
      Append(bytes, offset);
      Append(bytes, uint64_t{list->size()});
      offset += list->size();
    }
    for (const auto& [bit, list] : lists) bytes.insert(bytes.end(), list->begin(), list->end());
    std::memcpy(&bytes[72], &flags, sizeof(flags));
  }

  std::vector<std::byte> build_ids_;
  std::vector<std::byte> event_names_;
  bool has_second_event_ = false;
  size_t last_record_bytes_ = 0;
  std::vector<std::byte> data_;
};

}  // namespace vesta::wire
