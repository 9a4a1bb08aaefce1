// What the kernel sends, cut into parts: sample records and side-band records, whole and damaged.
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>

#include "src/agent/source/kernel_source.h"
#include "src/agent/source/perf_event.h"
#include "src/agent/source/process_news.h"

namespace vesta::agent::source {
namespace {

// Eight-byte aligned, as the ring gives it.
class Record {
 public:
  template <typename T>
  Record& Add(const T& part) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&part);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(part));
    return *this;
  }
  Record& AddText(std::string text, size_t padded) {
    text.resize(padded);
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  std::span<std::byte> bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

abi_sample SampleHeader(uint16_t user, uint16_t kernel, uint32_t stack_bytes, size_t size) {
  abi_sample sample{};
  sample.kind = ABI_RECORD_SAMPLE;
  sample.version = ABI_SAMPLE_VERSION;
  sample.size_bytes = static_cast<uint32_t>(size);
  sample.user_frame_count = user;
  sample.kernel_frame_count = kernel;
  sample.stack_bytes = stack_bytes;
  return sample;
}

Record WholeSample() {
  Record record;
  const size_t size = sizeof(abi_sample) + 2 * sizeof(abi_frame) + 8 + sizeof(abi_resume) + 16;
  record.Add(SampleHeader(2, 1, 16, size));
  record.Add(abi_frame{0x10, 1, ABI_FRAME_IMAGE, 0, {}});
  record.Add(abi_frame{0x20, 2, ABI_FRAME_IMAGE, 0, {}});
  record.Add(uint64_t{0xffffffff81000010});
  abi_resume resume{};
  resume.sp = 0x7000;
  record.Add(resume);
  record.Add(uint64_t{1}).Add(uint64_t{2});
  return record;
}

TEST(SampleRecordTest, CutsAllParts) {
  Record record = WholeSample();
  const auto parts = ParseSampleRecord(record.bytes());
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->user[1].address, 0x20u);
  EXPECT_EQ(parts->kernel[0], 0xffffffff81000010u);
  ASSERT_NE(parts->resume, nullptr);
  EXPECT_EQ(parts->resume->sp, 0x7000u);
  EXPECT_EQ(parts->stack.size(), 16u);
}

TEST(SampleRecordTest, RefusesEveryTruncation) {
  Record record = WholeSample();
  for (size_t size = 0; size < record.bytes().size(); ++size) {
    EXPECT_FALSE(ParseSampleRecord(record.bytes().first(size)).ok()) << size;
  }
}

TEST(SampleRecordTest, RefusesCountsThatDoNotFit) {
  for (const auto& [user, kernel, stack] : std::vector<std::tuple<uint16_t, uint16_t, uint32_t>>{
           {3, 1, 16}, {2, 2, 16}, {2, 1, 17}, {2, 1, 0}, {65535, 65535, ~0u}}) {
    Record record = WholeSample();
    const abi_sample sample = SampleHeader(user, kernel, stack, record.bytes().size());
    std::memcpy(record.bytes().data(), &sample, sizeof(sample));
    EXPECT_FALSE(ParseSampleRecord(record.bytes()).ok()) << user << ' ' << kernel << ' ' << stack;
  }
}

Record News(uint32_t type, uint16_t misc, Record body) {
  // Trailer: pid, tid, time, cpu, reserved.
  body.Add(uint32_t{7}).Add(uint32_t{8}).Add(uint64_t{123456}).Add(uint32_t{0}).Add(uint32_t{0});
  Record record;
  perf_event_header header{};
  header.type = type;
  header.misc = misc;
  header.size = static_cast<uint16_t>(sizeof(header) + body.bytes().size());
  record.Add(header);
  for (const std::byte b : body.bytes()) record.Add(b);
  return record;
}

// The mark of build ids is set on our records when another profiler asked for them.
TEST(ProcessNewsTest, MmapIsReadAsInodeWhateverItIsMarkedAs) {
  for (const uint16_t misc : {uint16_t{0}, uint16_t{PERF_RECORD_MISC_MMAP_BUILD_ID}}) {
    Record body;
    body.Add(uint32_t{42}).Add(uint32_t{43}).Add(uint64_t{0x1000}).Add(uint64_t{0x2000});
    body.Add(uint64_t{0x3000}).Add(uint32_t{8}).Add(uint32_t{1}).Add(uint64_t{77}).Add(uint64_t{3});
    body.Add(uint32_t{5}).Add(uint32_t{2}).AddText("/lib/a b.so", 16);
    Record record = News(PERF_RECORD_MMAP2, misc, body);
    const auto event = ParseProcessNews(record.bytes());
    ASSERT_TRUE(event.ok() && event->has_value());
    EXPECT_EQ((**event).time_mono_ns, 123456u);
    const auto& mmap = std::get<process::MmapEvent>((**event).what);
    EXPECT_EQ(mmap.pid, 42u);
    EXPECT_EQ(mmap.start, 0x1000u);
    EXPECT_EQ(mmap.size_bytes, 0x2000u);
    EXPECT_EQ(mmap.file_offset, 0x3000u);
    EXPECT_EQ(mmap.device_major, 8u);
    EXPECT_EQ(mmap.device_minor, 1u);
    EXPECT_EQ(mmap.inode, 77u);
    EXPECT_EQ(mmap.path, "/lib/a b.so");
  }
}

TEST(ProcessNewsTest, ExecForkExitAndLost) {
  Record comm = News(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
                     Record().Add(uint32_t{5}).Add(uint32_t{6}).AddText("cc1plus", 8));
  const auto comm_event = ParseProcessNews(comm.bytes());
  const auto& exec = std::get<process::CommEvent>((**comm_event).what);
  EXPECT_TRUE(exec.is_exec);
  EXPECT_EQ(exec.comm, "cc1plus");

  const Record task =
      Record().Add(uint32_t{5}).Add(uint32_t{1}).Add(uint32_t{6}).Add(uint32_t{2}).Add(uint64_t{9});
  Record fork = News(PERF_RECORD_FORK, 0, task);
  const auto fork_event = ParseProcessNews(fork.bytes());
  EXPECT_EQ(std::get<process::ForkEvent>((**fork_event).what).parent_pid, 1u);
  Record exit = News(PERF_RECORD_EXIT, 0, task);
  const auto exit_event = ParseProcessNews(exit.bytes());
  EXPECT_EQ(std::get<process::ExitEvent>((**exit_event).what).tid, 6u);

  Record lost = News(PERF_RECORD_LOST, 0, Record().Add(uint64_t{1}).Add(uint64_t{17}));
  const auto lost_event = ParseProcessNews(lost.bytes());
  EXPECT_EQ(std::get<process::LostEvents>((**lost_event).what).count, 17u);
}

TEST(ProcessNewsTest, TruncatedRecordsAreCorruptAndUnknownKindsPassedOver) {
  const Record task =
      Record().Add(uint32_t{5}).Add(uint32_t{1}).Add(uint32_t{6}).Add(uint32_t{2}).Add(uint64_t{9});
  Record fork = News(PERF_RECORD_FORK, 0, task);
  for (size_t size = 0; size < fork.bytes().size(); ++size) {
    std::vector<std::byte> cut(fork.bytes().begin(),
                               fork.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    if (size >= sizeof(perf_event_header)) {
      reinterpret_cast<perf_event_header*>(cut.data())->size = static_cast<uint16_t>(size);
    }
    const auto event = ParseProcessNews(cut);
    EXPECT_FALSE(event.ok()) << size;
  }
  Record unknown = News(PERF_RECORD_KSYMBOL, 0, Record().Add(uint64_t{1}));
  const auto event = ParseProcessNews(unknown.bytes());
  ASSERT_TRUE(event.ok());
  EXPECT_FALSE(event->has_value());
}

TEST(CpuListTest, RangesAndSingles) {
  EXPECT_EQ(ParseCpuList("0-3,6,8-9\n").value(), (std::vector<int>{0, 1, 2, 3, 6, 8, 9}));
  EXPECT_EQ(ParseCpuList("0\n").value(), std::vector<int>{0});
  for (const char* bad : {"", "\n", "a", "3-1", "0-", "1,x", "0-99999999"}) {
    EXPECT_FALSE(ParseCpuList(bad).ok()) << bad;
  }
}

TEST(TickRateTest, AClockTicksAtMultiplesOfItsPeriod) {
  const TickRate asked = TickRateOf(TickEvent::kCpuClock, 99, 0);
  EXPECT_EQ(asked.period, 10'101'010u);
  EXPECT_EQ(asked.weight_q16, 1u << 16);
  const TickRate quarter = TickRateOf(TickEvent::kCpuClock, 99, 2);
  EXPECT_EQ(quarter.period, 40'404'040u);
  EXPECT_EQ(quarter.weight_q16, 4u << 16);
}

TEST(TickRateTest, CyclesTickAtWholeFrequenciesWithTheWeightOfEach) {
  const TickRate asked = TickRateOf(TickEvent::kCycles, 99, 0);
  EXPECT_EQ(asked.period, 99u);
  EXPECT_EQ(asked.weight_q16, 1u << 16);
  const TickRate quarter = TickRateOf(TickEvent::kCycles, 99, 2);
  EXPECT_EQ(quarter.period, 24u);
  EXPECT_EQ(quarter.weight_q16, 99u * 65536 / 24) << "not 4: 24 Hz are less than a quarter of 99";
}

TEST(TickRateTest, IsNeverSlowerThanOncePerSecond) {
  for (const TickEvent event : {TickEvent::kCpuClock, TickEvent::kCycles}) {
    EXPECT_EQ(TickRateOf(event, 99, 40).period, TickRateOf(event, 99, 6).period);
    EXPECT_EQ(TickRateOf(event, 99, 40).weight_q16, TickRateOf(event, 99, 6).weight_q16);
    EXPECT_EQ(TickRateOf(event, 1, 5).weight_q16, 1u << 16);
  }
}

TEST(KernelBook, ATickUnderWayIsNotReceivedYetAndAMissingOneStaysMissing) {
  abi_counter_page page{};
  page.value[ABI_COUNTER_kept] = 90;
  page.value[ABI_COUNTER_excluded_idle] = 7;
  page.value[ABI_COUNTER_dropped_ring_full] = 2;
  page.value[ABI_COUNTER_signal_frames] = 50;
  for (const auto& [received, is_told] :
       {std::pair{99, 99}, {100, 99}, {101, 99}, {98, 99}, {102, 102}, {90, 90}}) {
    page.value[ABI_COUNTER_received] = static_cast<uint64_t>(received);
    LeaveOutUndecided(page);
    EXPECT_EQ(page.value[ABI_COUNTER_received], static_cast<uint64_t>(is_told)) << received;
  }
}

}  // namespace
}  // namespace vesta::agent::source
