#include "src/wire/perf_data.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <iterator>
#include <optional>

#include "src/base/byte_reader.h"

namespace vesta::wire {
namespace {

using base::ByteReader;
using base::Error;
using base::ErrorCode;
using base::Result;

constexpr char kMagic[] = "PERFILE2";
constexpr uint64_t kPipeHeaderBytes = 16;
constexpr uint64_t kFileHeaderBytes = 104;
constexpr uint64_t kEventsMax = 1024;
constexpr uint64_t kIdsMax = 1 << 20;
constexpr uint64_t kRecordsMax = 1 << 26;
// Numbers of perf's own, beyond the kernel's.
constexpr uint32_t kRecordCompressed = 81;
constexpr uint32_t kRecordCompressed2 = 83;
// struct perf_event_attr is longer than what is read of it: up to sample_stack_user.
constexpr size_t kAttributesBytesMin = 96;
constexpr uint64_t kFlagFrequency = uint64_t{1} << 10;
constexpr uint64_t kFlagSampleIdAll = uint64_t{1} << 18;
constexpr uint64_t kSupportedSampleTypes =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
    PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
    PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
    PERF_SAMPLE_STACK_USER;
// What follows the stack in a sample, so that it need not be read.
constexpr uint64_t kLaterSampleTypes =
    ~((uint64_t{PERF_SAMPLE_STACK_USER} << 1) - 1) & ~uint64_t{PERF_SAMPLE_IDENTIFIER};

// The kernel's numbers of x86-64 registers, by DWARF number.
// Source: arch/x86/include/uapi/asm/perf_regs.h and the psABI.
constexpr std::array<unsigned, 17> kPerfRegister = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                                    17, 18, 19, 20, 21, 22, 23, 8};
constexpr uint64_t kSampleRegsAbi64 = 2;
constexpr uint16_t kMiscMmapBuildId = 1u << 14;
constexpr size_t kBuildIdBytesMax = 20;

// Bits of the header that tell which lists follow the records.
constexpr size_t kFeatureFlagsOffset = 72;
constexpr size_t kFeatureFlagWords = 4;
constexpr unsigned kFeatureBuildIds = 2;
constexpr unsigned kFeatureEvents = 12;
constexpr uint64_t kFeatureBytesMax = 64 << 20;
constexpr uint16_t kMiscBuildIdSize = 1u << 15;

Error Corrupt(const std::string& what, uint64_t offset) {
  return Error(ErrorCode::kCorrupt, what + " at byte " + std::to_string(offset));
}

struct RecordHeader {
  uint32_t type = 0;
  uint16_t misc = 0;
  uint16_t size_bytes = 0;
};
static_assert(sizeof(RecordHeader) == sizeof(perf_event_header));

RecordHeader HeaderOf(std::span<const std::byte> record) {
  return ByteReader(record).Read<RecordHeader>();
}

// Position of a field among the words that end a record, counted from its end; empty when absent.
std::optional<size_t> WordFromEnd(uint64_t sample_type, uint64_t wanted) {
  size_t words = 0;
  for (const uint64_t field : {uint64_t{PERF_SAMPLE_IDENTIFIER}, uint64_t{PERF_SAMPLE_CPU},
                               uint64_t{PERF_SAMPLE_STREAM_ID}, uint64_t{PERF_SAMPLE_ID},
                               uint64_t{PERF_SAMPLE_TIME}, uint64_t{PERF_SAMPLE_TID}}) {
    if ((sample_type & field) == 0) continue;
    ++words;
    if (field == wanted) return words;
  }
  return std::nullopt;
}

// The same from the start of a sample's fields.
std::optional<size_t> WordFromStart(uint64_t sample_type, uint64_t wanted) {
  size_t words = 0;
  for (const uint64_t field :
       {uint64_t{PERF_SAMPLE_IDENTIFIER}, uint64_t{PERF_SAMPLE_IP}, uint64_t{PERF_SAMPLE_TID},
        uint64_t{PERF_SAMPLE_TIME}, uint64_t{PERF_SAMPLE_ADDR}, uint64_t{PERF_SAMPLE_ID}}) {
    if ((sample_type & field) == 0) continue;
    if (field == wanted) return words;
    ++words;
  }
  return std::nullopt;
}

std::optional<uint64_t> WordAt(std::span<const std::byte> record, std::optional<size_t> offset) {
  if (!offset.has_value() || *offset > record.size()) return std::nullopt;
  ByteReader reader(record.subspan(*offset));
  const auto word = reader.Read<uint64_t>();
  if (!reader.ok()) return std::nullopt;
  return word;
}

std::optional<uint64_t> TrailingWord(std::span<const std::byte> record, uint64_t sample_type,
                                     uint64_t wanted) {
  const auto words = WordFromEnd(sample_type, wanted);
  if (!words.has_value() || *words * 8 + sizeof(RecordHeader) > record.size()) return std::nullopt;
  return WordAt(record, record.size() - *words * 8);
}

std::optional<uint64_t> LeadingWord(std::span<const std::byte> record, uint64_t sample_type,
                                    uint64_t wanted) {
  const auto words = WordFromStart(sample_type, wanted);
  if (!words.has_value()) return std::nullopt;
  return WordAt(record, sizeof(RecordHeader) + *words * 8);
}

std::string Hex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte byte : bytes) {
    out.push_back(kDigits[static_cast<size_t>(byte) >> 4]);
    out.push_back(kDigits[static_cast<size_t>(byte) & 15]);
  }
  return out;
}

// perf's names of the events that every machine has; "" for others.
std::string GeneralName(uint32_t kind, uint64_t config) {
  constexpr const char* kHardware[] = {"cycles",
                                       "instructions",
                                       "cache-references",
                                       "cache-misses",
                                       "branches",
                                       "branch-misses",
                                       "bus-cycles",
                                       "stalled-cycles-frontend",
                                       "stalled-cycles-backend",
                                       "ref-cycles"};
  constexpr const char* kSoftware[] = {
      "cpu-clock",    "task-clock",   "page-faults",      "context-switches", "cpu-migrations",
      "minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy"};
  if (kind == PERF_TYPE_HARDWARE && config < std::size(kHardware)) return kHardware[config];
  if (kind == PERF_TYPE_SOFTWARE && config < std::size(kSoftware)) return kSoftware[config];
  return "";
}

PerfMapping MappingOf(ByteReader& reader, uint16_t misc, bool is_second_version) {
  PerfMapping mapping;
  mapping.pid = reader.Read<uint32_t>();
  reader.Skip(4);
  mapping.start = reader.Read<uint64_t>();
  const auto size_bytes = reader.Read<uint64_t>();
  mapping.file_offset = reader.Read<uint64_t>();
  mapping.executable = !is_second_version;
  if (is_second_version) {
    if ((misc & kMiscMmapBuildId) != 0) {
      const auto length = reader.Read<uint8_t>();
      reader.Skip(3);
      const auto id = reader.ReadBytes(kBuildIdBytesMax);
      mapping.build_id = Hex(id.first(std::min<size_t>(length, id.size())));
    } else {
      mapping.device_major = reader.Read<uint32_t>();
      mapping.device_minor = reader.Read<uint32_t>();
      mapping.inode = reader.Read<uint64_t>();
      reader.Skip(8);
    }
    mapping.executable = (reader.Read<uint32_t>() & 4u) != 0;  // PROT_EXEC
    reader.Skip(4);
  }
  mapping.path = reader.ReadCString();
  mapping.end = mapping.start + size_bytes;
  if (mapping.end < mapping.start) reader.Fail();
  return mapping;
}

PerfComm CommOf(ByteReader& reader, uint16_t misc) {
  PerfComm comm;
  comm.pid = reader.Read<uint32_t>();
  comm.tid = reader.Read<uint32_t>();
  comm.is_exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  comm.comm = reader.ReadCString();
  return comm;
}

}  // namespace

Result<PerfData> PerfData::Open(const base::ByteSource& source) {
  PerfData perf_data(source);
  if (source.size_bytes() < kPipeHeaderBytes) {
    return Error(ErrorCode::kInvalidInput, "no perf.data: too short");
  }
  ASSIGN_OR_RETURN(const auto start, source.Read(0, kPipeHeaderBytes));
  if (std::memcmp(start.data(), kMagic, 8) != 0) {
    return Error(ErrorCode::kInvalidInput, "no perf.data: it does not start with PERFILE2");
  }
  const auto header_bytes = ByteReader(std::span(start).subspan(8)).Read<uint64_t>();
  if (header_bytes == kPipeHeaderBytes) {
    return Error(ErrorCode::kUnsupported, "it was written to a pipe: record with -o FILE");
  }
  if (header_bytes < kFileHeaderBytes || source.size_bytes() < kFileHeaderBytes) {
    return Corrupt("a header that is too short", 8);
  }
  ASSIGN_OR_RETURN(const auto header, source.Read(0, kFileHeaderBytes));
  ByteReader reader{std::span(header).subspan(16)};
  const auto event_bytes = reader.Read<uint64_t>();
  const auto events_offset = reader.Read<uint64_t>();
  const auto events_bytes = reader.Read<uint64_t>();
  const auto data_offset = reader.Read<uint64_t>();
  const auto data_bytes = reader.Read<uint64_t>();
  if (data_bytes == 0) {
    return Error(ErrorCode::kInvalidInput, "the recording was not finished, or holds nothing");
  }
  RETURN_IF_ERROR(perf_data.ReadEvents(events_offset, events_bytes, event_bytes));
  RETURN_IF_ERROR(perf_data.IndexRecords(data_offset, data_bytes));
  std::array<uint64_t, kFeatureFlagWords> flags{};
  ByteReader flag_reader{std::span(header).subspan(kFeatureFlagsOffset)};
  for (uint64_t& word : flags) word = flag_reader.Read<uint64_t>();
  RETURN_IF_ERROR(perf_data.ReadFeatures(data_offset + data_bytes, flags));
  return perf_data;
}

Result<void> PerfData::ReadFeatures(uint64_t offset, std::span<const uint64_t> flags) {
  for (unsigned bit = 0; bit < flags.size() * 64; ++bit) {
    if ((flags[bit / 64] >> (bit % 64) & 1) == 0) continue;
    // perf writes all of them before it says in the header how many records there are.
    if (source_->size_bytes() - offset < 16)
      return Corrupt("lists behind the records that are cut off", offset);
    ASSIGN_OR_RETURN(const auto entry, source_->Read(offset, 16));
    offset += 16;
    ByteReader reader(entry);
    const auto section_offset = reader.Read<uint64_t>();
    const auto section_bytes = reader.Read<uint64_t>();
    if ((bit != kFeatureBuildIds && bit != kFeatureEvents) || section_bytes > kFeatureBytesMax)
      continue;
    const auto section = source_->Read(section_offset, section_bytes);
    if (!section.ok()) return Corrupt("a list that lies beyond the end of the file", offset - 16);
    if (bit == kFeatureBuildIds)
      ReadBuildIds(*section);
    else
      ReadEventNames(*section);
  }
  return {};
}

void PerfData::ReadBuildIds(std::span<const std::byte> section) {
  ByteReader reader(section);
  while (reader.remaining() > sizeof(RecordHeader)) {
    const auto header = reader.Read<RecordHeader>();
    if (header.size_bytes < sizeof(RecordHeader)) return;
    ByteReader entry(reader.ReadBytes(header.size_bytes - sizeof(RecordHeader)));
    entry.Skip(4);  // pid
    const auto id = entry.ReadBytes(kBuildIdBytesMax);
    const auto length = entry.Read<uint8_t>();
    entry.Skip(3);
    if (!entry.ok() || !reader.ok()) return;
    const std::string_view path = entry.ReadCString();
    if (!entry.ok()) return;
    const size_t used = (header.misc & kMiscBuildIdSize) != 0
                            ? std::min<size_t>(length, kBuildIdBytesMax)
                            : kBuildIdBytesMax;
    build_ids_.push_back({std::string(path), Hex(id.first(used))});
  }
}

void PerfData::ReadEventNames(std::span<const std::byte> section) {
  ByteReader reader(section);
  const auto count = reader.Read<uint32_t>();
  const auto attribute_bytes = reader.Read<uint32_t>();
  if (count != events_.size()) return;
  for (PerfEvent& event : events_) {
    reader.Skip(attribute_bytes);
    const auto id_count = reader.Read<uint32_t>();
    const auto name_bytes = reader.Read<uint32_t>();
    ByteReader name(reader.ReadBytes(name_bytes));
    reader.Skip(size_t{id_count} * 8);
    if (!reader.ok() || name.AtEnd()) return;
    const std::string_view text = name.ReadCString();
    if (!name.ok()) return;
    event.name = text;
  }
}

Result<void> PerfData::ReadEvents(uint64_t offset, uint64_t size_bytes, uint64_t entry_bytes) {
  // Each entry: struct perf_event_attr, then place and size of the list of ids.
  if (entry_bytes < kAttributesBytesMin + 16 || entry_bytes > 4096) {
    return Corrupt("events of an odd size", 16);
  }
  if (size_bytes % entry_bytes != 0 || size_bytes / entry_bytes == 0 ||
      size_bytes / entry_bytes > kEventsMax) {
    return Corrupt("an odd list of events", 24);
  }
  ASSIGN_OR_RETURN(const auto entries, source_->Read(offset, size_bytes));
  for (uint64_t at = 0; at < size_bytes; at += entry_bytes) {
    auto read = ReadEvent(std::span(entries).subspan(at, entry_bytes));
    if (!read.ok()) return read.error().Context("byte " + std::to_string(offset + at));
  }
  for (const PerfEvent& event : events_) {
    const PerfEvent& first = events_.front();
    events_differ_ |= event.sample_type != first.sample_type ||
                      event.registers_mask != first.registers_mask ||
                      event.has_times != first.has_times;
  }
  for (const PerfEvent& event : events_) {
    if (events_differ_ && (event.sample_type & PERF_SAMPLE_IDENTIFIER) == 0) {
      return Error(ErrorCode::kUnsupported, "events of several kinds that cannot be told apart");
    }
  }
  return {};
}

Result<void> PerfData::ReadEvent(std::span<const std::byte> entry) {
  PerfEvent event;
  ByteReader reader(entry);
  const auto kind = reader.Read<uint32_t>();
  reader.Skip(4);
  const auto config = reader.Read<uint64_t>();
  event.name = GeneralName(kind, config);
  event.period = reader.Read<uint64_t>();
  event.sample_type = reader.Read<uint64_t>();
  reader.Seek(40);
  const auto flags = reader.Read<uint64_t>();
  event.has_times = (flags & kFlagSampleIdAll) != 0;
  if ((flags & kFlagFrequency) != 0) event.period = 0;
  reader.Seek(80);
  event.registers_mask = reader.Read<uint64_t>();
  if (!event.has_times || (event.sample_type & PERF_SAMPLE_TIME) == 0) {
    return Error(ErrorCode::kUnsupported, "records without a time");
  }
  if ((event.sample_type & ~kSupportedSampleTypes & ~kLaterSampleTypes) != 0) {
    return Error(ErrorCode::kUnsupported, "samples with fields that are not known here");
  }
  reader.Seek(entry.size() - 16);
  const auto ids_offset = reader.Read<uint64_t>();
  const auto ids_bytes = reader.Read<uint64_t>();
  if (ids_bytes % 8 != 0 || ids_bytes / 8 > kIdsMax) {
    return Error(ErrorCode::kCorrupt, "an odd list of event ids");
  }
  ASSIGN_OR_RETURN(const auto ids, source_->Read(ids_offset, ids_bytes));
  ByteReader id_reader(ids);
  while (!id_reader.AtEnd()) event_of_id_[id_reader.Read<uint64_t>()] = events_.size();
  events_.push_back(event);
  return {};
}

Result<void> PerfData::IndexRecords(uint64_t offset, uint64_t size_bytes) {
  if (offset > source_->size_bytes() || size_bytes > source_->size_bytes() - offset) {
    return Corrupt("data beyond the end of the file", 40);
  }
  const uint64_t end = offset + size_bytes;
  while (offset < end) {
    if (end - offset < sizeof(RecordHeader)) return Corrupt("half a record", offset);
    ASSIGN_OR_RETURN(const auto header, source_->ReadObject<RecordHeader>(offset));
    if (header.size_bytes < sizeof(RecordHeader) || header.size_bytes > end - offset) {
      return Corrupt("a record of an impossible size", offset);
    }
    if (header.type == kRecordCompressed || header.type == kRecordCompressed2) {
      return Error(ErrorCode::kUnsupported,
                   "it is compressed: record without -z, or use the text of perf script -i FILE");
    }
    // What perf adds itself has no time, and says nothing about stacks.
    if (header.type < PERF_RECORD_MAX) {
      if (records_.size() >= kRecordsMax) return Error(ErrorCode::kExhausted, "too many records");
      ASSIGN_OR_RETURN(const auto record, source_->Read(offset, header.size_bytes));
      auto time_ns = TimeOf(record);
      if (!time_ns.ok()) return time_ns.error().Context("byte " + std::to_string(offset));
      records_.push_back({*time_ns, offset, header.size_bytes});
    }
    offset += header.size_bytes;
  }
  std::stable_sort(records_.begin(), records_.end(),
                   [](const Place& a, const Place& b) { return a.time_ns < b.time_ns; });
  return {};
}

Result<size_t> PerfData::EventOf(std::span<const std::byte> record) const {
  if (events_.size() == 1) return size_t{0};
  const bool is_sample = HeaderOf(record).type == PERF_RECORD_SAMPLE;
  const uint64_t type = events_.front().sample_type;
  // Events whose records are alike may have their id elsewhere.
  const uint64_t field = events_differ_ || (type & PERF_SAMPLE_IDENTIFIER) != 0
                             ? uint64_t{PERF_SAMPLE_IDENTIFIER}
                             : uint64_t{PERF_SAMPLE_ID};
  if (!events_differ_ && (type & field) == 0) return size_t{0};
  const uint64_t fields = events_differ_ ? uint64_t{PERF_SAMPLE_IDENTIFIER} : type;
  const auto id =
      is_sample ? LeadingWord(record, fields, field) : TrailingWord(record, fields, field);
  if (!id.has_value()) return Error(ErrorCode::kCorrupt, "a record without its event's id");
  const auto event = event_of_id_.find(*id);
  // perf writes what was there before the recording with the id 0.
  if (event == event_of_id_.end() && *id != 0) {
    return Error(ErrorCode::kCorrupt, "a record of an unknown event");
  }
  return event == event_of_id_.end() ? 0 : event->second;
}

Result<uint64_t> PerfData::TimeOf(std::span<const std::byte> record) const {
  ASSIGN_OR_RETURN(const size_t event, EventOf(record));
  const uint64_t type = events_[event].sample_type;
  const auto time_ns = HeaderOf(record).type == PERF_RECORD_SAMPLE
                           ? LeadingWord(record, type, PERF_SAMPLE_TIME)
                           : TrailingWord(record, type, PERF_SAMPLE_TIME);
  if (!time_ns.has_value()) return Error(ErrorCode::kCorrupt, "a record without its time");
  return *time_ns;
}

Result<PerfRecord> PerfData::Read(size_t index) const {
  const Place& place = records_[index];
  ASSIGN_OR_RETURN(const auto record, source_->Read(place.offset, place.size_bytes));
  const RecordHeader header = HeaderOf(record);
  ByteReader reader{std::span(record).subspan(sizeof(RecordHeader))};
  PerfRecord result;
  switch (header.type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
      result = MappingOf(reader, header.misc, header.type == PERF_RECORD_MMAP2);
      break;
    case PERF_RECORD_COMM:
      result = CommOf(reader, header.misc);
      break;
    case PERF_RECORD_FORK: {
      PerfFork fork;
      fork.pid = reader.Read<uint32_t>();
      fork.parent_pid = reader.Read<uint32_t>();
      fork.tid = reader.Read<uint32_t>();
      fork.parent_tid = reader.Read<uint32_t>();
      result = fork;
      break;
    }
    case PERF_RECORD_LOST:
      reader.Skip(8);
      result = PerfLost{reader.Read<uint64_t>()};
      break;
    case PERF_RECORD_SAMPLE: {
      auto sample = ReadSample(record);
      if (!sample.ok()) return sample.error().Context("byte " + std::to_string(place.offset));
      result = std::move(sample).value();
      break;
    }
    default:
      break;
  }
  if (!reader.ok()) return Corrupt("a record that is too short", place.offset);
  return result;
}

Result<PerfSample> PerfData::ReadSample(std::span<const std::byte> record) const {
  PerfSample sample;
  ASSIGN_OR_RETURN(sample.event, EventOf(record));
  const uint64_t type = events_[sample.event].sample_type;
  const uint16_t cpu_mode = HeaderOf(record).misc & PERF_RECORD_MISC_CPUMODE_MASK;
  sample.in_kernel = cpu_mode == PERF_RECORD_MISC_KERNEL;
  ByteReader reader(record.subspan(sizeof(RecordHeader)));
  const auto word = [&](uint64_t field) {
    return (type & field) != 0 ? reader.Read<uint64_t>() : uint64_t{0};
  };
  word(PERF_SAMPLE_IDENTIFIER);
  sample.address = word(PERF_SAMPLE_IP);
  if ((type & PERF_SAMPLE_TID) != 0) {
    sample.pid = reader.Read<uint32_t>();
    sample.tid = reader.Read<uint32_t>();
  }
  sample.time_ns = word(PERF_SAMPLE_TIME);
  for (const uint64_t field : {uint64_t{PERF_SAMPLE_ADDR}, uint64_t{PERF_SAMPLE_ID},
                               uint64_t{PERF_SAMPLE_STREAM_ID}, uint64_t{PERF_SAMPLE_CPU}}) {
    word(field);
  }
  if ((type & PERF_SAMPLE_PERIOD) != 0)
    sample.period = reader.Read<uint64_t>();
  else if (events_[sample.event].period != 0)
    sample.period = events_[sample.event].period;
  if ((type & PERF_SAMPLE_CALLCHAIN) != 0) {
    const auto count = reader.Read<uint64_t>();
    if (count > record.size() / 8) reader.Fail();
    for (uint64_t i = 0; i < count && reader.ok(); ++i)
      sample.callchain.push_back(reader.Read<uint64_t>());
  }
  if ((type & PERF_SAMPLE_RAW) != 0) {
    const auto size_bytes = reader.Read<uint32_t>();
    reader.Skip(size_bytes);
  }
  uint64_t abi = 0;
  if ((type & PERF_SAMPLE_REGS_USER) != 0) {
    abi = reader.Read<uint64_t>();
    std::array<uint64_t, 64> value{};
    for (unsigned number = 0; abi != 0 && number < 64; ++number) {
      if ((events_[sample.event].registers_mask >> number & 1) != 0)
        value[number] = reader.Read<uint64_t>();
    }
    for (size_t i = 0; i < kPerfRegister.size(); ++i) sample.registers[i] = value[kPerfRegister[i]];
  }
  if ((type & PERF_SAMPLE_STACK_USER) != 0) {
    const auto size_bytes = reader.Read<uint64_t>();
    if (size_bytes > record.size()) reader.Fail();
    const auto stack = reader.ReadBytes(reader.ok() ? size_bytes : 0);
    const auto used_bytes = size_bytes != 0 ? reader.Read<uint64_t>() : 0;
    if (used_bytes > stack.size()) reader.Fail();
    if (reader.ok())
      sample.stack.assign(stack.begin(), stack.begin() + static_cast<std::ptrdiff_t>(used_bytes));
  }
  if (!reader.ok()) return Error(ErrorCode::kCorrupt, "a sample that is too short");
  sample.has_user_stack = abi == kSampleRegsAbi64 && !sample.stack.empty();
  return sample;
}

}  // namespace vesta::wire
