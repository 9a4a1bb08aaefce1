// `go tool pprof` as the oracle: it reads what we write, we read what Go writes, and both find the
// same functions with the same figures. Skipped where there is no Go.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "src/flame/top_table.h"
#include "src/wire/pprof_encoder.h"
#include "src/wire/profile_file.h"
#include "test/support/synthetic_profile.h"

namespace vesta::wire {
namespace {

namespace fs = std::filesystem;
using profile::Profile;
using test::DumpProfile;
using test::SyntheticProfile;

// Self and total by function, "[binary]" for code without a name, as Go's table prints it.
using Figures = std::map<std::string, std::pair<int64_t, int64_t>>;

struct Output {
  int status = 0;
  std::string text;
};

// Runs a shell command; its errors go to the test's own.
Output RunShell(const std::string& command) {
  Output output;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, ""};
  std::array<char, 4096> buffer;
  for (size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.text.append(buffer.data(), count);
  output.status = ::pclose(pipe);
  return output;
}

// A folder with Go-made profiles, made once for all tests.
struct GoFiles {
  std::string go;  // the tool; empty = there is none
  fs::path folder;
  std::string build_error;

  GoFiles() {
    for (const char* candidate : {"go", "/usr/local/go/bin/go"}) {
      if (go.empty() && RunShell(std::string(candidate) + " version 2>/dev/null").status == 0)
        go = candidate;
    }
    char path[] = "/tmp/vesta-go-pprof-XXXXXX";
    folder = ::mkdtemp(path);
    if (go.empty()) return;
    const std::string source = std::string(VESTA_SOURCE_DIR) + "/test/support/go_profiles.go";
    const Output built =
        RunShell("cd " + folder.string() + " && GOFLAGS=-mod=mod " + go + " build -o program " +
                 source + " 2>&1 && ./program cpu.prof heap.prof mutex.prof 2>&1");
    if (built.status != 0) build_error = built.text;
  }
  ~GoFiles() { fs::remove_all(folder); }
};

class GoPprofTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { files_ = new GoFiles; }
  static void TearDownTestSuite() {
    delete files_;
    files_ = nullptr;
  }
  void SetUp() override {
    if (files_->go.empty()) GTEST_SKIP() << "no go tool in PATH or /usr/local/go/bin";
    ASSERT_EQ(files_->build_error, "");
  }

  static std::string Path(const std::string& name) { return (files_->folder / name).string(); }
  static Output Pprof(const std::string& arguments) {
    return RunShell("PPROF_TMPDIR=" + files_->folder.string() + " " + files_->go +
                    " tool pprof -symbolize=none " + arguments + " 2>" + Path("stderr"));
  }

  // Parses `go tool pprof -top` with values in the smallest unit.
  static Figures GoTop(const std::string& file, const std::string& options) {
    const Output top = Pprof("-top -nodecount=1000000 -nodefraction=0 " + options + " " + file);
    EXPECT_EQ(top.status, 0) << file;
    Figures figures;
    std::istringstream lines(top.text.substr(top.text.find("cum%")));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      std::string self, self_percent, sum_percent, total, total_percent, name;
      fields >> self >> self_percent >> sum_percent >> total >> total_percent >> std::ws;
      std::getline(fields, name);
      for (const std::string_view mark : {" (inline)", " (partial-inline)"}) {
        if (name.ends_with(mark)) name.resize(name.size() - mark.size());
      }
      figures[name] = {std::strtoll(self.c_str(), nullptr, 10),
                       std::strtoll(total.c_str(), nullptr, 10)};
    }
    return figures;
  }

  static Figures OurTop(const Profile& profile, size_t sample_type) {
    Figures figures;
    for (const flame::TopRow& row : flame::MakeTopTable(profile, sample_type).rows) {
      std::string name = row.name;
      if (name.empty()) name = row.image.empty() ? "<unknown>" : "[" + row.image + "]";
      EXPECT_TRUE(figures.try_emplace(name, row.self, row.total).second)
          << name << " is in two binaries, which Go would add up";
    }
    return figures;
  }

  // Reads a file that must be good.
  static Profile Read(const std::string& path) {
    auto result = ReadProfileFile(path);
    EXPECT_TRUE(result.ok()) << result.error().message();
    return result.ok() ? std::move(result).value() : Profile();
  }

  static GoFiles* files_;
};

GoFiles* GoPprofTest::files_ = nullptr;

TEST_F(GoPprofTest, TopOfGoMadeProfilesIsEqualForEachFunction) {
  struct Case {
    const char* file;
    const char* unit;  // in which Go prints whole numbers
    size_t types;
  };
  for (const Case& c :
       {Case{"cpu.prof", "ns", 2}, Case{"heap.prof", "B", 4}, Case{"mutex.prof", "ns", 2}}) {
    SCOPED_TRACE(c.file);
    const Profile profile = Read(Path(c.file));
    ASSERT_EQ(profile.sample_types().size(), c.types);
    ASSERT_GT(profile.sample_count(), 0u);
    for (size_t type = 0; type < c.types; ++type) {
      const std::string name(profile.String(profile.sample_types()[type].type));
      const bool counts = profile.String(profile.sample_types()[type].unit) == "count";
      SCOPED_TRACE(name);
      const Figures figures = OurTop(profile, type);
      EXPECT_EQ(figures, GoTop(Path(c.file), "-sample_index=" + name +
                                                 (counts ? "" : std::string(" -unit=") + c.unit)));
      EXPECT_FALSE(figures.empty());
    }
  }
  const Figures cpu = OurTop(Read(Path("cpu.prof")), 1);
  ASSERT_TRUE(cpu.contains("main.slowValidate"));
  EXPECT_GT(cpu.at("main.slowValidate").second, 0);
  EXPECT_EQ(cpu.at("main.recurse").first, 0) << "recursion counts once: all of it is below";
}

TEST_F(GoPprofTest, DefaultSampleTypeIsTheOneThatGoShows) {
  for (const auto& [file, type] :
       {std::pair("cpu.prof", "cpu"), std::pair("heap.prof", "inuse_space"),
        std::pair("mutex.prof", "delay")}) {
    const Profile profile = Read(Path(file));
    EXPECT_EQ(profile.String(profile.sample_types()[profile.DefaultSampleTypeIndex()].type), type);
    EXPECT_NE(
        Pprof(std::string("-top ") + Path(file)).text.find(std::string("Type: ") + type + "\n"),
        std::string::npos);
  }
}

// -raw prints every field of a profile: equal text before and after means that nothing was lost.
TEST_F(GoPprofTest, GoMadeProfilesSurviveOurReaderAndWriter) {
  for (const char* file : {"cpu.prof", "heap.prof", "mutex.prof"}) {
    SCOPED_TRACE(file);
    const Profile profile = Read(Path(file));
    ASSERT_TRUE(WriteWholeFile(Path("ours.pb.gz"), EncodePprof(profile)).ok());
    const Output theirs = Pprof("-raw " + Path(file));
    const Output ours = Pprof("-raw " + Path("ours.pb.gz"));
    ASSERT_EQ(theirs.status, 0);
    ASSERT_FALSE(theirs.text.empty());
    EXPECT_EQ(ours.text, theirs.text);
  }
}

TEST_F(GoPprofTest, OurProfilesSurviveGosReaderAndWriter) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Profile profile =
        SyntheticProfile({.seed = seed, .samples = 30, .mappings = 1, .odd_content = false});
    ASSERT_TRUE(WriteWholeFile(Path("ours.pb.gz"), EncodePprof(profile)).ok());
    const Output proto = Pprof("-proto -output=" + Path("theirs.pb.gz") + " " + Path("ours.pb.gz"));
    ASSERT_EQ(proto.status, 0);
    const Profile back = Read(Path("theirs.pb.gz"));
    EXPECT_EQ(back.header().period, profile.header().period);
    EXPECT_EQ(back.header().time_unix_ns, profile.header().time_unix_ns);
    EXPECT_EQ(back.header().duration_ns, profile.header().duration_ns);
    for (const size_t type : {size_t{0}, size_t{1}}) {
      const Figures figures = OurTop(profile, type);
      EXPECT_EQ(OurTop(back, type), figures);
      EXPECT_EQ(GoTop(Path("ours.pb.gz"),
                      type == 0 ? "-sample_index=samples" : "-sample_index=cpu -unit=ns"),
                figures);
    }
  }
}

TEST_F(GoPprofTest, GoReadsOddProfilesOfOursToo) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Profile profile = SyntheticProfile({.seed = seed, .samples = 30});
    ASSERT_TRUE(WriteWholeFile(Path("odd.pb"), EncodePprof(profile)).ok());
    for (const char* report : {"-raw", "-top", "-traces", "-peek=."}) {
      const Output output = Pprof(std::string(report) + " " + Path("odd.pb"));
      EXPECT_EQ(output.status, 0) << report;
      EXPECT_FALSE(output.text.empty()) << report;
    }
  }
}

}  // namespace
}  // namespace vesta::wire
