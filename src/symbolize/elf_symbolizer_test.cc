#include "src/symbolize/elf_symbolizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "src/object/go_pclntab.h"
#include "test/support/go_program.h"

namespace vesta::symbolize {
namespace {

using base::FileSource;
using base::MemorySource;
using object::ElfFile;
using object::Section;
using test::CommandOutput;

struct Image {
  std::unique_ptr<FileSource> source;
  ElfFile elf;

  std::vector<Symbol> Resolve(std::vector<uint64_t>& addresses) const {
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    auto symbols = ResolveElfSymbols(elf, *source, addresses);
    EXPECT_TRUE(symbols.ok()) << symbols.error().message();
    EXPECT_EQ(symbols->size(), addresses.size());
    return std::move(symbols).value();
  }
  FunctionLine LineAt(uint64_t vaddr) const {
    std::vector<uint64_t> addresses{vaddr};
    const auto symbols = Resolve(addresses);
    return symbols[0].lines.empty() ? FunctionLine() : symbols[0].lines[0];
  }
};

std::optional<Image> OpenImage(const std::string& path) {
  auto source = FileSource::Open(path);
  if (!source.ok()) return std::nullopt;
  auto elf = ElfFile::Parse(**source);
  if (!elf.ok()) return std::nullopt;
  return Image{std::move(source).value(), std::move(elf).value()};
}

// --- a program written for it ---

constexpr char kAssembly[] = R"(
        .text
        .globl  sized
        .type   sized, @function
sized:  nop
        nop
inner_label:
        nop
        nop
        .size   sized, .-sized
        .globl  unsized_function
unsized_function:
        .fill   8, 1, 0x90
local_label:
        .fill   8, 1, 0x90
        .type   __aliased, @function
        .globl  __aliased
        .type   aliased, @function
        .weak   aliased
        .type   aliased_local, @function
__aliased:
aliased:
aliased_local:
        .fill   8, 1, 0x90
        .size   __aliased, 8
        .size   aliased, 8
        .size   aliased_local, 8
        .fill   8, 1, 0x90
        .globl  outer
        .type   outer, @function
outer:  .fill   8, 1, 0x90
        .globl  nested
        .type   nested, @function
nested: .fill   4, 1, 0x90
        .size   nested, 4
        .fill   4, 1, 0x90
        .size   outer, 16
        .type   data_in_text, @object
        .globl  data_in_text
data_in_text:
        .fill   8, 1, 0x90
        .size   data_in_text, 8
        .globl  _ZN3foo3barEi
        .type   _ZN3foo3barEi, @function
_ZN3foo3barEi:
        .fill   8, 1, 0x90
        .size   _ZN3foo3barEi, 8
        .section .text.last, "ax", @progbits
        .globl  last_of_section
last_of_section:
        .fill   16, 1, 0x90
        .data
        .globl  value
value:  .quad   0
)";

class AssemblyTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_.path() + "/a.s") << kAssembly;
    const std::string path = folder_.path() + "/a.so";
    CommandOutput("cc -nostdlib -shared -Wl,-soname,a.so -o " + path + " " + folder_.path() +
                  "/a.s 2>&1");
    image_ = OpenImage(path);
    if (!image_) GTEST_SKIP() << "no C compiler here that takes x86-64 assembly";
    std::istringstream lines(CommandOutput("nm " + path));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string address, type, name;
      if (words >> address >> type >> name) vaddr_[name] = std::stoull(address, nullptr, 16);
    }
  }
  std::string NameAt(const std::string& symbol, uint64_t distance) const {
    return image_->LineAt(vaddr_.at(symbol) + distance).system_name;
  }

  test::TemporaryFolder folder_;
  std::optional<Image> image_;
  std::map<std::string, uint64_t> vaddr_;
};

TEST_F(AssemblyTest, SymbolsFollowTheirOrderOfPreference) {
  // With a size before without, although the label starts later.
  EXPECT_EQ(NameAt("sized", 0), "sized");
  EXPECT_EQ(NameAt("inner_label", 0), "sized");
  EXPECT_EQ(NameAt("inner_label", 1), "sized");
  // Without a size: to the next symbol.
  EXPECT_EQ(NameAt("unsized_function", 7), "unsized_function");
  EXPECT_EQ(NameAt("local_label", 0), "local_label");
  EXPECT_EQ(NameAt("local_label", 7), "local_label");
  // Global or weak before local, fewer underscores first.
  EXPECT_EQ(NameAt("aliased", 3), "aliased");
  // Behind its end a symbol with a size names nothing.
  EXPECT_EQ(NameAt("aliased", 8), "");
  EXPECT_EQ(NameAt("outer", 0), "outer");
  EXPECT_EQ(NameAt("nested", 3), "nested");
  EXPECT_EQ(NameAt("nested", 4), "outer");
  EXPECT_EQ(NameAt("data_in_text", 2), "");
  EXPECT_EQ(NameAt("value", 0), "");
}

TEST_F(AssemblyTest, SymbolWithoutSizeEndsWithItsSection) {
  const Section* last = nullptr;
  for (const Section& section : image_->elf.sections()) {
    if (section.vaddr <= vaddr_.at("last_of_section") &&
        vaddr_.at("last_of_section") - section.vaddr < section.size_bytes) {
      last = &section;
    }
  }
  ASSERT_NE(last, nullptr);
  const uint64_t end = last->vaddr + last->size_bytes;
  EXPECT_EQ(image_->LineAt(end - 1).system_name, "last_of_section");
  EXPECT_EQ(image_->LineAt(end).system_name, "");
}

TEST_F(AssemblyTest, NamesForPeopleAreDemangled) {
  const FunctionLine line = image_->LineAt(vaddr_.at("_ZN3foo3barEi"));
  EXPECT_EQ(line.name, "foo::bar(int)");
  EXPECT_EQ(line.system_name, "_ZN3foo3barEi");
  EXPECT_EQ(line.file, "");
}

TEST_F(AssemblyTest, ManyAddressesAtOnceEqualOneByOne) {
  std::vector<uint64_t> addresses;
  for (uint64_t vaddr = vaddr_.at("sized") - 4; vaddr < vaddr_.at("sized") + 256; ++vaddr) {
    addresses.push_back(vaddr);
  }
  const auto symbols = image_->Resolve(addresses);
  for (size_t i = 0; i < addresses.size(); ++i) {
    EXPECT_EQ(symbols[i].lines.empty() ? "" : symbols[i].lines[0].system_name,
              image_->LineAt(addresses[i]).system_name);
  }
  std::vector<uint64_t> none;
  EXPECT_TRUE(image_->Resolve(none).empty());
}

TEST_F(AssemblyTest, SurvivesEveryTruncationAndFlippedByte) {
  const auto original = image_->source->Read(0, image_->source->size_bytes());
  ASSERT_TRUE(original.ok());
  const std::vector<uint64_t> addresses{vaddr_.at("sized"), vaddr_.at("sized") + 30,
                                        vaddr_.at("last_of_section")};
  const auto resolve = [&](const std::vector<std::byte>& bytes) {
    const MemorySource source(bytes);
    const auto elf = ElfFile::Parse(source);
    if (!elf.ok()) return;
    const auto symbols = ResolveElfSymbols(*elf, source, addresses);
    EXPECT_TRUE(!symbols.ok() || symbols->size() == addresses.size());
  };
  for (size_t size = 0; size < original->size(); size += 61) {
    resolve({original->begin(), original->begin() + static_cast<long>(size)});
  }
  std::mt19937 random(3);
  for (int round = 0; round < 1500; ++round) {
    std::vector<std::byte> bytes = *original;
    bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    resolve(bytes);
  }
}

// --- stubs of the procedure linkage table ---

constexpr char kPltProgram[] = R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char** argv) {
  char copy[64];
  strncpy(copy, argv[0], sizeof(copy) - 1);
  printf("%d %s %zu\n", atoi(argv[argc - 1]), copy, strlen(argv[argc - 1]));
  return 0;
}
)";

// Stubs as `objdump -d` names them, e.g. "0000000000001030 <printf@plt>:".
std::map<std::string, uint64_t> StubsOf(const std::string& path) {
  std::map<std::string, uint64_t> stubs;
  std::istringstream lines(CommandOutput("objdump -d " + path));
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find("@plt>:");
    const size_t start = line.find('<');
    if (end == std::string::npos || start == std::string::npos) continue;
    stubs[line.substr(start + 1, end - start - 1)] = std::stoull(line, nullptr, 16);
  }
  return stubs;
}

TEST(PltTest, StubsAreNamedAsObjdumpDoes) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() + "/p.c") << kPltProgram;
  for (const char* flags :
       {"-O1", "-O1 -no-pie", "-O1 -fcf-protection -Wl,-z,ibtplt", "-O1 -Wl,-z,now"}) {
    SCOPED_TRACE(flags);
    const std::string path = folder.path() + "/p";
    CommandOutput("cd " + folder.path() + " && cc " + flags + " -fno-builtin -o p p.c");
    const auto image = OpenImage(path);
    if (!image) GTEST_SKIP() << "no C compiler";
    const auto stubs = StubsOf(path);
    ASSERT_GE(stubs.size(), 4u);
    ASSERT_TRUE(stubs.contains("printf"));
    for (const auto& [name, vaddr] : stubs) {
      if (name.find("ABS") != std::string::npos) continue;
      for (const unsigned distance : {0u, 5u, 7u}) {
        const FunctionLine line = image->LineAt(vaddr + distance);
        EXPECT_EQ(line.name, name.substr(0, name.find('@')) + "@plt") << std::hex << vaddr;
      }
    }
  }
}

// Linkers write the stubs in the order of their relocations, after a first one of 32 bytes.
TEST(PltTest, StubsOfArm64AreNamedByTheirRelocations) {
  const std::string path = "/usr/aarch64-linux-gnu/lib/libstdc++.so.6";
  const auto image = OpenImage(path);
  if (!image) GTEST_SKIP() << path << " is not on this machine";
  const Section* plt = image->elf.FindSection(".plt");
  ASSERT_NE(plt, nullptr);
  uint64_t stub = plt->vaddr + 32;
  size_t compared = 0;
  std::istringstream lines(CommandOutput("readelf -rW " + path));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("R_AARCH64_JUMP_SLOT") == std::string::npos) continue;
    std::istringstream words(line);
    std::string offset, info, type, value, name;
    words >> offset >> info >> type >> value >> name;
    name = name.substr(0, name.find('@'));
    if (!name.starts_with("_Z")) {
      ++compared;
      for (const unsigned distance : {0u, 5u, 15u}) {
        EXPECT_EQ(image->LineAt(stub + distance).name, name + "@plt") << std::hex << stub;
      }
    }
    stub += 16;
  }
  EXPECT_LE(plt->vaddr + plt->size_bytes - stub, 32u) << "one more, for thread-local variables";
  EXPECT_GT(compared, 50u);
  EXPECT_EQ(image->LineAt(plt->vaddr + 8).name.find("@plt"), std::string::npos) << "the first stub";
}

TEST(PltTest, FunctionsChosenAtLoadTimeGoByTheirChooser) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() + "/p.c") << kPltProgram;
  CommandOutput("cd " + folder.path() + " && cc -static -O1 -fno-builtin -o p p.c 2>&1");
  const auto image = OpenImage(folder.path() + "/p");
  if (!image) GTEST_SKIP() << "no static C library";
  const Section* plt = image->elf.FindSection(".plt");
  ASSERT_NE(plt, nullptr);
  std::vector<uint64_t> addresses;
  for (uint64_t at = 0; at < plt->size_bytes; at += 8) addresses.push_back(plt->vaddr + at);
  std::set<std::string> names;
  for (const Symbol& symbol : image->Resolve(addresses)) {
    if (!symbol.lines.empty()) names.insert(symbol.lines[0].name);
  }
  EXPECT_TRUE(names.contains("strlen@plt") || names.contains("strchr@plt"));
  EXPECT_TRUE(names.contains("strcpy@plt"));
  EXPECT_GT(names.size(), 8u);
}

// --- files of this machine, against nm ---

struct NmSymbol {
  uint64_t start = 0;
  uint64_t size = 0;
  std::string name;
};

std::vector<NmSymbol> NmSymbols(const std::string& path) {
  std::vector<NmSymbol> symbols;
  for (const char* option : {"", "-D"}) {
    std::istringstream lines(
        CommandOutput("nm -S --no-demangle " + std::string(option) + " " + path + " 2>/dev/null"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string start, size, type, name;
      if (!(words >> start >> size >> type >> name) || size.size() != 16) continue;
      if (std::string("tTwWiI").find(type) == std::string::npos) continue;
      symbols.push_back({std::stoull(start, nullptr, 16), std::stoull(size, nullptr, 16),
                         name.substr(0, name.find('@'))});
    }
  }
  return symbols;
}

// Files of many functions. Debian's node is a few bytes around a library that has the names.
std::vector<std::string> RealFiles() {
  const std::string libraries = "/usr/lib/x86_64-linux-gnu";
  std::vector<std::string> files{"/proc/self/exe", libraries + "/libc.so.6", "/usr/bin/python3.11"};
  for (const char* node : {"/usr/bin/node", "/usr/local/bin/node"}) {
    std::error_code error;
    const auto size_bytes = std::filesystem::file_size(node, error);
    if (!error && size_bytes > (1u << 20)) files.push_back(node);
  }
  for (const auto& entry : std::filesystem::directory_iterator(libraries)) {
    const std::string path = entry.path();
    if (path.starts_with(libraries + "/libnode.so.")) files.push_back(path);
  }
  return files;
}

TEST(RealFilesTest, NamesAreThoseOfNm) {
  size_t file_count = 0;
  for (const std::string& path : RealFiles()) {
    SCOPED_TRACE(path);
    const auto image = OpenImage(path);
    if (!image || image->elf.FindSection(".text") == nullptr) continue;
    const auto known = NmSymbols(path);
    if (known.empty()) continue;
    ++file_count;
    const Section& text = *image->elf.FindSection(".text");
    std::mt19937_64 random(5);
    std::vector<uint64_t> addresses;
    for (int i = 0; i < 300; ++i) addresses.push_back(text.vaddr + random() % text.size_bytes);
    const auto symbols = image->Resolve(addresses);
    // All names of the symbols that cover the address and start last.
    std::vector<uint64_t> starts(addresses.size(), 0);
    std::vector<std::set<std::string>> names(addresses.size());
    for (const NmSymbol& symbol : known) {
      auto at = std::lower_bound(addresses.begin(), addresses.end(), symbol.start);
      for (; at != addresses.end() && *at < symbol.start + symbol.size; ++at) {
        const auto i = static_cast<size_t>(at - addresses.begin());
        if (symbol.start < starts[i]) continue;
        if (symbol.start > starts[i]) names[i].clear();
        starts[i] = symbol.start;
        names[i].insert(symbol.name);
      }
    }
    size_t covered_count = 0;
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (names[i].empty()) continue;
      ++covered_count;
      ASSERT_FALSE(symbols[i].lines.empty()) << std::hex << addresses[i] << *names[i].begin();
      EXPECT_TRUE(names[i].contains(symbols[i].lines[0].system_name))
          << std::hex << addresses[i] << " " << symbols[i].lines[0].system_name << ", nm "
          << *names[i].begin();
    }
    EXPECT_GT(covered_count, 20u);
  }
  EXPECT_GE(file_count, 2u);
}

TEST(RealFilesTest, GoFunctionsHaveFilesAndLinesAlsoWhenStripped) {
  const auto toolchains = test::GoToolchains();
  if (toolchains.empty()) GTEST_SKIP() << "no Go toolchain on this machine";
  const test::TemporaryFolder folder;
  for (const std::string& go : toolchains) {
    const auto plain = test::BuildGoProgram(go, folder, "plain", "");
    const auto image = OpenImage(test::BuildGoProgram(go, folder, "stripped", "-ldflags='-s -w'"));
    ASSERT_TRUE(image);
    const std::string nm = CommandOutput("nm " + plain);
    for (const auto& [function, line_number] :
         {std::pair{"main.leaf", 17u}, std::pair{"main.(*tenant).slowValidate", 12u}}) {
      const size_t place = nm.find(" T " + std::string(function) + "\n");
      ASSERT_NE(place, std::string::npos);
      const FunctionLine line = image->LineAt(std::stoull(nm.substr(place - 16, 16), nullptr, 16));
      EXPECT_EQ(line.name, function);
      EXPECT_EQ(line.system_name, function);
      EXPECT_TRUE(line.file.ends_with("/main.go")) << line.file;
      EXPECT_EQ(line.line, line_number);
    }
  }
}

// --- inlined Go functions, against what the program's own runtime says of itself ---

struct GoFrame {
  int64_t distance = 0;  // from main.main
  std::string text;      // function file:line
};

// Blocks of frames as kGoInlineProgram prints them.
std::vector<std::vector<GoFrame>> FramesOf(const std::string& output) {
  std::vector<std::vector<GoFrame>> blocks(1);
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      blocks.emplace_back();
      continue;
    }
    std::istringstream words(line);
    GoFrame frame;
    std::string function, file, number;
    words >> frame.distance;
    words.ignore();
    std::getline(words, function, '\t');
    std::getline(words, file, '\t');
    std::getline(words, number);
    frame.text = function + " " + (file == "?" ? "" : file) + ":" + number;
    blocks.back().push_back(std::move(frame));
  }
  return blocks;
}

// The runtime leaves out wrappers around an inlined function: its own, and those that the compiler
// made around methods.
std::vector<std::string> TextsOf(const Symbol& symbol) {
  std::vector<std::string> texts;
  for (const FunctionLine& line : symbol.lines) {
    const bool is_wrapper = line.file == "<autogenerated>" || line.name == "reflect.callMethod";
    if (is_wrapper && !texts.empty()) continue;
    texts.push_back(line.name + " " + line.file + ":" + std::to_string(line.line));
  }
  return texts;
}

std::optional<uint64_t> VaddrOfGoFunction(object::GoPclntab& table, const std::string& name) {
  for (uint32_t i = 0; i < table.function_count(); ++i) {
    const auto function = table.FunctionAt(i);
    if (function && table.NameOf(*function) == name) return function->start_vaddr;
  }
  return std::nullopt;
}

uint32_t LineInGoSource(const std::string& text) {
  const std::string source = test::kGoInlineProgram;
  const auto end = source.begin() + static_cast<long>(source.find(text));
  return static_cast<uint32_t>(std::count(source.begin(), end, '\n')) + 1;
}

class GoInlineTest : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(GoInlineTest, StackOfInlinedCallsIsWhatTheRuntimePrints) {
  const auto toolchains = test::GoToolchains();
  if (toolchains.empty()) GTEST_SKIP() << "no Go toolchain on this machine";
  for (const std::string& go : toolchains) {
    SCOPED_TRACE(go);
    const test::TemporaryFolder folder;
    const std::string path =
        test::BuildGoProgram(go, folder, "sample", GetParam().second, test::kGoInlineProgram);
    if (path.empty()) GTEST_SKIP() << go << " cannot build with " << GetParam().second;
    const auto image = OpenImage(path);
    ASSERT_TRUE(image);
    auto table = object::GoPclntab::Find(image->elf, *image->source);
    ASSERT_TRUE(table.ok());
    const auto main_vaddr = VaddrOfGoFunction(*table, "main.main");
    ASSERT_TRUE(main_vaddr);
    const auto frames = FramesOf(CommandOutput(path + " stack"))[0];
    ASSERT_GE(frames.size(), 5u);
    std::vector<std::string> all_texts;
    for (size_t i = 0; i < frames.size();) {
      std::vector<uint64_t> address{*main_vaddr + static_cast<uint64_t>(frames[i].distance)};
      const auto symbols = image->Resolve(address);
      const auto texts = TextsOf(symbols[0]);
      ASSERT_FALSE(texts.empty());
      for (size_t j = 0; j < texts.size(); ++j) {
        ASSERT_LT(i + j, frames.size());
        EXPECT_EQ(texts[j], frames[i + j].text);
        all_texts.push_back(texts[j].substr(0, texts[j].find(' ')));
      }
      i += texts.size();
    }
    EXPECT_EQ(
        (std::vector<std::string>(all_texts.begin(), all_texts.begin() + 4)),
        (std::vector<std::string>{"main.record", "main.innermost", "main.middle", "main.main"}));
  }
}

TEST_P(GoInlineTest, EachAddressHasTheFramesThatTheRuntimePrints) {
  const auto toolchains = test::GoToolchains();
  if (toolchains.empty()) GTEST_SKIP() << "no Go toolchain on this machine";
  const test::TemporaryFolder folder;
  const std::string path = test::BuildGoProgram(toolchains[0], folder, "sample", GetParam().second,
                                                test::kGoInlineProgram);
  if (path.empty()) GTEST_SKIP() << "cannot build with " << GetParam().second;
  const auto image = OpenImage(path);
  ASSERT_TRUE(image);
  auto table = object::GoPclntab::Find(image->elf, *image->source);
  ASSERT_TRUE(table.ok());
  if (table->version() != object::GoVersion::k1_20) GTEST_SKIP() << "an old Go toolchain";
  const auto main_vaddr = VaddrOfGoFunction(*table, "main.main");
  ASSERT_TRUE(main_vaddr);

  // Every function of the program itself whole, of the others some addresses.
  std::vector<uint64_t> addresses;
  for (uint32_t i = 0; i < table->function_count(); ++i) {
    const auto function = table->FunctionAt(i);
    ASSERT_TRUE(function);
    const bool is_ours = table->NameOf(*function).starts_with("main.");
    const uint64_t step = is_ours ? 1 : 61;
    for (uint64_t at = function->start_vaddr; at + 1 < function->end_vaddr; at += step) {
      addresses.push_back(at);
    }
  }
  const auto symbols = image->Resolve(addresses);
  {
    std::ofstream questions(folder.path() + "/questions");
    for (const uint64_t address : addresses) {
      questions << static_cast<int64_t>(address - *main_vaddr) << "\n";
    }
  }
  const auto blocks = FramesOf(CommandOutput(path + " frames < " + folder.path() + "/questions"));
  ASSERT_EQ(blocks.size(), addresses.size() + 1);
  size_t inlined_count = 0;
  size_t depth_max = 0;
  std::set<std::string> names;
  for (size_t i = 0; i < addresses.size(); ++i) {
    std::vector<std::string> expected;
    for (const GoFrame& frame : blocks[i]) expected.push_back(frame.text);
    ASSERT_GE(expected.size(), 2u);
    expected.pop_back();  // main.record
    // The runtime takes the name at the very start of the list for none.
    if (expected[0].starts_with(' ')) continue;
    ASSERT_EQ(TextsOf(symbols[i]), expected) << std::hex << addresses[i];
    inlined_count += symbols[i].lines.size() > 1 ? 1 : 0;
    depth_max = std::max(depth_max, symbols[i].lines.size());
    for (const FunctionLine& line : symbols[i].lines) {
      names.insert(line.name);
      if (line.name == "main.middle") {
        EXPECT_EQ(line.start_line, LineInGoSource("func middle("));
      }
      if (line.name == "main.larger[...]") {
        EXPECT_EQ(line.start_line, LineInGoSource("func larger["));
        EXPECT_TRUE(line.system_name.starts_with("main.larger[go.shape."));
      }
    }
  }
  EXPECT_GT(addresses.size(), 10000u);
  EXPECT_GT(inlined_count, addresses.size() / 6);
  EXPECT_GE(depth_max, 4u);
  EXPECT_TRUE(names.contains("main.(*tenant).slowValidate"));
  EXPECT_TRUE(names.contains("main.larger[...]"));
}

INSTANTIATE_TEST_SUITE_P(
    Builds, GoInlineTest,
    testing::Values(std::pair{"normal", ""}, std::pair{"stripped", "-ldflags='-s -w'"},
                    std::pair{"pie", "-buildmode=pie"},
                    std::pair{"stripped_external_pie",
                              "-buildmode=pie -ldflags='-linkmode=external -s -w'"}),
    [](const auto& instance) { return std::string(instance.param.first); });

}  // namespace
}  // namespace vesta::symbolize
