#include "src/object/go_pclntab.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <sstream>

#include "src/object/elf_image_for_test.h"
#include "test/support/go_program.h"

namespace vesta::object {
namespace {

using base::FileSource;
using base::MemorySource;

// --- a table written by hand, in each of the four layouts ---

constexpr uint64_t kText = 0x401000;
constexpr uint32_t kTreeOffset = 8;

class Writer {
 public:
  template <typename T>
  void Put(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
  }
  void PutString(const char* text) {
    for (const char* c = text; *c != 0; ++c) Put(*c);
    Put('\0');
  }
  template <typename T>
  void Set(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
  }
  void AlignTo(size_t unit) {
    while (bytes_.size() % unit != 0) Put('\0');
  }
  size_t size() const { return bytes_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

struct Layout {
  GoVersion version;
  uint32_t magic;
};

// Functions main.first [kText, +0x20) and main.second [+0x20, +0x60). The first has the stack
// depths 0 for 4 bytes, 24 for 24 bytes, 0 to its end; both have lines. From Go 1.18 on,
// main.inlined [+0xc, +0x14) was inlined into the first, and main.deeper [+4, +0xc) into that.
struct Sample {
  std::vector<std::byte> bytes;
  size_t first_function = 0;  // offset of its record
  size_t trees = 0;           // offset of the inline trees
};

Sample WriteSample(const Layout& layout) {
  const bool is_old = layout.version == GoVersion::k1_2;
  const bool has_text = layout.version == GoVersion::k1_18 || layout.version == GoVersion::k1_20;
  Writer out;
  out.Put(layout.magic);
  out.Put(uint32_t{0x08010000});
  out.Put(uint64_t{2});
  size_t parts = 0;
  size_t index = 0;
  const auto put_index = [&] {
    index = out.size();
    for (int i = 0; i < 5; ++i) has_text ? out.Put(uint32_t{0}) : out.Put(uint64_t{0});
  };
  if (is_old) {
    put_index();
    out.Put(uint32_t{0});  // where the files are
  } else {
    out.Put(uint64_t{1});  // files
    if (has_text) out.Put(uint64_t{0});
    parts = out.size();
    for (int i = 0; i < 5; ++i) out.Put(uint64_t{0});
  }
  const size_t names = out.size();
  out.PutString("main.first");
  out.PutString("main.second");
  const size_t inlined = out.size();
  if (has_text) out.PutString("main.inlined");
  const size_t deeper = out.size();
  if (has_text) out.PutString("main.deeper");
  const size_t files = out.size();
  out.PutString("/src/main.go");
  out.AlignTo(4);
  const size_t units = out.size();
  if (is_old) out.Put(uint32_t{2});
  out.Put(static_cast<uint32_t>(is_old ? files : 0));
  const size_t values = out.size();
  out.Put('\0');  // offset 0 means none
  const size_t depths = out.size();
  for (const int byte : {2, 4, 48, 24, 47, 4, 0}) out.Put(static_cast<uint8_t>(byte));
  const size_t file_values = out.size();
  for (const int byte : {is_old ? 4 : 2, 0x40, 0}) out.Put(static_cast<uint8_t>(byte));
  const size_t lines = out.size();
  for (const int byte : {22, 16, 4, 0x30, 0}) out.Put(static_cast<uint8_t>(byte));
  const size_t inline_indices = out.size();
  if (has_text) {
    for (const int byte : {0, 4, 4, 8, 1, 8, 1, 12, 0}) out.Put(static_cast<uint8_t>(byte));
  }
  out.AlignTo(8);
  const size_t functions = is_old ? 0 : out.size();
  if (!is_old) put_index();
  out.AlignTo(8);
  const size_t name_base = is_old ? 0 : names;
  const size_t value_base = is_old ? 0 : values;
  Sample sample;
  for (uint64_t i = 0; i < 2; ++i) {
    const uint64_t entry = i == 0 ? 0 : 0x20;
    const size_t record = out.size();
    if (i == 0) sample.first_function = record;
    if (has_text) {
      out.Set(index + i * 8, static_cast<uint32_t>(entry));
      out.Set(index + i * 8 + 4, static_cast<uint32_t>(record - functions));
      out.Put(static_cast<uint32_t>(entry));
    } else {
      out.Set(index + i * 16, kText + entry);
      out.Set(index + i * 16 + 8, record - functions);
      out.Put(kText + entry);
    }
    out.Put(static_cast<uint32_t>(names - name_base + (i == 0 ? 0 : 11)));
    out.Put(uint32_t{0});
    out.Put(uint32_t{0});
    out.Put(static_cast<uint32_t>(i == 0 ? depths - value_base : 0));
    out.Put(static_cast<uint32_t>(file_values - value_base));
    out.Put(static_cast<uint32_t>(lines - value_base));
    out.Put(uint32_t{has_text ? 3u : 0u});  // tables of numbers
    if (!is_old) out.Put(uint32_t{0});      // unit
    if (layout.version == GoVersion::k1_20) out.Put(uint32_t{9});
    // Flags: top frame, assembly; data.
    out.Put(uint32_t{is_old ? 0u : has_text ? 0x04000500u : 0x0500u});
    if (has_text) {
      const auto index_table = static_cast<uint32_t>(i == 0 ? inline_indices - value_base : 0);
      for (const uint32_t table : {0u, 0u, index_table}) out.Put(table);
      for (const uint32_t data : {~0u, ~0u, ~0u, i == 0 ? kTreeOffset : ~0u}) out.Put(data);
    }
    out.AlignTo(8);
  }
  if (has_text) {
    out.Set(index + 16, uint32_t{0x60});
  } else {
    out.Set(index + 32, kText + 0x60);
  }
  if (is_old) {
    out.Set(index + 40, static_cast<uint32_t>(units));
  } else {
    const size_t all[] = {names, units, files, values, functions};
    for (size_t i = 0; i < 5; ++i) out.Set(parts + i * 8, uint64_t{all[i]});
  }
  sample.trees = out.size();
  const auto put_call = [&](size_t name, uint32_t parent, uint32_t start_line) {
    const auto name_offset = static_cast<uint32_t>(name - names);
    if (layout.version == GoVersion::k1_20) {
      for (const uint32_t word : {uint32_t{5}, name_offset, parent, start_line}) out.Put(word);
    } else {
      for (const uint32_t word : {0x00050000u, 0u, 7u, name_offset, parent}) out.Put(word);
    }
  };
  if (has_text) {
    for (uint32_t i = 0; i < kTreeOffset / 4; ++i) out.Put(uint32_t{0});
    put_call(inlined, 2, 30);
    put_call(deeper, 0x10, 40);
  }
  sample.bytes = out.bytes();
  return sample;
}

class GoPclntabLayoutTest : public testing::TestWithParam<Layout> {};

TEST_P(GoPclntabLayoutTest, ReadsFunctionsLinesAndDepths) {
  const Sample sample = WriteSample(GetParam());
  const MemorySource source(sample.bytes);
  auto parsed = GoPclntab::Parse(source, 0, sample.bytes.size(), kText);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  GoPclntab& table = *parsed;
  EXPECT_EQ(table.version(), GetParam().version);
  ASSERT_EQ(table.function_count(), 2u);
  const auto first = table.FunctionAt(0);
  const auto second = table.FunctionAt(1);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(table.FunctionAt(2));
  EXPECT_EQ(first->start_vaddr, kText);
  EXPECT_EQ(first->end_vaddr, kText + 0x20);
  EXPECT_EQ(second->end_vaddr, kText + 0x60);
  EXPECT_EQ(table.NameOf(*first), "main.first");
  EXPECT_EQ(table.NameOf(*second), "main.second");
  EXPECT_EQ(first->start_line, GetParam().version == GoVersion::k1_20 ? 9u : 0u);
  EXPECT_EQ(first->flags, GetParam().version == GoVersion::k1_2
                              ? 0
                              : GoFunction::kTopFrame | GoFunction::kAssembly);
  EXPECT_EQ(table.FileOf(*first, kText + 4), "/src/main.go");
  EXPECT_EQ(table.LineOf(*first, kText), 10u);
  EXPECT_EQ(table.LineOf(*first, kText + 0xf), 10u);
  EXPECT_EQ(table.LineOf(*first, kText + 0x10), 12u);

  std::string depths;
  GoValueWalk walk = table.StackDepths(*first);
  while (const auto range = walk.Next()) {
    depths += std::to_string(range->start_vaddr - kText) + "-" +
              std::to_string(range->end_vaddr - kText) + ":" + std::to_string(range->value) + " ";
  }
  EXPECT_EQ(depths, "0-4:0 4-28:24 28-32:0 ");
  EXPECT_FALSE(table.StackDepths(*second).Next());  // it has no such table
}

TEST_P(GoPclntabLayoutTest, FindsTheFunctionThatCoversAnAddress) {
  const Sample sample = WriteSample(GetParam());
  const MemorySource source(sample.bytes);
  auto table = GoPclntab::Parse(source, 0, sample.bytes.size(), kText);
  ASSERT_TRUE(table.ok());
  const auto name_at = [&](uint64_t vaddr) {
    const auto function = table->FunctionCovering(vaddr);
    return function ? table->NameOf(*function) : "-";
  };
  EXPECT_EQ(name_at(kText - 1), "-");
  EXPECT_EQ(name_at(kText), "main.first");
  EXPECT_EQ(name_at(kText + 0x1f), "main.first");
  EXPECT_EQ(name_at(kText + 0x20), "main.second");
  EXPECT_EQ(name_at(kText + 0x5f), "main.second");
  EXPECT_EQ(name_at(kText + 0x60), "-");
}

std::string CallsAt(GoPclntab& table, uint64_t vaddr) {
  std::string text;
  for (const GoCall& call : table.CallsAt(vaddr)) {
    EXPECT_EQ(call.file, "/src/main.go");
    text += call.function + ":" + std::to_string(call.line) + "(" +
            std::to_string(call.start_line) + ") ";
  }
  return text;
}

TEST_P(GoPclntabLayoutTest, InlinedCallsStandBeforeTheirCallers) {
  const Sample sample = WriteSample(GetParam());
  const MemorySource source(sample.bytes);
  auto table = GoPclntab::Parse(source, 0, sample.bytes.size(), kText);
  ASSERT_TRUE(table.ok());
  const bool has_lines = GetParam().version == GoVersion::k1_20;
  const std::string first = has_lines ? "(9) " : "(0) ";
  EXPECT_EQ(CallsAt(*table, kText + 4), "main.first:10" + first);  // no trees are known
  if (GetParam().version == GoVersion::k1_2 || GetParam().version == GoVersion::k1_16) {
    EXPECT_EQ(table->UseInlineTrees(source, sample.trees).error().code(),
              base::ErrorCode::kCorrupt);
    return;
  }
  ASSERT_TRUE(table->UseInlineTrees(source, sample.trees).ok());
  const std::string inlined = has_lines ? "(30) " : "(0) ";
  const std::string deeper = has_lines ? "(40) " : "(0) ";
  EXPECT_EQ(CallsAt(*table, kText - 1), "");
  EXPECT_EQ(CallsAt(*table, kText + 3), "main.first:10" + first);
  const std::string two_deep =
      "main.deeper:10" + deeper + "main.inlined:12" + inlined + "main.first:10" + first;
  EXPECT_EQ(CallsAt(*table, kText + 4), two_deep);
  EXPECT_EQ(CallsAt(*table, kText + 0xb), two_deep);
  EXPECT_EQ(CallsAt(*table, kText + 0xc), "main.inlined:10" + inlined + "main.first:10" + first);
  EXPECT_EQ(CallsAt(*table, kText + 0x14), "main.first:12" + first);
  EXPECT_EQ(CallsAt(*table, kText + 0x24), "main.second:10" + first);
}

TEST_P(GoPclntabLayoutTest, DamagedInlineTreesNameNothing) {
  if (GetParam().version == GoVersion::k1_2 || GetParam().version == GoVersion::k1_16) return;
  const Sample sample = WriteSample(GetParam());
  const bool is_new = GetParam().version == GoVersion::k1_20;
  const size_t entry = is_new ? 16 : 20;
  const size_t name = is_new ? 4 : 12;
  const size_t deeper = sample.trees + kTreeOffset + entry;
  const struct {
    const char* what;
    size_t offset;
    uint32_t value;
  } cases[] = {
      {"a name from the middle of another", deeper + name, 3},
      {"a name outside of the table", deeper + name, 0x7fffffff},
      {"a caller outside of the function", deeper + name + 4, 0x20},
      {"a caller in front of the function", deeper + name + 4, 0xffffffff},
      {"a call that is its own caller", deeper + name + 4, 5},
      {"padding with something in it", deeper, 0x01000000},
  };
  for (const auto& damage : cases) {
    SCOPED_TRACE(damage.what);
    std::vector<std::byte> bytes = sample.bytes;
    const MemorySource good(sample.bytes);
    auto table = GoPclntab::Parse(good, 0, bytes.size(), kText);
    ASSERT_TRUE(table.ok());
    std::memcpy(bytes.data() + damage.offset, &damage.value, sizeof(damage.value));
    const MemorySource bad(bytes);
    // The first entry that is looked at is this one: a cycle shows only later.
    if (table->UseInlineTrees(bad, sample.trees).ok()) {
      EXPECT_STREQ(damage.what, "a call that is its own caller");
      EXPECT_EQ(table->CallsAt(kText + 0x10).size(), 2u);
    }
    const auto calls = table->CallsAt(kText + 4);
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].function, "main.first");
    EXPECT_EQ(calls[0].line, 10u);
  }
  const MemorySource source(sample.bytes);
  auto table = GoPclntab::Parse(source, 0, sample.bytes.size(), kText);
  for (const uint64_t wrong : {uint64_t{0}, uint64_t{sample.trees + 4}, ~uint64_t{0}}) {
    EXPECT_FALSE(table->UseInlineTrees(source, wrong).ok());
    EXPECT_EQ(table->CallsAt(kText + 4).size(), 1u);
  }
}

// Whatever is cut off or changed, every question has an answer or none, and nothing else happens
// (the sanitizer builds see to that).
void AskEverything(const std::vector<std::byte>& bytes, size_t trees) {
  const MemorySource source(bytes);
  auto table = GoPclntab::Parse(source, 0, bytes.size(), kText);
  if (!table.ok()) return;
  const bool has_trees = table->UseInlineTrees(source, trees).ok();
  for (const unsigned distance : {4u, 0xcu, 0x30u}) {
    const auto calls = table->CallsAt(kText + distance);
    EXPECT_TRUE(has_trees || calls.size() <= 1);
    EXPECT_LE(calls.size(), 129u);
    for (const GoCall& call : calls) EXPECT_FALSE(call.function.empty());
  }
  for (uint32_t i = 0; i < std::min(table->function_count(), 8u); ++i) {
    const auto function = table->FunctionAt(i);
    if (!function) continue;
    EXPECT_LT(function->start_vaddr, function->end_vaddr);
    table->NameOf(*function);
    table->FileOf(*function, function->start_vaddr);
    table->LineOf(*function, function->start_vaddr);
    uint64_t last_end = function->start_vaddr;
    GoValueWalk walk = table->StackDepths(*function);
    while (const auto range = walk.Next()) {
      EXPECT_EQ(range->start_vaddr, last_end);
      EXPECT_GT(range->end_vaddr, range->start_vaddr);
      EXPECT_LE(range->end_vaddr, function->end_vaddr);
      last_end = range->end_vaddr;
    }
  }
  table->FunctionCovering(kText + 0x30);
}

TEST_P(GoPclntabLayoutTest, SurvivesEveryTruncation) {
  const Sample sample = WriteSample(GetParam());
  for (size_t size = 0; size < sample.bytes.size(); ++size) {
    AskEverything({sample.bytes.begin(), sample.bytes.begin() + static_cast<long>(size)},
                  sample.trees);
  }
  const std::vector<std::byte> head(sample.bytes.begin(), sample.bytes.begin() + 12);
  const MemorySource source(head);
  EXPECT_EQ(GoPclntab::Parse(source, 0, head.size(), kText).error().code(),
            base::ErrorCode::kCorrupt);
}

TEST_P(GoPclntabLayoutTest, SurvivesEveryFlippedByte) {
  const Sample sample = WriteSample(GetParam());
  for (size_t at = 0; at < sample.bytes.size(); ++at) {
    for (const int value : {0x00, 0x7f, 0x80, 0xff}) {
      std::vector<std::byte> bytes = sample.bytes;
      bytes[at] = static_cast<std::byte>(value);
      AskEverything(bytes, sample.trees);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllVersions, GoPclntabLayoutTest,
                         testing::Values(Layout{GoVersion::k1_2, 0xfffffffb},
                                         Layout{GoVersion::k1_16, 0xfffffffa},
                                         Layout{GoVersion::k1_18, 0xfffffff0},
                                         Layout{GoVersion::k1_20, 0xfffffff1}));

// --- programs of the toolchains on this machine, against go's own tools ---

struct Build {
  const char* name;
  const char* flags;
  bool by_all_toolchains = false;  // else by the newest one only
};

class GoPclntabProgramTest : public testing::TestWithParam<Build> {};

struct NamedRange {
  uint64_t start = 0;
  uint64_t size = 0;
};

// Functions as `go tool nm` lists them, by name.
std::map<std::string, NamedRange> NmFunctions(const std::string& go, const std::string& path) {
  std::map<std::string, NamedRange> functions;
  std::istringstream lines(test::CommandOutput(go + " tool nm -size " + path));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, size, type, name;
    words >> address >> size >> type;
    std::getline(words, name);
    if (name.size() < 2 || (type != "T" && type != "t")) continue;
    name = name.substr(name.find_first_not_of(' '));
    functions[name] = {std::stoull(address, nullptr, 16), std::stoull(size)};
  }
  return functions;
}

// Answers of addr2line, two lines for each address of the file: the function, and FILE:LINE.
// Source: go's own tool, from the table. That of Go 1.19 does not find the table of a
//         position independent program and knows no address; then binutils', from DWARF.
std::string Addr2lineAnswers(const std::string& go, const std::string& path,
                             const std::string& question_file) {
  std::string answers = test::CommandOutput(go + " tool addr2line " + path + " < " + question_file);
  if (answers.find(".go:") != std::string::npos) return answers;
  return test::CommandOutput("addr2line -f -e " + path + " < " + question_file +
                             " | sed -e 's/ (discriminator .*//' -e 's/^.*:[?]$/?:0/'" +
                             " -e 's/^[?]*:0$/?:0/' -e 's/^[.]\\/<auto/<auto/'");
}

TEST_P(GoPclntabProgramTest, EqualsWhatGoToolsSay) {
  const auto toolchains = test::GoToolchains();
  if (toolchains.empty()) GTEST_SKIP() << "no Go toolchain on this machine";
  for (const std::string& go : toolchains) {
    if (go != toolchains[0] && !GetParam().by_all_toolchains) break;
    SCOPED_TRACE(go);
    const test::TemporaryFolder folder;
    const std::string path = test::BuildGoProgram(go, folder, "sample", GetParam().flags);
    if (path.empty()) GTEST_SKIP() << go << " cannot build with " << GetParam().flags;
    // The same code with symbols, for the oracles; -s -w does not move code.
    const bool is_stripped = std::string(GetParam().flags).find("-s -w") != std::string::npos;
    std::string plain_flags = GetParam().flags;
    if (is_stripped) plain_flags.replace(plain_flags.find("-s -w"), 5, "");
    const std::string plain = test::BuildGoProgram(go, folder, "plain", plain_flags);

    const auto source = FileSource::Open(path);
    ASSERT_TRUE(source.ok());
    const auto elf = ElfFile::Parse(**source);
    ASSERT_TRUE(elf.ok());
    auto table = GoPclntab::Find(*elf, **source);
    ASSERT_TRUE(table.ok()) << table.error().message();

    const auto known = NmFunctions(go, plain);
    ASSERT_GT(known.size(), 1000u);
    size_t equal_count = 0;
    std::string questions;
    std::vector<uint64_t> asked;
    for (uint32_t i = 0; i < table->function_count(); ++i) {
      const auto function = table->FunctionAt(i);
      ASSERT_TRUE(function);
      const std::string name = table->NameOf(*function);
      const auto found = known.find(name);
      if (found != known.end() && found->second.start == function->start_vaddr) ++equal_count;
      for (const uint64_t vaddr :
           {function->start_vaddr, (function->start_vaddr + function->end_vaddr) / 2}) {
        if (i % 7 != 0) continue;
        asked.push_back(vaddr);
        char line[32];
        std::snprintf(line, sizeof(line), "0x%lx\n", vaddr);
        questions += line;
      }
    }
    // Generic functions and those of both calling conventions have other names in the symbol table.
    EXPECT_GT(equal_count, table->function_count() * 9 / 10);

    std::ofstream(folder.path() + "/questions") << questions;
    std::istringstream answers(
        Addr2lineAnswers(toolchains[0], plain, folder.path() + "/questions"));
    size_t line_count = 0;
    for (const uint64_t vaddr : asked) {
      std::string name, place;
      ASSERT_TRUE(std::getline(answers, name) && std::getline(answers, place));
      const auto function = table->FunctionCovering(vaddr);
      ASSERT_TRUE(function) << std::hex << vaddr;
      if (place == "?:0" || place == ":-1") continue;  // padding behind the code
      ++line_count;
      EXPECT_EQ(
          table->FileOf(*function, vaddr) + ":" + std::to_string(table->LineOf(*function, vaddr)),
          place)
          << name << std::hex << vaddr;
    }
    EXPECT_GT(line_count, 200u);

    const auto leaf = known.find("main.leaf");
    ASSERT_NE(leaf, known.end());
    const auto function = table->FunctionCovering(leaf->second.start);
    ASSERT_TRUE(function);
    EXPECT_EQ(table->NameOf(*function), "main.leaf");
    EXPECT_EQ(function->start_line, table->version() == GoVersion::k1_20 ? 17u : 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Builds, GoPclntabProgramTest,
                         testing::Values(Build{"normal", "", true},
                                         Build{"stripped", "-ldflags='-s -w'"},
                                         Build{"pie", "-buildmode=pie"},
                                         Build{"stripped_pie", "-buildmode=pie -ldflags='-s -w'"},
                                         Build{"external", "-ldflags='-linkmode=external -s -w'"},
                                         Build{"external_pie",
                                               "-buildmode=pie -ldflags='-linkmode=external -s -w'",
                                               true}),
                         [](const auto& instance) { return instance.param.name; });

TEST(GoPclntabSearchTest, FindsTheTableWithoutSectionHeaders) {
  const auto toolchains = test::GoToolchains();
  if (toolchains.empty()) GTEST_SKIP() << "no Go toolchain on this machine";
  for (const std::string& go : toolchains) {
    const test::TemporaryFolder folder;
    for (const char* flags : {"-ldflags='-s -w'", "-buildmode=pie -ldflags='-s -w'"}) {
      SCOPED_TRACE(go + " " + flags);
      const std::string path = test::BuildGoProgram(go, folder, "sample", flags);
      ASSERT_FALSE(path.empty());
      const auto file = FileSource::Open(path);
      ASSERT_TRUE(file.ok());
      auto bytes = (*file)->Read(0, (*file)->size_bytes());
      ASSERT_TRUE(bytes.ok());
      const auto with_sections = ElfFile::Parse(**file);
      auto expected = GoPclntab::Find(*with_sections, **file);
      ASSERT_TRUE(expected.ok());
      // e_shoff, and e_shentsize, e_shnum, e_shstrndx.
      std::memset(bytes->data() + 0x28, 0, 8);
      std::memset(bytes->data() + 0x3a, 0, 6);
      const MemorySource source(*bytes);
      const auto elf = ElfFile::Parse(source);
      ASSERT_TRUE(elf.ok() && elf->sections().empty());
      auto table = GoPclntab::Find(*elf, source);
      ASSERT_TRUE(table.ok()) << table.error().message();
      EXPECT_EQ(table->text_vaddr(), expected->text_vaddr());
      EXPECT_EQ(table->function_count(), expected->function_count());
      EXPECT_EQ(table->NameOf(*table->FunctionAt(5)), expected->NameOf(*expected->FunctionAt(5)));
      EXPECT_TRUE(table->FindInlineTrees(*elf, source).ok());
    }
  }
}

// Whether a table is found in a program without sections, behind so many headers of no tables.
bool IsFoundBehind(size_t header_count) {
  Writer headers;
  for (size_t i = 0; i < header_count; ++i) {
    headers.Put(uint32_t{0xfffffffa});
    headers.Put(uint32_t{0x08010000});
  }
  ElfImage image;
  const uint64_t code = image.Add(std::vector<char>(0x1000));
  const uint64_t data = image.Add(headers.bytes());
  const auto table = WriteSample({GoVersion::k1_16, 0xfffffffa}).bytes;
  image.Add(table);
  image.SetSegments({Segment(PT_LOAD, PF_R | PF_X, code, kText, 0x1000),
                     Segment(PT_LOAD, PF_R, data, 0x500000, headers.size() + table.size())});
  const MemorySource source(image.bytes());
  const auto elf = ElfFile::Parse(source);
  EXPECT_TRUE(elf.ok());
  return elf.ok() && GoPclntab::Find(*elf, source).ok();
}

TEST(GoPclntabSearchTest, FalseHeadersAreTriedAFewTimesOnly) {
  EXPECT_TRUE(IsFoundBehind(0));
  EXPECT_TRUE(IsFoundBehind(63));
  EXPECT_FALSE(IsFoundBehind(64));
}

TEST(GoPclntabSearchTest, OtherProgramsAreNotFound) {
  const auto source = FileSource::Open("/proc/self/exe");
  ASSERT_TRUE(source.ok());
  const auto elf = ElfFile::Parse(**source);
  ASSERT_TRUE(elf.ok());
  const auto table = GoPclntab::Find(*elf, **source);
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code(), base::ErrorCode::kNotFound);
}

}  // namespace
}  // namespace vesta::object
