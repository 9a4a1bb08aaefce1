// Every readable format, cut off at each byte and with each byte changed: read as far as it makes
// sense, or refused with the place. The files are the fuzzers' seeds, whole ones of each program.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "src/wire/profile_decoder.h"

namespace vesta::wire {
namespace {

namespace fs = std::filesystem;

struct Seed {
  const char* file;
  ProfileFormat format;
};

constexpr Seed kSeeds[] = {
    {"pprof_decoder_fuzz_corpus/small.pb", ProfileFormat::kPprof},
    {"pprof_decoder_fuzz_corpus/small.pb.gz", ProfileFormat::kPprof},
    {"pprof_decoder_fuzz_corpus/unpacked.pb", ProfileFormat::kPprof},
    {"folded_decoder_fuzz_corpus/plain.folded", ProfileFormat::kFolded},
    {"otlp_decoder_fuzz_corpus/pprof.otlp", ProfileFormat::kOtlp},
    {"otlp_decoder_fuzz_corpus/ours.otlp", ProfileFormat::kOtlp},
    {"otlp_decoder_fuzz_corpus/v1_8.otlp", ProfileFormat::kOtlp},
    {"otlp_decoder_fuzz_corpus/framed.otlp", ProfileFormat::kOtlp},
    {"speedscope_decoder_fuzz_corpus/own.json", ProfileFormat::kSpeedscope},
    {"speedscope_decoder_fuzz_corpus/evented.json", ProfileFormat::kSpeedscope},
    {"speedscope_decoder_fuzz_corpus/sampled.json", ProfileFormat::kSpeedscope},
    {"perf_script_decoder_fuzz_corpus/callchain.txt", ProfileFormat::kPerfScript},
    {"perf_script_decoder_fuzz_corpus/srcline.txt", ProfileFormat::kPerfScript},
    {"perf_data_decoder_fuzz_corpus/chain", ProfileFormat::kPerfData},
    {"jfr_decoder_fuzz_corpus/samples.jfr", ProfileFormat::kJfr},
    {"jfr_decoder_fuzz_corpus/kinds.jfr", ProfileFormat::kJfr},
    {"cpuprofile_decoder_fuzz_corpus/node.cpuprofile", ProfileFormat::kCpuProfile},
    {"cpuprofile_decoder_fuzz_corpus/old.cpuprofile", ProfileFormat::kCpuProfile},
    {"cpuprofile_decoder_fuzz_corpus/trace.json", ProfileFormat::kCpuProfile},
};

std::string Read(const Seed& seed) {
  std::ifstream file(fs::path(VESTA_SOURCE_DIR) / "src/wire" / seed.file, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A byte, a line, a chunk, a row such as "location 3" or "sample_type 0", a field such as
// nodes[3].id, or what the whole file lacks.
bool NamesPlace(const std::string& message) {
  static const std::regex place(
      R"((byte|bytes|line|chunk|field|profile|[a-z_]+) \d+|[a-zA-Z]+\[\d+\]|\.[a-zA-Z]+ )"
      R"(|is missing|neither nodes nor head|without a CPU profile|has no |does not start with)");
  return std::regex_search(message, place);
}

class DamageTest : public testing::TestWithParam<Seed> {
 protected:
  // Counts the refusals, each of which must name the file and a place. The format is given, as a
  // damaged beginning may look like another one.
  static void Try(const std::string& bytes, const std::string& what) {
    const auto result = DecodeProfile(bytes, "the file", {.from = GetParam().format});
    if (result.ok()) return;
    ++refused_;
    const std::string& message = result.error().message();
    EXPECT_EQ(message.rfind("the file: ", 0), 0U) << what << ": " << message;
    EXPECT_TRUE(bytes.size() < 16 || NamesPlace(message)) << what << ": " << message;
  }

  void SetUp() override { refused_ = 0; }

  static inline size_t refused_;
};

TEST_P(DamageTest, CutOffAnywhere) {
  const std::string whole = Read(GetParam());
  ASSERT_TRUE(DecodeProfile(whole, "f", {.from = GetParam().format}).ok());
  for (size_t size = 0; size < whole.size(); ++size)
    Try(whole.substr(0, size), "cut to " + std::to_string(size));
  EXPECT_GT(refused_, whole.size() / 20);
}

TEST_P(DamageTest, AnyByteChanged) {
  const std::string whole = Read(GetParam());
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int bits : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ bits);
      Try(damaged, "byte " + std::to_string(at) + " ^ " + std::to_string(bits));
    }
  }
  EXPECT_GT(refused_, 0U);
}

INSTANTIATE_TEST_SUITE_P(Formats, DamageTest, testing::ValuesIn(kSeeds), [](const auto& seed) {
  std::string name = seed.param.file;
  name = name.substr(0, name.find("_decoder")) + name.substr(name.find('/'));
  return std::regex_replace(name, std::regex("[^A-Za-z0-9]+"), "_");
});

}  // namespace
}  // namespace vesta::wire
