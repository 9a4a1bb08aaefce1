// JFR files made byte by byte; real ones are compared with the JDK's own tool in test/e2e.
#include <gtest/gtest.h>

#include <string>

#include "src/wire/folded_encoder.h"
#include "src/wire/jfr_decoder.h"
#include "src/wire/jfr_file_for_test.h"

namespace vesta::wire {
namespace {

using base::ErrorCode;
using jfr_for_test::BigEndian;
using jfr_for_test::Checkpoint;
using jfr_for_test::Chunk;
using jfr_for_test::Element;
using jfr_for_test::Event;
using jfr_for_test::Field;
using jfr_for_test::Metadata;
using jfr_for_test::Number;
using jfr_for_test::Numbers;
using jfr_for_test::Text;
using jfr_for_test::Type;
using profile::Profile;

enum TypeId {
  kBoolean = 4,
  kInt = 8,
  kLong = 9,
  kFloat = 10,
  kString = 20,
  kSymbol = 21,
  kClass = 22,
  kMethod = 23,
  kFrameType = 24,
  kFrame = 25,
  kStackTrace = 26,
  kThread = 27,
  kState = 28,
  kSetting = 100,
  kExecution = 101,
  kNative = 102,
  kWall = 103,
  kAllocation = 104,
  kTlab = 105,
  kMonitor = 106,
  kStatistics = 107,
};

std::vector<Element> Types() {
  const Element start = Field("startTime", kLong);
  const Element thread = Field("eventThread", kThread, "constantPool");
  const Element sampled = Field("sampledThread", kThread, "constantPool");
  const Element stack = Field("stackTrace", kStackTrace, "constantPool");
  const Element state = Field("state", kState, "constantPool");
  return {
      Type("boolean", kBoolean),
      Type("int", kInt),
      Type("long", kLong),
      Type("float", kFloat),
      Type("java.lang.String", kString),
      Type("jdk.types.Symbol", kSymbol, {Field("string", kString)}),
      Type("java.lang.Class", kClass, {Field("name", kSymbol, "constantPool")}),
      Type("jdk.types.Method", kMethod,
           {Field("type", kClass, "constantPool"), Field("name", kSymbol, "constantPool"),
            Field("descriptor", kSymbol, "constantPool"), Field("hidden", kBoolean)}),
      Type("jdk.types.FrameType", kFrameType, {Field("description", kString)}),
      Type("jdk.types.StackFrame", kFrame,
           {Field("method", kMethod, "constantPool"), Field("lineNumber", kInt),
            Field("type", kFrameType, "constantPool")}),
      Type("jdk.types.StackTrace", kStackTrace,
           {Field("truncated", kBoolean), Field("frames", kFrame, "dimension")}),
      Type("java.lang.Thread", kThread,
           {Field("osName", kString), Field("osThreadId", kLong), Field("javaName", kString)}),
      Type("jdk.types.ThreadState", kState, {Field("name", kString)}),
      Type("jdk.ActiveSetting", kSetting,
           {start, Field("id", kLong), Field("name", kString), Field("value", kString)}),
      Type("jdk.ExecutionSample", kExecution, {start, sampled, stack, state}),
      Type("jdk.NativeMethodSample", kNative, {start, sampled, stack, state}),
      Type("profiler.WallClockSample", kWall,
           {start, sampled, stack, state, Field("samples", kInt), Field("timeSpan", kLong)}),
      Type("jdk.ObjectAllocationSample", kAllocation,
           {start, thread, stack, Field("objectClass", kClass, "constantPool"),
            Field("weight", kLong)}),
      Type("jdk.ObjectAllocationInNewTLAB", kTlab,
           {start, thread, stack, Field("allocationSize", kLong), Field("tlabSize", kLong)}),
      Type("jdk.JavaMonitorEnter", kMonitor, {start, Field("duration", kLong), thread, stack}),
      Type("jdk.Statistics", kStatistics,
           {start, Field("load", kFloat), Field("names", kString, "dimension")}),
  };
}

// Method 31 = pkg.Work.spin, 32 = pkg.Work$$Lambda$8.run (hidden), 33 = a name of the string pool.
std::string Constants() {
  return Checkpoint(
      4, Numbers({kSymbol, 5, 11}) + Text("pkg/Work") + Number(12) + Text("spin") + Number(13) +
             Text("(I)J") + Number(14) + Text("pkg/Work$$Lambda$8+0x00007f.1") + Number(15) +
             std::string("\2", 1) + Number(77) + Numbers({kClass, 2, 21, 11, 22, 14}) +
             Numbers({kMethod, 3, 31, 21, 12, 13}) + '\0' + Numbers({32, 22, 15, 13}) + '\1' +
             Numbers({33, 21, 15, 0}) + '\0' + Numbers({kString, 1, 77}) + "\5" + Number(4) +
             "r\xfcn!");
}

// Frame types 1 = JIT compiled, 2 = Inlined, 3 = Kernel; stack 41: spin inlined into run, at 42
// spin under the kernel, truncated.
std::string Stacks() {
  return Checkpoint(
      4, Numbers({kFrameType, 3, 1}) + Text("JIT compiled") + Number(2) + Text("Inlined") +
             Number(3) + Text("Kernel") + Numbers({kStackTrace, 2, 41}) + '\0' +
             Numbers({3, 31, 7, 2, 32, 0xffffffff, 1, 33, 9, 1}) + Number(42) + '\1' +
             Numbers({2, 99, 0, 3, 31, 8, 1}) + Numbers({kThread, 2, 51}) + Text("os one") +
             Number(5001) + Text("worker one") + Number(52) + Text("os two") + Number(5002) + '\0' +
             Numbers({kState, 1, 61}) + Text("STATE_RUNNABLE"));
}

std::string Setting(std::string_view value) {
  return Event(kSetting, Numbers({1, kExecution}) + Text("period") + Text(value)) +
         Event(kSetting, Numbers({1, kExecution}) + Text("threshold") + Text("5 ms"));
}

std::string Execution(uint64_t stack, uint64_t thread) {
  return Event(kExecution, Numbers({1, thread, stack, 61}));
}

std::string FileOf(const std::string& events) {
  return Chunk(events + Constants() + Stacks(), Metadata(Types()));
}

std::string SmallFile() { return FileOf(Execution(41, 51) + Setting("20 ms") + Execution(42, 52)); }

// Sample types and their sums: "samples/count=2 cpu/nanoseconds=40000000".
std::string Sums(const Profile& profile) {
  std::string text;
  for (size_t type = 0; type < profile.sample_types().size(); ++type) {
    int64_t sum = 0;
    for (size_t i = 0; i < profile.sample_count(); ++i) sum += profile.sample_values(i)[type];
    const auto& row = profile.sample_types()[type];
    text += std::string(text.empty() ? "" : " ") + std::string(profile.String(row.type)) + "/" +
            std::string(profile.String(row.unit)) + "=" + std::to_string(sum);
  }
  return text;
}

TEST(JfrTest, NamesStacksThreadsAndTheTimeOfASample) {
  const auto profile = DecodeJfr(SmallFile());
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_TRUE(profile->Validate().ok());
  EXPECT_EQ(Sums(*profile), "samples/count=2 cpu/nanoseconds=40000000");
  EXPECT_EQ(profile->header().period, 20'000'000);
  EXPECT_EQ(profile->header().time_unix_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(profile->header().duration_ns, 2'000'000'000);
  EXPECT_EQ(EncodeFolded(*profile, {.first_frame_labels = {"thread"}}),
            "worker one;pkg.Work.r\xc3\xbcn!;pkg.Work$$Lambda$8.r\xc3\xbcn!;pkg.Work.spin 1\n"
            "os two;pkg.Work.spin;[unknown]_[k] 1\n");
  const auto stack = profile->stack(profile->sample_stack(0));
  ASSERT_EQ(stack.size(), 2u);
  const auto lines = profile->location(stack[0]).lines;
  ASSERT_EQ(lines.size(), 2u);  // inlined
  EXPECT_EQ(lines[0].line, 7);
  EXPECT_EQ(lines[1].line, 0);  // -1 in the file
  EXPECT_EQ(profile->String(profile->function(lines[0].function).system_name), "pkg.Work.spin(I)J");
  std::string labels;
  for (const auto& label : profile->labels(profile->sample_labels(1)))
    labels += std::string(profile->String(label.key)) + "=" +
              std::string(profile->String(label.text)) + std::to_string(label.number) + " ";
  EXPECT_EQ(labels, "thread=os two0 tid=5002 thread_state=STATE_RUNNABLE0 incomplete=truncated0 ");
}

TEST(JfrTest, EachKindOfEventIsASampleType) {
  const auto profile = DecodeJfr(FileOf(
      Execution(41, 51) + Event(kNative, Numbers({1, 51, 41, 61})) +
      Event(kWall, Numbers({1, 51, 41, 61, 3, 50})) +
      Event(kAllocation, Numbers({1, 51, 41, 21, 700})) +
      Event(kAllocation, Numbers({1, 51, 42, 21, 7})) +
      Event(kTlab, Numbers({1, 51, 41, 8, 9000})) + Event(kMonitor, Numbers({1, 25, 51, 41})) +
      Event(kStatistics, Number(1) + "abcd" + Number(1) + Text("x"))));
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(Sums(*profile),
            "samples/count=1 native_samples/count=1 wall_samples/count=3 wall/nanoseconds=50000 "
            "alloc_space/bytes=707 contentions/count=1 delay/nanoseconds=25000");
  EXPECT_EQ(profile->DefaultSampleTypeIndex(), 0u);
  const auto tlab = DecodeJfr(FileOf(Event(kTlab, Numbers({1, 51, 41, 8, 9000}))));
  ASSERT_TRUE(tlab.ok());
  EXPECT_EQ(Sums(*tlab), "alloc_space/bytes=9000");
  const auto nothing = DecodeJfr(FileOf(""));
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(Sums(*nothing), "samples/count=0");
}

TEST(JfrTest, TimeIsLeftOutWhereOneSampleHasNone) {
  const auto two = DecodeJfr(FileOf(Execution(41, 51) + Setting("10 ms")) +
                             FileOf(Execution(41, 51) + Setting("20 ms")));
  ASSERT_TRUE(two.ok()) << two.error().message();
  EXPECT_EQ(Sums(*two), "samples/count=2 cpu/nanoseconds=30000000");
  EXPECT_EQ(two->header().period, 0);
  EXPECT_EQ(two->header().duration_ns, 4'000'000'000);
  EXPECT_EQ(two->sample_count(), 1u);  // numbers of the chunks differ, what they mean does not
  for (const std::string_view value : {"everyChunk", "", "5 parsecs", "9999999999999999 s"}) {
    const auto unknown = DecodeJfr(SmallFile() + FileOf(Execution(41, 51) + Setting(value)));
    ASSERT_TRUE(unknown.ok());
    EXPECT_EQ(Sums(*unknown), "samples/count=3") << value;
  }
}

TEST(JfrTest, SamplesOfAnotherEventThanTheCpuAreOnlyCounted) {
  const auto with_event = [](std::string_view event) {
    const auto profile = DecodeJfr(
        FileOf(Execution(41, 51) + Event(kSetting, Numbers({1, 1}) + Text("event") + Text(event)) +
               Event(kSetting, Numbers({1, kExecution}) + Text("interval") + Text("10000000"))));
    EXPECT_TRUE(profile.ok());
    return profile.ok() ? Sums(*profile) : "";
  };
  EXPECT_EQ(with_event("cpu"), "samples/count=1 cpu/nanoseconds=10000000");
  EXPECT_EQ(with_event("cache-misses"), "samples/count=1");
}

// The error of bytes that are wrong.
void ExpectError(const std::string& bytes, ErrorCode code, std::string_view wanted) {
  const auto profile = DecodeJfr(bytes);
  ASSERT_FALSE(profile.ok()) << wanted;
  EXPECT_EQ(profile.error().code(), code) << profile.error().message();
  EXPECT_NE(profile.error().message().find(wanted), std::string::npos) << profile.error().message();
}

TEST(JfrTest, UnfinishedAndOtherFilesAreRefusedWithTheReason) {
  std::string file = SmallFile();
  file.replace(8, 8, BigEndian(0, 8));
  ExpectError(SmallFile() + file, ErrorCode::kUnavailable, "chunk 2: its JVM is still writing it");
  file = SmallFile();
  file[5] = '\1';
  ExpectError(file, ErrorCode::kUnsupported, "chunk 1: it is of version 1");
  file = SmallFile();
  file[67] = '\0';
  ExpectError(file, ErrorCode::kUnsupported, "integers are not compressed");
  ExpectError("", ErrorCode::kCorrupt, "does not start with FLR");
  ExpectError(SmallFile() + "x", ErrorCode::kCorrupt, "chunk 2: it does not start with FLR");
  file = SmallFile();
  file.replace(24, 8, BigEndian(file.size(), 8));
  ExpectError(file, ErrorCode::kCorrupt, "its metadata is behind its end");
  ExpectError(FileOf(Event(999, "")), ErrorCode::kCorrupt,
              "an event of an unknown type at byte 68");
  ExpectError(FileOf(std::string(4, '\0')), ErrorCode::kCorrupt, "impossible size at byte 68");
  ExpectError(FileOf(Event(kExecution, Numbers({1, 51}))), ErrorCode::kCorrupt,
              "jdk.ExecutionSample ends early");
  ExpectError(FileOf(Checkpoint(1, Numbers({kSymbol, 2, 1}) + Text("x"))), ErrorCode::kCorrupt,
              "a checkpoint that ends early at byte 68");
  ExpectError(FileOf(Checkpoint(1, Numbers({999, 2, 1}))), ErrorCode::kCorrupt,
              "a checkpoint of an unknown type");
  ExpectError(Chunk("", Metadata({Type("a", 30, {Field("b", 31)})})), ErrorCode::kCorrupt,
              "a field of a has an unknown type");
  ExpectError(Chunk("", Metadata({Type("a", 30), Type("b", 30)})), ErrorCode::kCorrupt,
              "two types have the id 30");
}

TEST(JfrTest, EveryCutFileIsRefused) {
  const std::string file = SmallFile();
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(DecodeJfr(file.substr(0, length)).ok()) << length;
}

TEST(JfrTest, EveryChangedByteIsReadOrRefused) {
  const std::string file = SmallFile();
  for (size_t i = 0; i < file.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ change);
      const auto profile = DecodeJfr(changed);
      if (profile.ok()) {
        EXPECT_TRUE(profile->Validate().ok()) << i;
      }
    }
  }
}

// Types that hold each other cost no bytes per level, and neither do arrays of empty ones.
TEST(JfrTest, TypesWithoutEndAreRefused) {
  ExpectError(
      Chunk(Checkpoint(1, Numbers({30, 1, 1})), Metadata({Type("a", 30, {Field("x", 30)})})),
      ErrorCode::kCorrupt, "a checkpoint that ends early");
  std::vector<Element> types = {Type("a0", 30)};
  for (int i = 1; i < 12; ++i)
    types.push_back(
        Type("a" + std::to_string(i), 30 + i, std::vector<Element>(10, Field("x", 29 + i))));
  ExpectError(Chunk(Checkpoint(1, Numbers({41, 1, 1})), Metadata(types)), ErrorCode::kCorrupt,
              "a checkpoint that ends early");
  types = Types();
  for (Element& type : types) {
    if (type.attributes[0].second == "jdk.types.StackFrame") type.children.clear();
  }
  // Each trace claims as many frames as bytes are left.
  std::string traces;
  constexpr uint64_t kTraces = 20'000;
  for (uint64_t i = 0; i < kTraces; ++i) traces += Number(i) + '\0' + Number(3 * (kTraces - i - 1));
  ExpectError(Chunk(Checkpoint(1, Numbers({kStackTrace, kTraces}) + traces), Metadata(types)),
              ErrorCode::kCorrupt, "a checkpoint that ends early");
}

}  // namespace
}  // namespace vesta::wire
