#include "src/symbolize/kernel_symbolizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "src/base/byte_source.h"

namespace vesta::symbolize {
namespace {

constexpr std::string_view kKallsyms =
    "ffffffffa2a00000 T _stext\n"
    "ffffffffa2a00000 T _text\n"
    "ffffffffa2a00000 t startup_64\n"
    "ffffffffa2a00080 T entry_SYSCALL_64\n"
    "ffffffffa2a00f70 t common_interrupt_return\n"
    "ffffffffa2a00f70 T swapgs_restore_regs_and_return_to_usermode\n"
    "ffffffffa2a00f70 T __irqentry_text_end\n"
    "ffffffffa2b00000 T __ia32_sys_getpid\n"
    "ffffffffa2b00000 T __x64_sys_getpid\n"
    "ffffffffa2b00000 T __do_sys_getpid\n"
    "ffffffffa2b00040 t __pfx_vfs_read\n"
    "ffffffffa2b00050 T vfs_read\n"
    "ffffffffa2c00000 D jiffies_data\n"
    "ffffffffa3c00000 T _etext\n"
    "000000000001f000 A fixed_percpu_data\n"
    "ffffffffc0201000 t ext4_readpage\t[ext4]\n"
    "ffffffffc0201800 t ext4_writepage\t[ext4]\n"
    "ffffffffc0400000 t bpf_prog_6deef7357e7b4530_on_cpu\t[bpf]\n"
    "ffffffffc0500000 t optinsn_slot\t[__builtin__kprobes]\n"
    "broken line\n"
    "xyz T nonsense\n";

constexpr std::string_view kModules =
    "ext4 1015808 1 - Live 0xffffffffc0200000\n"
    "nosymbols 8192 0 - Live 0xffffffffc0600000 (OE)\n"
    "damaged\n";

std::unique_ptr<KernelSymbolizer> Parse(std::string_view kallsyms, std::string_view modules) {
  auto parsed = KernelSymbolizer::Parse(kallsyms, modules);
  EXPECT_TRUE(parsed.ok());
  return std::move(parsed).value();
}

struct Case {
  uint64_t address;
  const char* name;  // empty = none
  const char* module;
  uint64_t image_address;
};

class KernelSymbolizerTest : public testing::TestWithParam<Case> {};

TEST_P(KernelSymbolizerTest, NamesTheAddress) {
  const auto symbolizer = Parse(kKallsyms, kModules);
  const KernelLocation location = symbolizer->Resolve(GetParam().address);
  EXPECT_EQ(location.symbol.lines.empty() ? "" : location.symbol.lines[0].name, GetParam().name);
  EXPECT_EQ(location.module, GetParam().module);
  EXPECT_EQ(location.image_address, GetParam().image_address);
}

INSTANTIATE_TEST_SUITE_P(
    All, KernelSymbolizerTest,
    testing::Values(
        // A function beats the markers at its address; address space randomization is undone.
        Case{0xffffffffa2a00010, "startup_64", "", 0xffffffff81000010},
        Case{0xffffffffa2a00080, "entry_SYSCALL_64", "", 0xffffffff81000080},
        Case{0xffffffffa2a00f6f, "entry_SYSCALL_64", "", 0xffffffff81000f6f},
        // The global name beats the local one.
        Case{0xffffffffa2a00f70, "swapgs_restore_regs_and_return_to_usermode", "",
             0xffffffff81000f70},
        Case{0xffffffffa2b00001, "__x64_sys_getpid", "", 0xffffffff81100001},
        Case{0xffffffffa2b00050, "vfs_read", "", 0xffffffff81100050},
        // Data symbols do not end a function, the end of the text does.
        Case{0xffffffffa2c00000, "vfs_read", "", 0xffffffff81200000},
        Case{0xffffffffa3c00000, "", "", 0xffffffff82200000},
        Case{0xffffffffa29fffff, "", "", 0xffffffff80ffffff},
        Case{0xffffffffc0201004, "ext4_readpage", "ext4", 0x1004},
        Case{0xffffffffc0201fff, "ext4_writepage", "ext4", 0x1fff},
        Case{0xffffffffc0400010, "bpf_prog_6deef7357e7b4530_on_cpu", "bpf", 0xffffffffc0400010},
        Case{0xffffffffc0500000, "optinsn_slot", "__builtin__kprobes", 0xffffffffc0500000},
        Case{0xffffffffc0601000, "", "nosymbols", 0x1000},
        Case{0xffffffffd0000000, "", "", 0xffffffffae600000}, Case{0x1000, "", "", 0x1000}));

TEST(KernelSymbolizerErrorsTest, HiddenAddressesNameTheRemedy) {
  const auto parsed =
      KernelSymbolizer::Parse("0000000000000000 T _text\n0000000000000000 t startup_64\n", "");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code(), base::ErrorCode::kPermission);
  EXPECT_NE(parsed.error().message().find("kptr_restrict"), std::string::npos);
}

TEST(KernelSymbolizerErrorsTest, NothingReadableIsCorrupt) {
  for (const std::string_view text : {"", "\n\n", "garbage", "ffffffffa2c00000 D only_data\n"}) {
    const auto parsed = KernelSymbolizer::Parse(text, "");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), base::ErrorCode::kCorrupt);
  }
}

TEST(KernelSymbolizerErrorsTest, LinesInAnyOrderAndAcrossFourGigabytes) {
  const auto symbolizer =
      Parse("ffff800008010000 T late\nffff7ffffff00000 t early\nffff800008000000 T _text\n", "");
  EXPECT_EQ(symbolizer->Resolve(0xffff800008010004).symbol.lines.at(0).name, "late");
  EXPECT_EQ(symbolizer->Resolve(0xffff7ffffff00004).symbol.lines.at(0).name, "early");
  // The link address of this machine's kernel is not known: addresses stay.
  EXPECT_EQ(symbolizer->Resolve(0xffff800008010004).image_address, 0xffff800008010004);
}

// Oracle: a plain search through the text of this machine.
TEST(KernelSymbolizerRealTest, NamesEveryFunctionOfThisKernel) {
  const auto text = base::ReadSmallFile("/proc/kallsyms", 256u << 20);
  if (!text.ok()) GTEST_SKIP() << text.error().message();
  const auto parsed = KernelSymbolizer::Parse(*text, "");
  if (!parsed.ok()) GTEST_SKIP() << parsed.error().message();
  std::multimap<uint64_t, std::string> expected;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, type, name;
    words >> address >> type >> name;
    if (std::string("tTwW").find(type) == std::string::npos || name.starts_with("__pfx_")) continue;
    expected.emplace(std::stoull(address, nullptr, 16), name);
  }
  size_t checked_count = 0;
  for (auto entry = expected.begin(); entry != expected.end(); ++entry, ++checked_count) {
    if (entry->second == "_etext" || entry->second == "_einittext") continue;
    const auto location = (*parsed)->Resolve(entry->first);
    const auto [first, last] = expected.equal_range(entry->first);
    ASSERT_FALSE(location.symbol.lines.empty()) << entry->second;
    ASSERT_TRUE(std::any_of(
        first, last,
        [&](const auto& known) { return known.second == location.symbol.lines[0].name; }))
        << entry->second << " got " << location.symbol.lines[0].name;
  }
  EXPECT_GT(checked_count, 1000u);
  // The goal: 5 MB for the 122,000 lines of a distribution kernel.
  EXPECT_LT((*parsed)->memory_bytes(), 40 * (*parsed)->function_count() + (64 << 10));
}

}  // namespace
}  // namespace vesta::symbolize
