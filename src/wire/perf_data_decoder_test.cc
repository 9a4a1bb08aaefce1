#include "src/wire/perf_data_decoder.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <string>

#include "src/wire/folded_encoder.h"
#include "src/wire/perf_file_for_test.h"

namespace vesta::wire {
namespace {

using base::ErrorCode;
using base::Result;
using profile::Profile;

constexpr uint64_t kKernelMark = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
constexpr uint64_t kUserMark = static_cast<uint64_t>(PERF_CONTEXT_USER);
constexpr uint32_t kReadAndExecute = 5;

// Without registers and stacks.
PerfFileForTest ChainFile() {
  PerfFileForTest file;
  file.sample_type &= ~uint64_t{PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER};
  return file;
}

Result<Profile> Decode(const PerfFileForTest& file) {
  const auto bytes = file.Bytes();
  return DecodePerfData({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Folded lines; each frame is the binary and the offset in its file.
std::string Folded(const PerfFileForTest& file) {
  const auto profile = Decode(file);
  EXPECT_TRUE(profile.ok()) << profile.error().message();
  if (!profile.ok()) return "";
  EXPECT_TRUE(profile->Validate().ok());
  return EncodeFolded(*profile, {.kernel_suffix = false});
}

TEST(PerfDataDecoderTest, OnlyReturnAddressesAreMovedIntoTheirCall) {
  PerfFileForTest file = ChainFile();
  file.AddMapping(0xffffffff, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
                  "[kernel.kallsyms]_text", kReadAndExecute);
  file.AddComm(7, 7, "server", true);
  file.AddMapping(7, 0x400000, 0x1000, 0x2000, "/bin/x", kReadAndExecute);
  file.AddMapping(7, 0x500000, 0x1000, 0, "/lib/y (deleted)", kReadAndExecute);
  file.AddComm(7, 8, "worker", false);
  file.time_ns = 1100;
  file.AddChainSample(7, 8, PERF_RECORD_MISC_KERNEL, 10,
                      {kKernelMark, 0xffffffff81000010, 0xffffffff81000020, kUserMark, 0x500030,
                       0x400040, 0x600050});
  EXPECT_EQ(Folded(file),
            "server;0x60004f;x+0x203f;y+0x30;[kernel]+0xffffffff8100001f;"
            "[kernel]+0xffffffff81000010 1\n");
  const auto profile = Decode(file);
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->header().period, 10);
  EXPECT_TRUE(IsOfPerfData(*profile));
  EXPECT_FALSE(IsOfPerfData(Profile()));
  std::string labels;
  for (const auto& label : profile->labels(profile->sample_labels(0)))
    labels += std::string(profile->String(label.key)) + "=" +
              std::string(profile->String(label.text)) + std::to_string(label.number) + " ";
  EXPECT_EQ(labels, "process=server0 thread=worker0 pid=7 tid=8 ");
  const auto stack = profile->stack(profile->sample_stack(0));
  EXPECT_TRUE(profile->location(stack[0]).lines.empty());
  EXPECT_EQ(profile->String(profile->mapping(profile->location(stack[2]).mapping).path), "/lib/y");
}

TEST(PerfDataDecoderTest, EventsAndBuildIdsComeFromTheListsBehindTheRecords) {
  PerfFileForTest file = ChainFile();
  file.AddMapping(7, 0x400000, 0x1000, 0x2000, "/bin/x", kReadAndExecute);
  file.AddMapping(7, 0x500000, 0x1000, 0, "/lib/y", kReadAndExecute);
  file.AddChainSample(7, 7, PERF_RECORD_MISC_USER, 4, {kUserMark, 0x400000, 0x500001});
  file.time_ns += 5000;
  file.AddChainSample(7, 7, PERF_RECORD_MISC_USER, 6, {kUserMark, 0x400000, 0x500001});
  const auto plain = Decode(file);
  ASSERT_TRUE(plain.ok()) << plain.error().message();
  EXPECT_EQ(plain->String(plain->sample_types()[1].type), "cycles");
  file.AddBuildId("/bin/x", 0xab);
  file.AddBuildId("[kernel.kallsyms]", 1);
  file.SetEventName("task-clock:u");
  const auto profile = Decode(file);
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  ASSERT_EQ(profile->sample_types().size(), 2u);
  EXPECT_EQ(profile->String(profile->sample_types()[1].type), "task-clock:u");
  EXPECT_EQ(profile->String(profile->sample_types()[1].unit), "nanoseconds");
  EXPECT_EQ(profile->header().period, 0);
  EXPECT_EQ(profile->header().duration_ns, 5000);
  ASSERT_EQ(profile->sample_count(), 1u);
  EXPECT_EQ(profile->sample_values(0)[0], 2);
  EXPECT_EQ(profile->sample_values(0)[1], 10);
  ASSERT_EQ(profile->mapping_count(), 2u);
  EXPECT_EQ(profile->String(profile->mapping(profile::MappingId{0}).build_id),
            "ab00000000000000000000000000000000000000");
  EXPECT_EQ(profile->String(profile->mapping(profile::MappingId{1}).build_id), "");
}

TEST(PerfDataDecoderTest, AnAddressIsLookedUpInWhatWasMappedThen) {
  PerfFileForTest file = ChainFile();
  const auto sample = [&](uint32_t pid, uint64_t address) {
    file.AddChainSample(pid, pid, PERF_RECORD_MISC_USER, 1, {kUserMark, address});
    ++file.time_ns;
  };
  const auto map = [&](uint32_t pid, uint64_t start, uint64_t size, std::string_view path) {
    file.AddMapping(pid, start, size, 0, path, kReadAndExecute);
    ++file.time_ns;
  };
  map(7, 0x400000, 0x3000, "/old");
  sample(7, 0x401000);
  file.AddFork(9, 7);
  map(7, 0x401000, 0x1000, "/new");  // the child keeps the old one
  sample(7, 0x401001);
  sample(7, 0x400002);  // what is left in front
  sample(7, 0x402003);  // and behind
  sample(9, 0x401004);
  file.AddComm(9, 9, "other", true);
  ++file.time_ns;
  sample(9, 0x401005);
  EXPECT_EQ(Folded(file),
            "old+0x1000 1\nnew+0x1 1\nold+0x2 1\nold+0x2003 1\nold+0x1004 1\nother;0x401005 1\n");
}

TEST(PerfDataDecoderTest, ASampleWithoutACallChainHasOneFrame) {
  PerfFileForTest file = ChainFile();
  file.AddMapping(7, 0x401000, 0x1000, 0, "/bin/x", kReadAndExecute);
  file.AddChainSample(7, 7, PERF_RECORD_MISC_USER, 1, {});
  EXPECT_EQ(Folded(file), "x+0x234 1\n");
}

TEST(PerfDataDecoderTest, CopiedStacksAreLeftToPerf) {
  PerfFileForTest file;
  file.AddSample(7, 8, {0x11});
  const auto profile = Decode(file);
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(profile.error().message().find("perf script -i FILE | vesta convert"),
            std::string::npos);
}

TEST(PerfDataDecoderTest, EveryCutFileIsRefusedEveryChangedOneReadOrRefused) {
  PerfFileForTest file = ChainFile();
  file.AddMapping(7, 0x400000, 0x1000, 0x2000, "/bin/x", kReadAndExecute);
  file.AddFork(9, 7);
  file.AddChainSample(7, 7, PERF_RECORD_MISC_USER, 4, {kUserMark, 0x400000, 0x500001});
  file.AddBuildId("/bin/x", 0xab);
  file.SetEventName("cpu-clock");
  const auto bytes = file.Bytes();
  const std::string good(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ASSERT_TRUE(DecodePerfData(good).ok());
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(DecodePerfData(std::string_view(good).substr(0, length)).ok()) << length;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ change);
      const auto profile = DecodePerfData(changed);
      if (profile.ok()) {
        EXPECT_TRUE(profile->Validate().ok()) << i;
      }
    }
  }
}

}  // namespace
}  // namespace vesta::wire
