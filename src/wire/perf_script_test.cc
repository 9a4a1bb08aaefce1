// Headers, frames and whole texts of `perf script`.
#include <gtest/gtest.h>

#include <string>

#include "src/wire/folded_encoder.h"
#include "src/wire/perf_script_decoder.h"
#include "src/wire/perf_script_lines.h"

namespace vesta::wire {
namespace {

using base::ErrorCode;
using profile::Profile;

// "comm|pid/tid|time|period|event|rest", "-" for what is absent.
std::string Describe(std::string_view line, bool needs_time) {
  const auto header = ParsePerfScriptHeader(line, needs_time);
  if (!header.has_value()) return "none";
  const auto number = [](const std::optional<int64_t>& value) {
    return value.has_value() ? std::to_string(*value) : std::string("-");
  };
  const size_t rest = std::min(header->rest.find_first_not_of(' '), header->rest.size());
  return std::string(header->comm) + "|" + number(header->pid) + "/" + number(header->tid) + "|" +
         number(header->time_ns) + "|" + number(header->period) + "|" + std::string(header->event) +
         "|" + std::string(header->rest.substr(rest));
}

struct HeaderCase {
  std::string_view line;
  std::string_view wanted;
};

class PerfScriptHeaderTest : public testing::TestWithParam<HeaderCase> {};

TEST_P(PerfScriptHeaderTest, FindsTheFields) {
  EXPECT_EQ(Describe(GetParam().line, true), GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, PerfScriptHeaderTest,
    testing::Values(
        HeaderCase{"app 71 2.000003:    1000 cpu-clock: ", "app|-/71|2000003000|1000|cpu-clock|"},
        HeaderCase{"app 70/71 2.000003: cycles:", "app|70/71|2000003000|-|cycles|"},
        HeaderCase{"app    71 [001] 2.000003:  7 cycles:ppp: ",
                   "app|-/71|2000003000|7|cycles:ppp|"},
        HeaderCase{"my thread 12 x 70/71 [001] KH 2.000003004: 7 cycles:u: ",
                   "my thread 12 x|70/71|2000003004|7|cycles:u|"},
        HeaderCase{"1 2 3.5 4 2.000003: 9 cpu-clock:", "1 2 3.5|-/4|2000003000|9|cpu-clock|"},
        HeaderCase{"kworker/0:1-eve 9 [000] 2.000003: 1 page-faults: ",
                   "kworker/0:1-eve|-/9|2000003000|1|page-faults|"},
        HeaderCase{"swapper     0 [000] 2.000003: sched:sched_switch: prev_pid=3 a: b",
                   "swapper|-/0|2000003000|-|sched:sched_switch|prev_pid=3 a: b"},
        HeaderCase{":-1    -1 2.000003: 5 cpu/event=0x3c,umask=0x0/u: ",
                   ":-1|-/-1|2000003000|5|cpu/event=0x3c,umask=0x0/u|"},
        HeaderCase{"    padded 5 2.000003: 6 cpu-clock:u:  55bf leaf+0x17 (/a (b))",
                   "padded|-/5|2000003000|6|cpu-clock:u|55bf leaf+0x17 (/a (b))"},
        HeaderCase{"app 71 2.000003:    1000 ", "app|-/71|2000003000|1000||"},
        HeaderCase{"app 71 2.000003: 7 my event: ", "app|-/71|2000003000|7|my event|"},
        HeaderCase{" 71 2.000003: 7 cycles: ", "|-/71|2000003000|7|cycles|"},
        HeaderCase{"app 71 99999999999999999999.000003: 99999999999999999999 cycles:",
                   "app|-/71|9223372035000003000|9223372036854775807|cycles|"}));

TEST(PerfScriptLineTest, FindsAHeaderWithoutATimeOnlyWhenAsked) {
  EXPECT_EQ(Describe("my app 71/72     7   cycles: ", false), "my app|71/72|-|7|cycles|");
  EXPECT_EQ(Describe("my app 12 x 71/72 [000]  7   cycles: ", false),
            "my app 12 x|71/72|-|7|cycles|");
  EXPECT_EQ(Describe("my app 71/72 cycles:u:", false), "my app|71/72|-|-|cycles:u|");
  EXPECT_EQ(Describe("my app 71/72     7   cycles: ", true), "none");
  for (const std::string_view line :
       {"", "app", "app 71", "app 71 cycles", "app x 2.000003: cycles:", "app 71 7 my event:",
        "\t    11da leaf+0x1a (/tmp/app)", "\t ffffffff81000130 entry ([kernel.kallsyms])"}) {
    EXPECT_EQ(Describe(line, false), "none") << line;
  }
}

std::string DescribeFrame(std::string_view line) {
  const auto frame = ParsePerfScriptFrame(line);
  if (!frame.has_value()) return "none";
  return std::to_string(frame->address) + "|" + std::string(frame->symbol) + "|" +
         std::string(frame->dso) + (frame->is_inlined ? "|inlined" : "");
}

TEST(PerfScriptLineTest, FindsTheFieldsOfFrames) {
  struct Case {
    std::string_view line;
    std::string_view wanted;
  };
  for (const Case& row : std::initializer_list<Case>{
           {"\t    10 leaf+0x1a (/tmp/app)", "16|leaf|/tmp/app"},
           {" 10 leaf+0x1a (/tmp/my app (x))", "16|leaf|/tmp/my app (x)"},
           {" 10 leaf (/tmp/my app (x))", "16|leaf|/tmp/my app (x)"},
           {" 10 leaf+0x1a (/tmp/app (deleted))", "16|leaf|/tmp/app (deleted)"},
           {" 10 f(int (*)(char), long)+0x0 (/a)", "16|f(int (*)(char), long)|/a"},
           {" 10 f(int (*)(char), long) (/a)", "16|f(int (*)(char), long)|/a"},
           {" 10 operator++0x1 (/a)", "16|operator+|/a"},
           {" 10 a+0x1z+0x2 (b)", "16|a+0x1z|b"},
           {" 10 [unknown] (/lib/x.so)", "16||/lib/x.so"},
           {" 10 [unknown] ([unknown])", "16||"},
           {" 10 leaf+0x3 (inlined)", "16|leaf||inlined"},
           {" 10 leaf (inlined)", "16|leaf||inlined"},
           {" ffffffff81000130 entry+0x76 ([kernel.kallsyms])",
            "18446744071578845488|entry|[kernel.kallsyms]"},
           {" 10 g ([guest.kernel.kallsyms])", "16|g|[guest.kernel.kallsyms]"},
           {" 10 leaf+0x3", "16|leaf|"},
           {" 10 leaf", "16|leaf|"},
           {" 10", "16||"},
           {" 10 (/lib/x.so)", "16||/lib/x.so"},
           {" 0 [unknown] ([unknown])", "0||"},
           {" leaf (/a)", "none"},
           {" 10000000000000000 leaf (/a)", "none"},
           {" 10: leaf (/a)", "none"},
           {"", "none"}}) {
    EXPECT_EQ(DescribeFrame(row.line), row.wanted) << row.line;
  }
}

constexpr std::string_view kText =
    "# ========\n"
    "# cmdline : perf record -g ./app\n"
    "#\n"
    "app 70/71 2.000001:          1      page-faults: \n"
    "\tffffffff81000130 do_user_addr_fault+0x28a ([kernel.kallsyms])\n"
    "\t            1130 main+0x10 (/tmp/my app (x))\n"
    "\n"
    "app 70/71 2.000003:    1000        cpu-clock: \n"
    "\t            11da inl+0xa (inlined)\n"
    "\t            11da leaf;x+0x1a (/tmp/my app (x))\n"
    "\t            1130 main+0x10 (/tmp/my app (x))\n"
    "\t           2724a [unknown] (/usr/lib/libc.so.6)\n"
    "\t               0 [unknown] ([unknown])\n"
    "\n"
    "my thread 12 x 70/72 2.000009:    1000        cpu-clock: \n"
    "\t            1130 main+0x10 (/tmp/my app (x) (deleted))\n"
    "\n";

std::string Types(const Profile& profile) {
  std::string text;
  for (const auto& type : profile.sample_types())
    text +=
        std::string(profile.String(type.type)) + "/" + std::string(profile.String(type.unit)) + " ";
  return text;
}

// The folded lines of a text that is right.
std::string Folded(std::string_view text) {
  const auto profile = DecodePerfScript(text);
  EXPECT_TRUE(profile.ok()) << profile.error().message();
  if (!profile.ok()) return "";
  EXPECT_TRUE(profile->Validate().ok());
  return EncodeFolded(*profile, {.kernel_suffix = false});
}

TEST(PerfScriptTest, SeveralEventsBecomeSampleTypesAndTheClockIsCounted) {
  const auto profile = DecodePerfScript(kText);
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(Types(*profile), "samples/count page-faults/count cpu-clock/nanoseconds ");
  EXPECT_EQ(profile->DefaultSampleTypeIndex(), 2u);
  EXPECT_EQ(profile->header().period, 1000);
  EXPECT_EQ(profile->String(profile->header().period_type.type), "cpu-clock");
  EXPECT_EQ(profile->header().duration_ns, 8000);
  ASSERT_EQ(profile->sample_count(), 3u);
  const auto values = [&](size_t i) {
    const auto row = profile->sample_values(i);
    return std::vector<int64_t>(row.begin(), row.end());
  };
  EXPECT_EQ(values(0), (std::vector<int64_t>{0, 1, 0}));
  EXPECT_EQ(values(1), (std::vector<int64_t>{1, 0, 1000}));
  EXPECT_EQ(Folded(kText),
            "app;[unknown];[libc.so.6];main;leaf:x;inl 1\n"
            "my thread 12 x;main 1\n");
}

TEST(PerfScriptTest, KeepsAddressesBinariesAndLabels) {
  const auto profile = DecodePerfScript(kText);
  ASSERT_TRUE(profile.ok());
  const auto stack = profile->stack(profile->sample_stack(1));
  ASSERT_EQ(stack.size(), 4u);
  const profile::Location leaf = profile->location(stack[0]);
  EXPECT_EQ(leaf.address, 0x11dau);
  ASSERT_EQ(leaf.lines.size(), 2u);
  EXPECT_EQ(profile->String(profile->function(leaf.lines[0].function).name), "inl");
  EXPECT_EQ(profile->String(profile->mapping(leaf.mapping).path), "/tmp/my app (x)");
  // A file that was deleted is the same file.
  EXPECT_EQ(profile->stack(profile->sample_stack(2))[0], stack[1]);
  const profile::Location fault = profile->location(profile->stack(profile->sample_stack(0))[0]);
  EXPECT_EQ(profile->String(profile->mapping(fault.mapping).path), profile::kKernelPath);
  const auto labels = profile->labels(profile->sample_labels(2));
  ASSERT_EQ(labels.size(), 3u);
  EXPECT_EQ(profile->String(labels[0].text), "my thread 12 x");
  EXPECT_EQ(profile->String(labels[1].key), "pid");
  EXPECT_EQ(labels[1].number, 70);
  EXPECT_EQ(labels[2].number, 72);
}

TEST(PerfScriptTest, ATextThatEndsWithinALineIsRefused) {
  const auto cut = DecodePerfScript("a 1 1.0: cpu-clock:\n\t10 middle_of_a_na");
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().message(),
            "no output of perf script: line 2 ends without a line break: the text was cut off "
            "there");
}

TEST(PerfScriptTest, WindowsLineEndsAreTheSame) {
  std::string text;
  for (const char c : kText) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(Folded("\xef\xbb\xbf" + text), Folded(kText));
}

TEST(PerfScriptTest, OneFrameMayStandOnTheLineOfTheHeader) {
  EXPECT_EQ(
      Folded("     my app 14581 2.428378:  5 cpu-clock:u:      55bfdceb61d7 leaf+0x17 (/a b)\n"
             "     my app 14581 2.428379:  5 cpu-clock:u:      55bfdceb61da leaf+0x1a (/a b)\n"
             "       dead 14581 2.428380:  5 cpu-clock:u:  ffffffff9aa3c8de [unknown] "
             "([unknown])\n"
             "       dead 14581              cpu-clock:u:  ffffffff9aa3c8de main\n"),
      "my app;leaf 2\ndead;[unknown] 1\ndead;main 1\n");
}

TEST(PerfScriptTest, TextOfATracepointIsNoFrame) {
  EXPECT_EQ(Folded("a 1 [000] 2.000001: sched:sched_switch: prev_comm=a 12 3.000001: x\n"
                   "\t 10 schedule ([kernel.kallsyms])\n"
                   "\n"
                   "a 1 [000] 2.000002: probe:x: (55) arg=1\n"
                   "a 1 [000] 2.000003: probe:x: 55 (arg)\n"),
            "a;schedule 1\n");
}

TEST(PerfScriptTest, LinesOfSourcesBelongToTheFrameAbove) {
  const auto profile = DecodePerfScript(
      "a 1 2.000001: 1 cpu-clock: \n"
      "\t 11e4 inl+0x24\n"
      "  w.c:7 (inlined)\n"
      "\t 11e4 leaf+0x24 (/tmp/a)\n"
      "  w.c:8 (discriminator 3)\n"
      "\t ffffffff8175336a elf_load+0x28a ([kernel.kallsyms])\n"
      "  [kernel.kallsyms][ffffffff8175336a]\n"
      "\t 10f0 _start+0x20 (/tmp/a)\n"
      "  ??:0\n"
      "\n");
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  const auto stack = profile->stack(profile->sample_stack(0));
  ASSERT_EQ(stack.size(), 3u);
  const auto lines = profile->location(stack[0]).lines;
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].line, 7);
  EXPECT_EQ(lines[1].line, 8);
  EXPECT_EQ(profile->String(profile->function(lines[1].function).file), "w.c");
  EXPECT_EQ(profile->location(stack[2]).lines[0].line, 0);
}

// -F leaves out whatever it is told to: what perf 6.12 prints for the fields that are named.
TEST(PerfScriptTest, AnyFieldsMayBeMissing) {
  struct Case {
    std::string_view fields;
    std::string_view header;
    std::string_view wanted;
  };
  for (const Case& row :
       std::initializer_list<Case>{{"comm,pid", "my app 28915 \n", "my app;main;leaf"},
                                   {"comm", "w \n", "w;main;leaf"},
                                   {"none", "\n", "main;leaf"},
                                   {"pid", "28915 \n", "main;leaf"},
                                   {"comm,pid,tid", "w 28915/28916 \n", "w;main;leaf"},
                                   {"comm,pid,period", "w 28915    2004008 \n", "w;main;leaf"},
                                   {"comm,pid,cpu", "w 28915 [003] \n", "w;main;leaf"},
                                   {"time", "29692.170530: \n", "main;leaf"},
                                   {"comm,time", "w 29692.170530: \n", "w;main;leaf"},
                                   {"event", "cpu-clock: \n", "main;leaf"},
                                   {"comm,event", "w cpu-clock: \n", "w;main;leaf"}}) {
    std::string text;
    std::string flat;
    for (int i = 0; i < 2; ++i) {
      text += std::string(row.header) +
              "\t            1145 leaf (/w)\n\t        ffff117b main (/w)\n\n";
      // Without call chains the frame follows in the same line.
      flat += std::string(row.header.substr(0, row.header.size() - 1)) +
              "     ffffcd48f140 leaf (/w)\n";
    }
    EXPECT_EQ(Folded(text), std::string(row.wanted) + " 2\n") << row.fields;
    const size_t main = row.wanted.find("main;");
    EXPECT_EQ(Folded(flat), std::string(row.wanted).erase(main, 5) + " 2\n") << row.fields;
    for (size_t dso = flat.find(" (/w)"); dso != std::string::npos; dso = flat.find(" (/w)"))
      flat.erase(dso, 5);
    EXPECT_EQ(Folded(flat), std::string(row.wanted).erase(main, 5) + " 2\n") << row.fields;
  }
  const auto profile = DecodePerfScript(
      "w 12 \n\t            1145 leaf (/w)\n  w.c:7\n\n"
      "w 12 \n\n");
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(profile->sample_count(), 2u);
  EXPECT_EQ(Folded("w \n\t            1145 leaf\n\tno 0123456789abcdef frame\n"), "w;leaf 1\n");
  EXPECT_EQ(profile->location(profile::LocationId{0}).lines[0].line, 7);
  EXPECT_EQ(profile->String(profile->labels(profile->sample_labels(0))[1].key), "tid");
}

TEST(PerfScriptTest, ClocksWithoutAPeriodCountSamples) {
  const auto profile = DecodePerfScript("a 1 2.000001: cpu-clock:\n\t10 main (/a)\n\n");
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->String(profile->sample_types()[1].type), "cpu-clock");
  EXPECT_EQ(profile->String(profile->sample_types()[1].unit), "count");
}

TEST(PerfScriptTest, EventsOfTheProcessAreNoSamples) {
  EXPECT_EQ(
      Folded("app 1 2.000001: PERF_RECORD_MMAP2 1/1: [0x1000(0x2000) @ 0 fe:00 1 2]: r-xp /a\n"
             " ... more of it\n"
             "\n"
             "app 1 2.000002: 7 cycles: \n"
             "\t 10 main (/a)\n"),
      "app;main 1\n");
}

TEST(PerfScriptTest, NamesTheLineThatIsWrong) {
  struct Case {
    std::string_view text;
    std::string_view wanted;
  };
  for (const Case& row : std::initializer_list<Case>{
           {"hello\n", "line 1 is neither the header of a sample nor a frame"},
           {"a 1 2.000001: cycles:\n\t10 main (/a)\n\nhello world\n", "line 4 is neither"},
           {"\n\t    11da leaf\n", "line 2 is a frame without a header before it"},
           {std::string_view("\xff\xfe"
                             "a\0",
                             4),
            "line 1 is no text"}}) {
    const auto profile = DecodePerfScript(row.text);
    ASSERT_FALSE(profile.ok()) << row.text;
    EXPECT_EQ(profile.error().code(), ErrorCode::kCorrupt);
    EXPECT_NE(profile.error().message().find(row.wanted), std::string::npos)
        << profile.error().message();
  }
}

TEST(PerfScriptTest, TooManyEventsAreRefused) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += "a 1 2.000001: event" + std::to_string(i) + ":\n\n";
  EXPECT_TRUE(DecodePerfScript(text).ok());
  const auto profile = DecodePerfScript(text + "a 1 2.000001: more:\n");
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().code(), ErrorCode::kExhausted);
}

TEST(PerfScriptTest, EveryCutTextIsReadOrRefused) {
  for (size_t length = 0; length <= kText.size(); ++length) {
    const auto profile = DecodePerfScript(kText.substr(0, length));
    if (profile.ok()) {
      EXPECT_TRUE(profile->Validate().ok()) << length;
      EXPECT_LE(profile->sample_count(), 3u);
    } else {
      EXPECT_EQ(profile.error().code(), ErrorCode::kCorrupt) << length;
    }
  }
}

}  // namespace
}  // namespace vesta::wire
