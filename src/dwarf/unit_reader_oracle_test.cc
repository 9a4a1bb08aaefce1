// Compares what the reader says of programs that are compiled here, in the ways that compilers lay
// debug information out, with llvm-symbolizer: names, inlined chains, files and lines, and where
// functions begin, address by address. VESTA_DWARF_FILES=FILE:FILE... compares these files too.
#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "src/dwarf/split_package.h"
#include "src/dwarf/unit_reader.h"
#include "test/support/debug_file.h"

namespace vesta::dwarf {
namespace {

constexpr size_t kAddressesMax = 6000;
constexpr size_t kMismatchesShown = 8;

class TempFolder {
 public:
  TempFolder() {
    std::string name = ::testing::TempDir() + "vesta-dwarf-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    const std::string command = "rm -rf '" + path_ + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool Runs(const std::string& command) {
  return std::system(("{ " + command + "; } >/dev/null 2>&1").c_str()) == 0;
}

bool InFolder(const TempFolder& folder, const std::string& command) {
  return std::system(
             ("cd '" + folder.path() + "' && export CPATH=. && { " + command + "; } >log 2>&1")
                 .c_str()) == 0;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Frame {
  std::string name;
  std::string file;
  uint32_t line = 0;
  std::string start_file;
  uint32_t start_line = 0;
};
using Chain = std::vector<Frame>;  // leaf first

std::ostream& operator<<(std::ostream& out, const Chain& chain) {
  for (const Frame& frame : chain) {
    out << "\n    " << frame.name << " " << frame.file << ":" << frame.line << " from "
        << frame.start_file << ":" << frame.start_line;
  }
  return out;
}

// llvm-symbolizer 19 says no file where a function begins when the number of the file is an
// implicit constant, and the unit's name where a caller's line is not known.
bool Same(const Chain& ours, const Chain& theirs) {
  if (ours.size() != theirs.size()) return false;
  for (size_t i = 0; i < ours.size(); ++i) {
    const Frame& our = ours[i];
    const Frame& their = theirs[i];
    if (our.name != their.name || our.line != their.line || our.start_line != their.start_line ||
        (our.file != their.file && (i == 0 || our.line != 0)) ||
        (our.start_file != their.start_file && !their.start_file.empty())) {
      return false;
    }
  }
  return true;
}

// Everything of one file, and by address what lies there.
class Answers {
 public:
  void Add(const Unit& unit) { units_.push_back(unit); }

  // Some addresses of each range: its ends and some between.
  std::vector<uint64_t> Addresses() const {
    std::set<uint64_t> all;
    for (const Unit& unit : units_) {
      for (const Range& range : unit.ranges) {
        all.insert({range.start, range.end - 1, range.start + (range.end - range.start) / 2});
      }
      for (const LineRow& row : unit.lines) {
        if (!row.end_sequence) all.insert(row.address);
      }
    }
    std::vector<uint64_t> picked;
    const size_t step = std::max<size_t>(1, all.size() / kAddressesMax);
    size_t i = 0;
    for (const uint64_t address : all) {
      if (i++ % step == 0) picked.push_back(address);
    }
    return picked;
  }

  // `addresses` are sorted.
  std::vector<Chain> Of(const std::vector<uint64_t>& addresses) const {
    std::vector<Chain> chains(addresses.size());
    std::vector<std::pair<const Unit*, uint32_t>> scopes(addresses.size(), {nullptr, kNone});
    std::vector<std::pair<const Unit*, const LineRow*>> rows(addresses.size(), {nullptr, nullptr});
    const auto first_at = [&](uint64_t address) {
      return static_cast<size_t>(std::lower_bound(addresses.begin(), addresses.end(), address) -
                                 addresses.begin());
    };
    for (const Unit& unit : units_) {
      std::vector<uint32_t> depths;
      for (uint32_t s = 0; s < unit.scopes.size(); ++s) {
        const uint32_t parent = unit.scopes[s].parent;
        depths.push_back(parent == kNone ? 0 : depths.at(parent) + 1);
        for (uint32_t r = 0; r < unit.scopes[s].range_count; ++r) {
          const Range& range = unit.ranges[unit.scopes[s].range_first + r];
          const size_t end = first_at(range.end);
          for (size_t i = first_at(range.start); i < end; ++i) {
            // Of the units that were given the one copy that the linker kept, the first.
            const bool deeper = scopes[i].first == nullptr ||
                                (scopes[i].first == &unit && depths[s] >= depths[scopes[i].second]);
            if (deeper) scopes[i] = {&unit, s};
          }
        }
      }
      for (size_t r = 0; r + 1 < unit.lines.size(); ++r) {
        const LineRow& row = unit.lines[r];
        if (row.end_sequence) continue;
        const size_t end = first_at(unit.lines[r + 1].address);
        for (size_t i = first_at(row.address); i < end; ++i) {
          if (rows[i].first == nullptr) rows[i] = {&unit, &row};
        }
      }
    }
    for (size_t i = 0; i < addresses.size(); ++i) {
      chains[i] = ChainOf(scopes[i].first, scopes[i].second, rows[i].first, rows[i].second);
    }
    return chains;
  }

 private:
  static std::string FileOf(const Unit& unit, uint32_t file) {
    return file == kNone ? "" : unit.files.at(file);
  }

  static Chain ChainOf(const Unit* unit, uint32_t scope, const Unit* row_unit, const LineRow* row) {
    Frame next;
    if (row != nullptr) {
      next.file = FileOf(*row_unit, row->file);
      next.line = row->line;
    }
    Chain chain;
    while (scope != kNone) {
      const Scope& place = unit->scopes.at(scope);
      if (place.function != kNone) {
        const Function& function = unit->functions.at(place.function);
        next.name = function.linkage_name.empty() ? function.name : function.linkage_name;
        next.start_file = FileOf(*unit, function.file);
        next.start_line = function.line;
      }
      chain.push_back(next);
      next = Frame();
      next.file = FileOf(*unit, place.call_file);
      next.line = place.call_line;
      scope = place.parent;
    }
    if (chain.empty()) chain.push_back(next);
    return chain;
  }

  std::vector<Unit> units_;
};

// A copy without symbol tables, whose names llvm-symbolizer prefers to those of the functions.
void CopyWithoutSymbols(const std::string& from, const std::string& to) {
  std::string bytes = ReadText(from);
  ASSERT_GT(bytes.size(), sizeof(Elf64_Ehdr)) << from;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const size_t place = header.e_shoff + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_type);
    ASSERT_LT(place + sizeof(uint32_t), bytes.size());
    uint32_t type = 0;
    std::memcpy(&type, bytes.data() + place, sizeof(type));
    if (type == SHT_SYMTAB || type == SHT_DYNSYM) type = SHT_PROGBITS;
    std::memcpy(bytes.data() + place, &type, sizeof(type));
  }
  std::ofstream(to, std::ios::binary) << bytes;
}

std::string Known(const std::string& text) { return text == "??" ? "" : text; }

std::vector<Chain> Symbolizer(const TempFolder& folder, const std::string& file,
                              const std::string& options, const std::vector<uint64_t>& addresses) {
  CopyWithoutSymbols(file, folder.path() + "/copy");
  {
    std::ofstream list(folder.path() + "/addresses");
    for (const uint64_t address : addresses) list << std::hex << "0x" << address << "\n";
  }
  EXPECT_TRUE(InFolder(folder,
                       "llvm-symbolizer-19 --obj=copy --functions=linkage --no-demangle "
                       "--inlines --verbose --no-debuginfod " +
                           options + " <addresses >answers"))
      << ReadText(folder.path() + "/log");
  std::ifstream answers(folder.path() + "/answers");
  std::vector<Chain> chains(1);
  const auto after = [](const std::string& line, const char* label, std::string& value) {
    if (line.rfind(label, 0) != 0) return false;
    value = line.substr(std::strlen(label));
    return true;
  };
  for (std::string line; std::getline(answers, line);) {
    std::string value;
    if (line.empty()) {
      chains.emplace_back();
    } else if (line[0] != ' ') {
      chains.back().emplace_back().name = Known(line);
    } else if (after(line, "  Filename: ", value)) {
      chains.back().back().file = Known(value);
    } else if (after(line, "  Line: ", value)) {
      chains.back().back().line = static_cast<uint32_t>(std::stoul(value));
    } else if (after(line, "  Function start filename: ", value)) {
      chains.back().back().start_file = Known(value);
    } else if (after(line, "  Function start line: ", value)) {
      chains.back().back().start_line = static_cast<uint32_t>(std::stoul(value));
    }
  }
  chains.pop_back();
  return chains;
}

struct Summary {
  size_t addresses = 0;
  size_t wrong = 0;
  size_t inlined = 0;  // addresses with more than one frame
  size_t with_line = 0;
  ReaderStats stats;
};

// `package` is a .dwp file; without one, .dwo files lie in the folder.
Summary Compare(const TempFolder& folder, const std::string& path, const std::string& package = "",
                const std::string& oracle = "") {
  Summary summary;
  auto file = test::DebugFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.error().message();
  if (!file.ok()) return summary;
  std::unique_ptr<test::DebugFile> alternate;
  if (!(*file)->alternate_path().empty()) {
    const std::string& link = (*file)->alternate_path();
    auto opened = test::DebugFile::Open(link[0] == '/' ? link : folder.path() + "/" + link);
    EXPECT_TRUE(opened.ok()) << link;
    if (opened.ok()) {
      alternate = std::move(opened).value();
      (*file)->set_alternate(*alternate);
    }
  }
  std::vector<std::unique_ptr<test::DebugFile>> split_files;
  Sections part;
  SplitSource split_source = [&](std::string_view name, std::string_view, uint64_t) {
    auto opened = test::DebugFile::Open(folder.path() + "/" + std::string(name), ".dwo");
    EXPECT_TRUE(opened.ok()) << name;
    split_files.push_back(std::move(opened).value());
    return &split_files.back()->sections();
  };
  if (!package.empty()) {
    auto opened = test::DebugFile::Open(package, ".dwo");
    EXPECT_TRUE(opened.ok()) << opened.error().message();
    split_files.push_back(std::move(opened).value());
    const auto index = SplitPackage::Parse(split_files[0]->cu_index());
    EXPECT_TRUE(index.ok()) << index.error().message();
    split_source = [&, parsed = *index](std::string_view, std::string_view, uint64_t id) {
      const auto found = parsed.Find(id, split_files[0]->sections());
      EXPECT_TRUE(found.has_value()) << id;
      part = found.value_or(Sections());
      return &part;
    };
  }
  Answers answers;
  UnitReader reader((*file)->sections(), split_source);
  Unit unit;
  while (reader.Next(unit)) answers.Add(unit);
  summary.stats = reader.stats();
  const std::vector<uint64_t> addresses = answers.Addresses();
  const std::vector<Chain> ours = answers.Of(addresses);
  const std::vector<Chain> theirs = Symbolizer(
      folder, oracle.empty() ? path : oracle, package.empty() ? "" : "--dwp=" + package, addresses);
  EXPECT_EQ(ours.size(), theirs.size());
  summary.addresses = addresses.size();
  for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    if (ours[i].size() > 1) ++summary.inlined;
    if (ours[i][0].line != 0) ++summary.with_line;
    if (Same(ours[i], theirs[i])) continue;
    if (summary.wrong++ < kMismatchesShown) {
      ADD_FAILURE() << path << std::hex << " 0x" << addresses[i] << std::dec << "\n  ours"
                    << ours[i] << "\n  llvm-symbolizer" << theirs[i];
    }
  }
  EXPECT_EQ(summary.wrong, 0u) << "of " << addresses.size();
  std::printf("  %zu addresses, %zu inlined, %zu with a line, %zu differ: %s\n", summary.addresses,
              summary.inlined, summary.with_line, summary.wrong, path.c_str());
  return summary;
}

constexpr const char* kOneCc = R"(
#include <vector>
#include <shared.h>
namespace {
template <typename Less> void arrange(std::vector<int>& values, Less less) {
  for (unsigned i = 1; i < values.size(); ++i) {
    for (unsigned j = i; j > 0 && less(values[j], values[j - 1]); --j) {
      const int kept = values[j];
      values[j] = values[j - 1];
      values[j - 1] = kept;
    }
  }
}
struct Base { virtual ~Base() {} virtual int value(int x) const { return x; } };
struct Derived : Base { int value(int x) const override { return twice(x) + 1; } };
}
template <typename T> struct Counter {
  Counter();
  ~Counter() { total = 0; }
  T add(T x) { return total += square(x); }
  T total;
};
template <typename T> __attribute__((noinline)) Counter<T>::Counter() : total(T()) {}
int cold_path(int x) __attribute__((noinline));
int cold_path(int x) {
  std::vector<int> values;
  for (int i = 0; i < x; ++i) values.push_back(twice(i));
  if (x > 1000) throw square(x);
  arrange(values, [x](int a, int b) { return square(a) % x < square(b) % x; });
  struct Local { static int last(const std::vector<int>& v) { return v.empty() ? 0 : square(v.back()); } };
  return Local::last(values);
}
int other(int);
int unused_function(int x) { return square(x) + 7; }
int main(int argc, char**) {
  Counter<long> counter;
  const Base* base = argc > 1 ? new Base() : new Derived();
  const int result = cold_path(argc * 3) + base->value(argc) + other(argc) +
                     static_cast<int>(counter.add(argc));
  delete base;
  return result & 1;
}
)";
constexpr const char* kTwoCc = R"(
#include <shared.h>
extern "C" int c_work(int);
int other(int x) {
  int sum = 0;
  for (int i = 0; i < x; ++i) {
    sum += twice(i);
    if (sum & 4) sum += square(sum);
  }
  return sum + c_work(x);
}
)";
constexpr const char* kSharedH = R"(
#pragma once
extern volatile int sink;
inline int square(int x) {
  sink = x;
  return x * x;
}
static inline __attribute__((always_inline)) int twice(int x) {
  const int first = square(x);
  return square(first) + x;
}
)";
constexpr const char* kThreeC = R"(
volatile int sink;
static inline int half(int x) { return x / 2; }
int c_work(int x) {
  int total = sink;
  for (int i = 0; i < x; ++i) total += half(i + sink);
  return total;
}
)";

constexpr const char* kNestedC = R"(
extern volatile int sink;
volatile int sink;
static inline int third(int x) { return x / 3 + sink; }
int outer(int x) {
  int total = 0;
  int inner(int y) {
    int innermost(int z) { return third(z) + x; }
    total += third(y);
    return innermost(y) + total;
  }
  for (int i = 0; i < x; ++i) total += inner(i) + third(i);
  return total;
}
int main(int argc, char** argv) {
  int deeper(int x) {
    {
      int again = third(x);
      { return again + third(again) + argc; }
    }
  }
  return outer(argc) + deeper(argc) + (argv == 0);
}
)";
constexpr const char* kWorkRs = R"(
// std's own is newer than the Rust of Debian 12.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &value, options(nostack, preserves_flags)) };
    value
}
struct Counter<T> { total: T }
impl Counter<u64> {
    #[inline(always)]
    fn add(&mut self, x: u64) -> u64 { self.total = self.total.wrapping_add(x * x); self.total }
}
trait Shape { fn area(&self) -> u64; }
struct Square(u64);
impl Shape for Square { #[inline(never)] fn area(&self) -> u64 { self.0 * black_box(self.0) } }
#[inline(never)]
fn work(n: u64) -> u64 {
    let mut counter = Counter { total: 0u64 };
    let values: Vec<u64> = (0..n).map(|x| black_box(x) * 2).filter(|x| x % 3 != 0).collect();
    for value in &values { counter.add(*value); }
    let shape: Box<dyn Shape> = Box::new(Square(n));
    counter.total + shape.area()
}
fn main() { std::process::exit((work(std::env::args().count() as u64) & 1) as i32) }
)";

struct Layout {
  const char* name;
  const char* needs;  // a command that succeeds where this can be built
  const char* build;  // makes `program`
  const char* package = "";
  const char* oracle = "program";  // what llvm-symbolizer is asked about
};

void PrintTo(const Layout& layout, std::ostream* out) { *out << layout.name; }

const Layout kLayouts[] = {
    {"gcc_4", "gcc --version", "gcc -gdwarf-4 -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"gcc_5", "gcc --version", "gcc -gdwarf-5 -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"gcc_3", "gcc --version",
     "gcc -gdwarf-3 -gstrict-dwarf -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"gcc_2", "gcc --version",
     "gcc -gdwarf-2 -gstrict-dwarf -fno-reorder-blocks-and-partition -O2 -o program one.cc two.cc "
     "three.c -lstdc++"},
    {"gcc_unoptimized", "gcc --version", "gcc -g -O0 -o program one.cc two.cc three.c -lstdc++"},
    {"gcc_lines_only", "gcc --version", "gcc -g1 -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"gcc_64_bit_offsets", "gcc --version",
     "gcc -gdwarf-5 -gdwarf64 -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"gcc_type_units", "gcc --version",
     "gcc -gdwarf-4 -fdebug-types-section -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"gcc_removed_functions", "gcc --version",
     "gcc -gdwarf-5 -ffunction-sections -Wl,--gc-sections -O2 -o program one.cc two.cc three.c "
     "-lstdc++"},
    {"gcc_removed_functions_4", "gcc --version",
     "gcc -gdwarf-4 -ffunction-sections -Wl,--gc-sections -O2 -o program one.cc two.cc three.c "
     "-lstdc++"},
    {"gcc_lto", "gcc --version", "gcc -g -flto -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"gcc_compressed", "gcc --version",
     "gcc -g -gz=zlib -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"gcc_split_4", "gcc --version",
     "gcc -gdwarf-4 -gsplit-dwarf -O2 -c one.cc two.cc three.c && gcc -o program one.o two.o "
     "three.o -lstdc++"},
    {"gcc_split_5", "gcc --version",
     "gcc -gdwarf-5 -gsplit-dwarf -O2 -c one.cc two.cc three.c && gcc -o program one.o two.o "
     "three.o -lstdc++"},
    {"gcc_package_4", "dwp --version",
     "gcc -gdwarf-4 -gsplit-dwarf -O2 -c one.cc two.cc three.c && gcc -o program one.o two.o "
     "three.o -lstdc++ && dwp -e program && rm *.dwo",
     "program.dwp"},
    {"clang_4", "clang-14 --version",
     "clang-14 -gdwarf-4 -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"clang_5", "clang-14 --version",
     "clang-14 -gdwarf-5 -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"clang_removed_functions", "clang-14 --version",
     "clang-14 -gdwarf-5 -ffunction-sections -Wl,--gc-sections -O2 -o program one.cc two.cc "
     "three.c -lstdc++"},
    {"clang_lto", "clang-14 --version && test -e /usr/lib/llvm-14/lib/LLVMgold.so && ld.gold -v",
     "clang-14 -g -flto -fuse-ld=gold -O2 -o program one.cc two.cc three.c -lstdc++"},
    {"clang_split_4", "clang-14 --version",
     "clang-14 -gdwarf-4 -gsplit-dwarf -O2 -c one.cc two.cc three.c && gcc -o program one.o two.o "
     "three.o -lstdc++"},
    {"clang_split_5", "clang-14 --version",
     "clang-14 -gdwarf-5 -gsplit-dwarf -O2 -c one.cc two.cc three.c && gcc -o program one.o two.o "
     "three.o -lstdc++"},
    {"clang_package_5", "clang-14 --version && llvm-dwp-14 --version",
     "clang-14 -gdwarf-5 -gsplit-dwarf -O2 -c one.cc two.cc three.c && gcc -o program one.o two.o "
     "three.o -lstdc++ && llvm-dwp-14 -e program -o program.dwp && rm *.dwo",
     "program.dwp"},
    {"dwz", "dwz --version && gcc --version",
     "gcc -gdwarf-5 -O2 -o program one.cc two.cc three.c -lstdc++ && dwz program"},
    {"dwz_alternate", "dwz --version && gcc --version",
     "gcc -gdwarf-5 -O2 -o program one.cc two.cc three.c -lstdc++ && cp program again && cp "
     "program "
     "whole && dwz -m alternate program again",
     "", "whole"},
    {"nested_functions", "gcc --version",
     "gcc -g -O1 -fno-inline-small-functions -o program nested.c"},
    {"rust", "rustc --version", "rustc -g -O -o program work.rs"},
    {"rust_lto", "rustc --version",
     "rustc -g -C opt-level=2 -C lto=thin -C codegen-units=4 -o program work.rs"},
};

class OfEachLayout : public ::testing::TestWithParam<Layout> {};

TEST_P(OfEachLayout, IsAsLlvmSymbolizerSays) {
  if (!Runs("llvm-symbolizer-19 --version")) GTEST_SKIP() << "there is no llvm-symbolizer-19";
  if (!Runs(GetParam().needs)) GTEST_SKIP() << "needs: " << GetParam().needs;
  const TempFolder folder;
  std::ofstream(folder.path() + "/one.cc") << kOneCc;
  std::ofstream(folder.path() + "/two.cc") << kTwoCc;
  std::ofstream(folder.path() + "/three.c") << kThreeC;
  std::ofstream(folder.path() + "/shared.h") << kSharedH;
  std::ofstream(folder.path() + "/nested.c") << kNestedC;
  std::ofstream(folder.path() + "/work.rs") << kWorkRs;
  ASSERT_TRUE(InFolder(folder, GetParam().build)) << ReadText(folder.path() + "/log");
  const std::string package =
      *GetParam().package == '\0' ? "" : folder.path() + "/" + GetParam().package;
  const Summary summary =
      Compare(folder, folder.path() + "/program", package, folder.path() + "/" + GetParam().oracle);
  EXPECT_GT(summary.addresses, 30u);
  EXPECT_GT(summary.with_line, summary.addresses / 2);
  EXPECT_GT(summary.inlined, 0u);
  EXPECT_GE(summary.stats.unit_count, 1u);
  EXPECT_EQ(summary.stats.damaged_count, 0u);
  EXPECT_EQ(summary.stats.truncated_count, 0u);
  EXPECT_EQ(summary.stats.line_damaged_count, 0u);
  EXPECT_EQ(summary.stats.split_missing_count, 0u);
  EXPECT_EQ(summary.stats.lost_reference_count, 0u);
  EXPECT_EQ(summary.stats.damaged_range_list_count, 0u);
}

INSTANTIATE_TEST_SUITE_P(Dwarf, OfEachLayout, ::testing::ValuesIn(kLayouts),
                         [](const auto& layout) { return std::string(layout.param.name); });

TEST(UnitReaderOracle, NamedFilesAreAsLlvmSymbolizerSays) {
  const char* files = std::getenv("VESTA_DWARF_FILES");
  if (files == nullptr) GTEST_SKIP() << "VESTA_DWARF_FILES is not set";
  std::stringstream list(files);
  for (std::string path; std::getline(list, path, ':');) {
    const TempFolder folder;
    Compare(folder, path);
  }
}

}  // namespace
}  // namespace vesta::dwarf
