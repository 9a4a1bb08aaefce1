#include "src/symbolize/name_profile.h"

#include <gtest/gtest.h>

#include <charconv>

#include "src/object/elf_file.h"

// Looked for by its name in the symbol table of this very program.
extern "C" __attribute__((noinline)) int KnownFunctionOfTheTest(int value) { return value * 3 + 1; }

namespace vesta::symbolize {
namespace {

using profile::LocationId;
using profile::MappingId;
using profile::Profile;

constexpr char kSelf[] = "/proc/self/exe";
constexpr uint64_t kKernelStart = 0xffffffff81000000;

// The mapping of this program's code, from /proc/self/maps.
profile::Mapping OwnMapping(Profile& profile, uint64_t address, std::string_view build_id) {
  profile::Mapping mapping;
  const auto maps = base::ReadSmallFile("/proc/self/maps");
  EXPECT_TRUE(maps.ok());
  std::string_view text = *maps;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    unsigned long long start = 0;
    unsigned long long limit = 0;
    unsigned long long offset = 0;
    const std::string line(text.substr(0, end));
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %llx", &start, &limit, &offset) == 3 &&
        address >= start && address < limit) {
      mapping.memory_start = start;
      mapping.memory_limit = limit;
      mapping.file_offset = offset;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  mapping.path = profile.InternString(kSelf);
  mapping.build_id = profile.InternString(build_id);
  return mapping;
}

std::string OwnBuildId() {
  const auto file = base::FileSource::Open(kSelf);
  EXPECT_TRUE(file.ok());
  const auto elf = object::ElfFile::Parse(**file);
  EXPECT_TRUE(elf.ok());
  return elf->gnu_build_id();
}

// The name of a location's innermost function, "" when it has none.
std::string NameOf(const Profile& profile, LocationId id) {
  const auto lines = profile.location(id).lines;
  return lines.empty() ? "" : std::string(profile.String(profile.function(lines[0].function).name));
}

uint64_t KnownAddress() { return reinterpret_cast<uint64_t>(&KnownFunctionOfTheTest); }

// One sample of the known function, called from a function that has a name.
Profile OwnProfile(std::string_view build_id) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  const MappingId mapping = profile.AddMapping(OwnMapping(profile, KnownAddress(), build_id));
  const LocationId leaf = profile.AddLocation({mapping, KnownAddress() + 2, false, {}});
  const profile::StringId name = profile.InternString("caller");
  const profile::Line line{profile.AddFunction({name, name, {}, 0}), 5, 0};
  const LocationId caller = profile.AddLocation({mapping, KnownAddress(), false, {&line, 1}});
  const LocationId nowhere = profile.AddLocation({profile::kNoMapping, 16, false, {}});
  const profile::Label label = profile.TextLabel("process", "me");
  const int64_t value = 7;
  profile.AddSample(profile.InternStack(std::array{leaf, caller, nowhere}),
                    profile.InternLabels({&label, 1}), {&value, 1});
  profile.header().duration_ns = 9;
  return profile;
}

TEST(NameProfileTest, NamesAddressesOfFilesWithTheBuildId) {
  const std::string build_id = OwnBuildId();
  ASSERT_FALSE(build_id.empty());
  const Profile profile = OwnProfile(build_id);
  EXPECT_TRUE(MayBeNamed(profile));
  NamingCounts counts;
  const Profile named = NameProfile(profile, NameSourcesOfThisMachine(), &counts);
  EXPECT_TRUE(named.Validate().ok());
  EXPECT_EQ(counts.without_name, 1u);
  EXPECT_EQ(counts.named, 1u);
  const auto stack = named.stack(named.sample_stack(0));
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_EQ(NameOf(named, stack[0]), "KnownFunctionOfTheTest");
  EXPECT_EQ(NameOf(named, stack[1]), "caller");
  EXPECT_EQ(NameOf(named, stack[2]), "");
  EXPECT_EQ(named.location(stack[0]).address, KnownAddress() + 2);
  EXPECT_EQ(named.sample_values(0)[0], 7);
  EXPECT_EQ(named.String(named.labels(named.sample_labels(0))[0].text), "me");
  EXPECT_EQ(named.header().duration_ns, 9);
  EXPECT_FALSE(MayBeNamed(named));
}

TEST(NameProfileTest, AnotherFileAtThatPathNamesNothing) {
  for (const std::string_view build_id : {"", "00"}) {
    NamingCounts counts;
    const Profile named = NameProfile(OwnProfile(build_id), NameSourcesOfThisMachine(), &counts);
    EXPECT_EQ(counts.named, 0u) << build_id;
    EXPECT_EQ(NameOf(named, named.stack(named.sample_stack(0))[0]), "");
  }
}

NameSources FakeKernel() {
  constexpr std::string_view kKallsyms =
      "ffffffff81000000 T _text\n"
      "ffffffff81000100 T do_work\n"
      "ffffffff81000200 T do_more\n"
      "ffffffffc0001000 t table_lookup\t[nf_tables]\n"
      "ffffffffc0001100 t table_end\t[nf_tables]\n";
  NameSources sources;
  sources.open = [](const std::string&) { return nullptr; };
  auto kernel = KernelSymbolizer::Parse(kKallsyms, "nf_tables 8192 0 - Live 0xffffffffc0001000\n");
  EXPECT_TRUE(kernel.ok());
  sources.kernel = std::move(kernel).value();
  sources.kernel_build_id = "ab";
  sources.kernel_start = KernelStartOf(kKallsyms);
  return sources;
}

TEST(NameProfileTest, NamesTheKernelOnlyWhenItIsTheOneThatRan) {
  const auto names = [](std::string_view build_id, uint64_t start, std::string_view module) {
    Profile profile;
    profile.SetSampleTypes({profile.InternValueType("samples", "count")});
    const auto add = [&](std::string_view path, uint64_t from) {
      profile::Mapping mapping;
      mapping.path = profile.InternString(path);
      mapping.build_id = profile.InternString(build_id);
      mapping.memory_start = mapping.file_offset = from;
      return profile.AddMapping(mapping);
    };
    const MappingId kernel = add(profile::kKernelPath, start);
    const MappingId other = add(module, 0xffffffffc0001000);
    profile.AddLocation({kernel, 0xffffffff81000110, false, {}});
    profile.AddLocation({other, 0xffffffffc0001010, false, {}});
    NamingCounts counts;
    const Profile named = NameProfile(profile, FakeKernel(), &counts);
    return NameOf(named, LocationId{0}) + "," + NameOf(named, LocationId{1});
  };
  EXPECT_EQ(names("ab", kKernelStart, "[nf_tables]"), "do_work,table_lookup");
  EXPECT_EQ(names("ab", kKernelStart, "/lib/modules/6.1/nf-tables.ko.xz"), "do_work,table_lookup");
  EXPECT_EQ(names("ab", kKernelStart, "[other]"), "do_work,");
  EXPECT_EQ(names("ab", kKernelStart + 0x200000, "[nf_tables]"), ",") << "moved by another boot";
  EXPECT_EQ(names("cd", kKernelStart, "[nf_tables]"), ",") << "another kernel";
}

TEST(NameProfileTest, ReadsTheKernelsNotesAndStart) {
  const std::string note("\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\xab\xcd\xef\0", 20);
  const std::string other("\6\0\0\0\2\0\0\0\3\0\0\0Linux\0\0\0zz\0\0", 24);
  EXPECT_EQ(BuildIdOfNotes(other + note), "abcdef");
  EXPECT_EQ(BuildIdOfNotes(other), "");
  for (size_t length = 0; length < note.size(); ++length)
    EXPECT_EQ(BuildIdOfNotes(note.substr(0, length)), "") << length;
  EXPECT_EQ(KernelStartOf("ffffffff80000000 A x\nffffffff81000000 T _text\n"), kKernelStart);
  EXPECT_EQ(KernelStartOf("ffffffff81000000 T _stext\n"), kKernelStart);
  EXPECT_EQ(KernelStartOf("ffffffff81000000 T text\n"), 0u);
}

}  // namespace
}  // namespace vesta::symbolize
