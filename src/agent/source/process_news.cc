#include "src/agent/source/process_news.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/byte_reader.h"

namespace vesta::agent::source {
namespace {

using process::ProcessEvent;

// sample_id_all trailer in the order of sample_type bits: pid and tid, time, cpu and reserved.
constexpr size_t kTrailerBytes = 8 + 8 + 8;

std::string ReadPaddedText(base::ByteReader& reader, size_t end) {
  const size_t length = end > reader.position() ? end - reader.position() : 0;
  const auto bytes = reader.ReadBytes(length);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return std::string(text, ::strnlen(text, bytes.size()));
}

process::MmapEvent ReadMmap2(base::ByteReader& reader, size_t end) {
  process::MmapEvent mmap;
  mmap.pid = reader.Read<uint32_t>();
  mmap.tid = reader.Read<uint32_t>();
  mmap.start = reader.Read<uint64_t>();
  mmap.size_bytes = reader.Read<uint64_t>();
  mmap.file_offset = reader.Read<uint64_t>();
  // The kernel marks these as a build id when some other listener asked for one; ours never are.
  mmap.device_major = reader.Read<uint32_t>();
  mmap.device_minor = reader.Read<uint32_t>();
  mmap.inode = reader.Read<uint64_t>();
  mmap.inode_generation = reader.Read<uint64_t>();
  reader.Skip(8);  // protection, flags
  mmap.path = ReadPaddedText(reader, end);
  return mmap;
}

}  // namespace

base::Result<std::optional<ProcessEvent>> ParseProcessNews(std::span<const std::byte> record) {
  base::ByteReader reader(record);
  const auto header = reader.Read<perf_event_header>();
  if (!reader.ok() || header.size != record.size()) {
    return base::Error(base::ErrorCode::kCorrupt, "side-band record with a wrong size");
  }
  ProcessEvent event;
  const size_t end = record.size() >= kTrailerBytes ? record.size() - kTrailerBytes : 0;
  switch (header.type) {
    case PERF_RECORD_MMAP2:
      event.what = ReadMmap2(reader, end);
      break;
    case PERF_RECORD_COMM: {
      process::CommEvent comm;
      comm.pid = reader.Read<uint32_t>();
      comm.tid = reader.Read<uint32_t>();
      comm.is_exec = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
      comm.comm = ReadPaddedText(reader, end);
      event.what = comm;
      break;
    }
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
      process::ForkEvent fork;
      fork.pid = reader.Read<uint32_t>();
      fork.parent_pid = reader.Read<uint32_t>();
      fork.tid = reader.Read<uint32_t>();
      fork.parent_tid = reader.Read<uint32_t>();
      reader.Skip(8);
      if (header.type == PERF_RECORD_FORK) {
        event.what = fork;
      } else {
        event.what = process::ExitEvent{fork.pid, fork.tid};
      }
      break;
    }
    case PERF_RECORD_LOST: {
      reader.Skip(8);
      event.what = process::LostEvents{reader.Read<uint64_t>()};
      break;
    }
    default:
      return std::optional<ProcessEvent>();
  }
  // Fields that ran into the trailer, or beyond: a record that was cut.
  const bool fields_fit = reader.ok() && reader.position() <= end;
  reader.Seek(end + 8);
  event.time_mono_ns = reader.Read<uint64_t>();
  if (!fields_fit || !reader.ok()) {
    return base::Error(base::ErrorCode::kCorrupt,
                       "side-band record of type " + std::to_string(header.type) + " is too short");
  }
  return std::optional<ProcessEvent>(std::move(event));
}

ProcessNews::Ring::Ring(Ring&& other) noexcept
    : event(std::move(other.event)),
      cpu(other.cpu),
      pages(std::exchange(other.pages, nullptr)),
      mapped_bytes(std::exchange(other.mapped_bytes, 0)) {}

ProcessNews::Ring& ProcessNews::Ring::operator=(Ring&& other) noexcept {
  std::swap(event, other.event);
  std::swap(cpu, other.cpu);
  std::swap(pages, other.pages);
  std::swap(mapped_bytes, other.mapped_bytes);
  return *this;
}

ProcessNews::Ring::~Ring() {
  if (pages != nullptr) ::munmap(pages, mapped_bytes);
}

base::Result<ProcessNews> ProcessNews::Open(size_t ring_pages) {
  ASSIGN_OR_RETURN(const std::vector<int> online, OnlineCpus());
  ProcessNews news(ring_pages);
  RETURN_IF_ERROR(news.UpdateCpus(online));
  return news;
}

base::Result<void> ProcessNews::AddCpu(int cpu) {
  ASSIGN_OR_RETURN(PerfEvent event, OpenProcessNews(cpu));
  Ring ring(std::move(event), cpu);
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  ring.mapped_bytes = (ring_pages_ + 1) * page_bytes;
  void* pages =
      ::mmap(nullptr, ring.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.event.fd(), 0);
  if (pages == MAP_FAILED) return base::ErrnoError("mapping the process side-band", errno);
  ring.pages = pages;
  if (!collecting_) ::ioctl(ring.event.fd(), PERF_EVENT_IOC_DISABLE, 0);
  rings_.push_back(std::move(ring));
  return {};
}

base::Result<void> ProcessNews::UpdateCpus(std::span<const int> online) {
  rings_.erase(std::remove_if(rings_.begin(), rings_.end(),
                              [&](const Ring& ring) {
                                return std::find(online.begin(), online.end(), ring.cpu) ==
                                       online.end();
                              }),
               rings_.end());
  for (const int cpu : online) {
    const bool is_open = std::any_of(rings_.begin(), rings_.end(),
                                     [&](const Ring& ring) { return ring.cpu == cpu; });
    if (!is_open) RETURN_IF_ERROR(AddCpu(cpu));
  }
  return {};
}

void ProcessNews::SetCollecting(bool collecting) {
  collecting_ = collecting;
  for (const Ring& ring : rings_) {
    ::ioctl(ring.event.fd(), collecting ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
  }
}

void ProcessNews::DrainRing(Ring& ring, std::vector<ProcessEvent>& events) {
  auto* control = static_cast<perf_event_mmap_page*>(ring.pages);
  const auto* data = static_cast<const std::byte*>(ring.pages) + control->data_offset;
  const uint64_t data_bytes = control->data_size;
  const uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = control->data_tail;
  while (tail < head) {
    perf_event_header header;
    // Records are 8-byte aligned and headers are 8 bytes: a header never wraps.
    std::memcpy(&header, data + tail % data_bytes, sizeof(header));
    if (header.size < sizeof(header) || header.size > head - tail) {
      ++damaged_count_;
      tail = head;
      break;
    }
    const uint64_t offset = tail % data_bytes;
    std::span<const std::byte> record(data + offset, header.size);
    if (offset + header.size > data_bytes) {
      const size_t first = data_bytes - offset;
      record_.resize(header.size);
      std::memcpy(record_.data(), data + offset, first);
      std::memcpy(record_.data() + first, data, header.size - first);
      record = record_;
    }
    auto event = ParseProcessNews(record);
    if (!event.ok()) {
      ++damaged_count_;
    } else if (event->has_value()) {
      ++received_count_;
      if (const auto* lost = std::get_if<process::LostEvents>(&(**event).what)) {
        lost_count_ += lost->count;
      }
      events.push_back(std::move(**event));
    }
    tail += header.size;
  }
  __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
}

void ProcessNews::Drain(std::vector<ProcessEvent>& events) {
  for (Ring& ring : rings_) DrainRing(ring, events);
  std::stable_sort(events.begin(), events.end(), [](const ProcessEvent& a, const ProcessEvent& b) {
    return a.time_mono_ns < b.time_mono_ns;
  });
}

}  // namespace vesta::agent::source
