// Small profiles of V8 in each of their forms, and what node itself writes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>

#include "src/wire/cpuprofile_decoder.h"

namespace vesta::wire {
namespace {

using base::ErrorCode;
using profile::Profile;

// "thread=..;root@script:line of the function:line;..." -> values.
using Stacks = std::map<std::string, std::vector<int64_t>>;

Stacks StacksOf(const Profile& profile) {
  Stacks stacks;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    std::string text;
    for (const auto& label : profile.labels(profile.sample_labels(i)))
      text += std::string(profile.String(label.key)) + "=" +
              (label.is_number() ? std::to_string(label.number)
                                 : std::string(profile.String(label.text))) +
              ";";
    const auto stack = profile.stack(profile.sample_stack(i));
    for (size_t j = stack.size(); j-- > 0;) {
      const auto location = profile.location(stack[j]);
      const auto& function = profile.function(location.lines[0].function);
      text += profile.String(function.name);
      if (location.mapping != profile::kNoMapping)
        text += "@" + std::string(profile.String(profile.mapping(location.mapping).path));
      text += ":" + std::to_string(function.start_line) + ":" +
              std::to_string(location.lines[0].line) + ";";
    }
    const auto row = profile.sample_values(i);
    EXPECT_FALSE(stacks.contains(text)) << text;
    stacks[text] = {row.begin(), row.end()};
  }
  return stacks;
}

std::string Node(int id, const std::string& name, const std::string& more = "", int line = 4) {
  return R"({"id":)" + std::to_string(id) + R"(,"callFrame":{"functionName":")" + name +
         R"(","scriptId":"1","url":"file:///srv/)" + (name.empty() ? "anon" : name) +
         R"(.js","lineNumber":)" + std::to_string(line) + R"(,"columnNumber":1})" + more + "}";
}

const std::string kRoot =
    R"j({"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,)j"
    R"j("columnNumber":-1},"hitCount":0,"children":[2]})j";

std::string File(const std::string& nodes, const std::string& rest = "") {
  return "{\"nodes\":[" + kRoot + "," + nodes + "]" + rest + "}";
}

std::string ErrorOf(std::string_view text) {
  const auto profile = DecodeCpuProfile(text);
  return profile.ok() ? "" : profile.error().message();
}

Stacks Decoded(std::string_view text) {
  const auto profile = DecodeCpuProfile(text);
  EXPECT_TRUE(profile.ok()) << profile.error().message();
  return profile.ok() ? StacksOf(*profile) : Stacks{};
}

TEST(CpuProfileTest, ASampleLastsUntilTheNextAndTheLastUntilTheEnd) {
  const auto profile = DecodeCpuProfile(
      File(Node(2, "a", R"(,"children":[3],"hitCount":9)") + "," + Node(3, "b"),
           R"(,"startTime":1000,"endTime":1100,"samples":[2,3,3,2],"timeDeltas":[10,20,5,25.5])"));
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(profile->String(profile->sample_types()[1].type), "wall");
  EXPECT_EQ(profile->header().duration_ns, 100'000);
  EXPECT_EQ(StacksOf(*profile), (Stacks{{"a@/srv/a.js:5:0;", {2, 20'000 + 39'500}},
                                        {"a@/srv/a.js:5:0;b@/srv/b.js:5:0;", {2, 30'500}}}));
}

TEST(CpuProfileTest, SamplesOutOfOrderAreSortedByTime) {
  EXPECT_EQ(
      Decoded(File(Node(2, "a", R"(,"children":[3])") + "," + Node(3, "b"),
                   R"(,"startTime":0,"endTime":40,"samples":[2,3,2],"timeDeltas":[20,-10,20])")),
      (Stacks{{"a@/srv/a.js:5:0;", {2, 20'000}},
              {"a@/srv/a.js:5:0;b@/srv/b.js:5:0;", {1, 10'000}}}));
}

TEST(CpuProfileTest, WithoutEndTheLastSampleLastsTheAverage) {
  EXPECT_EQ(Decoded(File(Node(2, "a"), R"(,"samples":[2,2,2],"timeDeltas":[7,10,20])")),
            (Stacks{{"a@/srv/a.js:5:0;", {3, 45'000}}}));
}

TEST(CpuProfileTest, WithoutSamplesTheHitsCountAndTicksAreLines) {
  const std::string nodes =
      Node(2, "a",
           R"(,"children":[3],"hitCount":5,"positionTicks":[{"line":6,"ticks":3},)"
           R"({"line":9,"ticks":1}])") +
      "," + Node(3, "b", R"(,"hitCount":2)");
  EXPECT_EQ(Decoded(File(nodes)), (Stacks{{"a@/srv/a.js:5:6;", {3}},
                                          {"a@/srv/a.js:5:9;", {1}},
                                          {"a@/srv/a.js:5:0;", {1}},
                                          {"a@/srv/a.js:5:0;b@/srv/b.js:5:0;", {2}}}));
  EXPECT_EQ(Decoded(File(Node(2, "a"), R"(,"samples":[2,2,1])")),
            (Stacks{{"a@/srv/a.js:5:0;", {2}}, {"", {1}}}));
}

TEST(CpuProfileTest, TimesAreSharedAmongLinesWithoutLoss) {
  EXPECT_EQ(
      Decoded(File(Node(2, "a",
                        R"(,"hitCount":3,"positionTicks":[{"line":6,"ticks":1},)"
                        R"({"line":7,"ticks":1},{"line":8,"ticks":1}])"),
                   R"(,"startTime":0,"endTime":0.01,"samples":[2,2,2],"timeDeltas":[0,0,0])")),
      (Stacks{{"a@/srv/a.js:5:6;", {1, 3}},
              {"a@/srv/a.js:5:7;", {1, 3}},
              {"a@/srv/a.js:5:8;", {1, 4}}}));
}

TEST(CpuProfileTest, FunctionsWithoutANameAreKeptApartByTheirPlace) {
  EXPECT_EQ(Decoded(File(Node(2, "", R"(,"hitCount":1,"children":[3])", 3) + "," +
                         Node(3, "", R"(,"hitCount":1)", 8))),
            (Stacks{{"(anonymous) anon.js:4:2@/srv/anon.js:4:0;", {1}},
                    {"(anonymous) anon.js:4:2@/srv/anon.js:4:0;"
                     "(anonymous) anon.js:9:2@/srv/anon.js:9:0;",
                     {1}}}));
}

TEST(CpuProfileTest, TheOldFormHoldsChildrenInsideOfNodes) {
  const std::string text =
      R"({"head":{"children":[{"children":[],"functionName":"a","url":"/a.js","lineNumber":4,)"
      R"("hitCount":1,"id":2},{"functionName":"b","url":"/b.js","lineNumber":7,"id":3,"children":)"
      R"j([{"functionName":"c","url":"","lineNumber":0,"id":4}]}],"functionName":"(root)","url":"",)j"
      R"("lineNumber":0,"id":1},"startTime":5.5,"endTime":6,"samples":[2,4,3],)"
      R"("timestamps":[1000,1500,1700]})";
  EXPECT_EQ(Decoded(text), (Stacks{{"a@/a.js:4:0;", {1, 500'000}},
                                   {"b@/b.js:7:0;c:0:0;", {1, 200'000}},
                                   {"b@/b.js:7:0;", {1, 350'000}}}));
}

TEST(CpuProfileTest, TracesHaveAProfilePerThreadInChunks) {
  const auto event = [](const std::string& name, int tid, const std::string& args) {
    return R"({"name":")" + name + R"(","ph":"P","ts":1,"pid":7,"id":"0x)" + std::to_string(tid) +
           R"(","tid":)" + std::to_string(tid) + R"(,"args":)" + args + "}";
  };
  const std::string events =
      event("thread_name", 1, R"({"name":"Main"})") + "," +
      R"({"name":"other","ph":"X","dur":5},)" +
      event("Profile", 1, R"({"data":{"startTime":100}})") + "," +
      event("Profile", 2, R"({"data":{"startTime":100}})") + "," +
      event("ProfileChunk", 1,
            R"({"data":{"cpuProfile":{"nodes":[)" + kRoot.substr(0, kRoot.find(",\"children")) +
                "}," + Node(2, "a", R"(,"parent":1)") + R"(],"samples":[2]},"timeDeltas":[10]}})") +
      "," +
      event("ProfileChunk", 2,
            R"({"data":{"cpuProfile":{"nodes":[)" + Node(5, "z") +
                R"(],"samples":[5]},"timeDeltas":[10],"endTime":120}})") +
      "," +
      event(
          "ProfileChunk", 1,
          R"({"data":{"timeDeltas":[30,10],"endTime":200,"cpuProfile":{"samples":[3,2],"nodes":[)" +
              Node(3, "b", R"(,"parent":2)") + "]}}}");
  const Stacks expected = {
      {"thread=Main;pid=7;tid=1;a@/srv/a.js:5:0;", {2, 30'000 + 50'000}},
      {"thread=Main;pid=7;tid=1;a@/srv/a.js:5:0;b@/srv/b.js:5:0;", {1, 10'000}},
      {"pid=7;tid=2;z@/srv/z.js:5:0;", {1, 10'000}}};
  EXPECT_EQ(Decoded("{\"traceEvents\":[" + events + "],\"metadata\":{}}"), expected);
  EXPECT_EQ(Decoded("[" + events + "]"), expected);
  EXPECT_EQ(Decoded("[" + events), expected) << "a trace without its bracket";
  EXPECT_EQ(Decoded("[" + events + ",\n"), expected);
  EXPECT_EQ(ErrorOf("[" + events.substr(0, events.size() - 4)).substr(0, 1), "[");
  const auto none = DecodeCpuProfile(R"([{"name":"x","args":{}}])");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), ErrorCode::kUnsupported);
}

TEST(CpuProfileTest, ErrorsNameTheFieldOrTheNode) {
  const std::string a = Node(2, "a");
  const std::pair<std::string, std::string> cases[] = {
      {File(a + "," + Node(2, "b")), "nodes[2].id is the id of two nodes (byte "},
      {File(Node(2, "a", R"(,"children":[9])")),
       "no V8 CPU profile: nodes[1] has the child 9, which is no node"},
      {File(Node(2, "a", R"(,"parent":9)")),
       "no V8 CPU profile: nodes[1] has the parent 9, which is no node"},
      {File(Node(2, "a", R"(,"children":[1])")), "no V8 CPU profile: nodes[0] is its own ancestor"},
      {File(Node(2, "a", R"(,"children":[3])") + "," + Node(3, "b", R"(,"children":[2])")),
       "no V8 CPU profile: nodes[1] has two parents"},
      {File(Node(2, "a", R"(,"children":[2])")), "no V8 CPU profile: nodes[1] has two parents"},
      {File(a, R"(,"samples":[2,5],"timeDeltas":[1,1])"),
       "samples[1] is 5, which is the id of no node (byte "},
      {File(a, R"(,"samples":[2,-5],"timeDeltas":[1,1])"), "samples[1] is negative (byte "},
      {File(a, R"(,"samples":[2],"timeDeltas":[1,1])"),
       "no V8 CPU profile: samples and timeDeltas differ in length"},
      {File(a, R"(,"samples":[2],"timeDeltas":[NaN])"), "timeDeltas[0] is no valid JSON"},
      {File(a, R"(,"samples":[2],"timeDeltas":[1e18])"),
       "timeDeltas[0] is beyond 63 bits in nanoseconds"},
      {File(a, R"(,"startTime":9e15,"samples":[2],"timeDeltas":[9e15])"),
       "timeDeltas[0] makes the time go beyond 63 bits"},
      {File(a, R"(,"samples":[],"samples":[])"), "samples is there twice"},
      {File(Node(2, "a", R"(,"hitCount":-1)")), "nodes[1].hitCount is negative (byte "},
      {File(R"({"id":2})"), "nodes[1] lacks callFrame and functionName (byte "},
      {R"({"samples":[]})", "no V8 CPU profile: it has neither nodes nor head"},
      {R"({"head":[]})", "head is no object"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(ErrorOf(text).substr(0, message.size()), message) << ErrorOf(text);
  }
}

TEST(CpuProfileTest, EveryTruncationIsRefused) {
  const std::string whole =
      File(Node(2, "a", R"(,"children":[3],"positionTicks":[{"line":6,"ticks":3}])") + "," +
               Node(3, "b"),
           R"(,"startTime":1000,"endTime":1100,"samples":[2,3],"timeDeltas":[10,20])");
  ASSERT_EQ(ErrorOf(whole), "");
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto profile = DecodeCpuProfile(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(profile.ok()) << size;
    EXPECT_EQ(profile.error().code(), ErrorCode::kCorrupt) << size;
  }
}

TEST(CpuProfileTest, DepthNeedsNoStackAndIsBounded) {
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += R"({"functionName":"f","children":[)";
  const auto deep = DecodeCpuProfile("{\"head\":" + nested);
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.error().code(), ErrorCode::kExhausted) << deep.error().message();
  // A chain of nodes by id, each with a hit: n * n / 2 frames.
  std::string chain = Node(2, "a");
  for (int i = 3; i < 20'000; ++i) {
    chain += R"(,{"id":)" + std::to_string(i) + R"(,"parent":)" + std::to_string(i - 1) +
             R"(,"callFrame":{"functionName":"f"},"hitCount":1})";
  }
  const auto wide = DecodeCpuProfile(File(chain));
  ASSERT_FALSE(wide.ok());
  EXPECT_EQ(wide.error().code(), ErrorCode::kExhausted) << wide.error().message();
  // A deep leaf with many lines: as many stacks.
  std::string lines;
  for (int i = 0; i < 20'000; ++i) lines += R"(,{"line":)" + std::to_string(i) + R"(,"ticks":1})";
  size_t hit = 0;
  while ((hit = chain.find(R"("hitCount":1)", hit)) != std::string::npos) chain[hit + 11] = '0';
  const auto wide_leaf = DecodeCpuProfile(
      File(chain +
           R"(,{"id":20000,"parent":19999,"callFrame":{"functionName":"f"},"hitCount":1,)"
           R"("positionTicks":[)" +
           lines.substr(1) + "]}"));
  ASSERT_FALSE(wide_leaf.ok());
  EXPECT_EQ(wide_leaf.error().code(), ErrorCode::kExhausted) << wide_leaf.error().message();
}

// Runs a command and returns what it prints.
std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string output;
  std::array<char, 4096> buffer;
  while (const size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    output.append(buffer.data(), size);
  return output;
}

TEST(CpuProfileTest, NodesOwnFileHasTheSelfTimesThatItsJsonAddsUpTo) {
  if (OutputOf("node --version 2>/dev/null; python3 --version 2>/dev/null").find("Python") ==
          std::string::npos ||
      OutputOf("node --version 2>/dev/null").empty())
    GTEST_SKIP() << "needs node and python3";
  std::string folder = (std::filesystem::temp_directory_path() / "vesta_node_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string program =
      "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
      "const end = Date.now() + 150; while (Date.now() < end) fib(18);\n";
  OutputOf("cd " + folder + " && echo '" + program +
           "' > p.js && node --cpu-prof --cpu-prof-name=p.cpuprofile p.js");
  const std::string sums = R"py(
import collections, json, sys
p = json.load(open(sys.argv[1]))
names = {n["id"]: n["callFrame"]["functionName"] for n in p["nodes"]}
time, times = p["startTime"], []
for d in p["timeDeltas"]:
    time += d
    times.append(time)
count, total = collections.Counter(), collections.Counter()
order = sorted(range(len(times)), key=lambda i: times[i])
for a, b in zip(order, order[1:] + [None]):
    end = times[b] if b is not None else max(p["endTime"], times[a])
    count[names[p["samples"][a]]] += 1
    total[names[p["samples"][a]]] += end - times[a]
for name in sorted(count):
    if name not in ("", "(root)"):
        print(name, count[name], total[name] * 1000)
)py";
  const std::string expected = OutputOf("python3 -c '" + sums + "' " + folder + "/p.cpuprofile");
  const std::string file = OutputOf("cat " + folder + "/p.cpuprofile");
  std::filesystem::remove_all(folder);
  const auto profile = DecodeCpuProfile(file);
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  std::map<std::string, std::pair<int64_t, int64_t>> self;
  for (size_t i = 0; i < profile->sample_count(); ++i) {
    const auto stack = profile->stack(profile->sample_stack(i));
    if (stack.empty()) continue;
    const auto location = profile->location(stack[0]);
    const auto name = profile->String(profile->function(location.lines[0].function).name);
    if (name.starts_with("(anonymous)")) continue;
    self[std::string(name)].first += profile->sample_values(i)[0];
    self[std::string(name)].second += profile->sample_values(i)[1];
  }
  std::string ours;
  for (const auto& [name, sum] : self)
    ours += name + " " + std::to_string(sum.first) + " " + std::to_string(sum.second) + "\n";
  EXPECT_EQ(ours, expected);
  EXPECT_NE(ours.find("fib "), std::string::npos);
}

}  // namespace
}  // namespace vesta::wire
