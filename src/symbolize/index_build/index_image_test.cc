// Each source of names end to end: programs that are compiled here, stripped and packed the ways
// that distributions do, and what the finished index then says of their code.
#include "src/symbolize/index_build/index_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "src/symbolize/index/symbol_index.h"

namespace vesta::symbolize {
namespace {

constexpr const char* kWorkC = R"(volatile int sink;
static __attribute__((noinline)) int hidden(int x) {
  sink = x;
  return x * 3 + sink;
}
static inline __attribute__((always_inline)) int step(int x) {
  sink = x + 1;
  return hidden(x) + sink;
}
__attribute__((noinline, visibility("default"))) int work(int x) {
  int total = 0;
  for (int i = 0; i < x; ++i) {
    total += step(i);
  }
  return total;
}
int main(int argc, char** argv) {
  (void)argv;
  return work(argc) & 1;
}
)";

struct Built {
  base::Result<IndexReport> report;
  std::vector<std::byte> bytes;
};

class IndexImageTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "vesta-index-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    for (const char* path :
         {"root", "root/bin", "root/usr", "root/usr/lib", "root/usr/lib/debug"}) {
      ASSERT_EQ(::mkdir((folder_ + "/" + path).c_str(), 0755), 0);
    }
    Write("work.c", kWorkC);
  }
  void TearDown() override {
    const std::string command = "rm -rf '" + folder_ + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  void Write(const std::string& path, const std::string& text) {
    std::ofstream(folder_ + "/" + path, std::ios::binary) << text;
  }
  std::string Read(const std::string& path) {
    std::ifstream file(folder_ + "/" + path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  bool Runs(const std::string& command) {
    return std::system(("cd '" + folder_ + "' && { " + command + "; } >log 2>&1").c_str()) == 0;
  }
  void Run(const std::string& command) {
    ASSERT_TRUE(Runs(command)) << command << "\n" << Read("log");
  }
  // The program as root/bin/prog, its unstripped twin as `whole`.
  void Compile(const std::string& options, const std::string& compiler = "gcc") {
    Run(compiler + " -O1 " + options + " work.c -o whole && cp whole root/bin/prog");
  }
  std::string BuildId() {
    EXPECT_TRUE(Runs("readelf -n whole | sed -n 's/.*Build ID: //p' | tr -d '\\n' >id"));
    return Read("id");
  }

  Built Build(const std::string& path = "/bin/prog") {
    IndexRequest request = request_;
    request.files.roots = {folder_ + "/root"};
    request.files.image_path = path;
    request.files.scratch_fd = ::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int fd =
        ::open((folder_ + "/index").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    auto image = base::FileSource::Open(folder_ + "/root" + path);
    EXPECT_TRUE(image.ok());
    Built built{IndexImage(**image, request, fd), {}};
    ::close(fd);
    ::close(request.files.scratch_fd);
    const std::string text = Read("index");
    const auto bytes = std::as_bytes(std::span(text));
    built.bytes.assign(bytes.begin(), bytes.end());
    return built;
  }

  // What the index says of each address of a function of `whole`: "step:7 < work:13", names as the
  // file has them, without the lines when there are none.
  std::set<std::string> Chains(const Built& built, const std::string& function) {
    std::set<std::string> chains;
    EXPECT_TRUE(built.report.ok()) << built.report.error().message();
    if (!built.report.ok()) return chains;
    const auto index = SymbolIndex::Open(built.bytes, built.report->identity);
    EXPECT_TRUE(index.ok()) << index.error().message();
    if (!index.ok()) return chains;
    EXPECT_TRUE(Runs("nm -S whole | grep -E ' [tTwW] " + function + "$' | head -1 >place"));
    std::istringstream place(Read("place"));
    uint64_t start = 0;
    uint64_t size = 0;
    place >> std::hex >> start >> size;
    EXPECT_GT(size, 0u) << function;
    for (uint64_t address = start; address < start + size; ++address) {
      std::array<SymbolIndex::Call, 16> calls;
      const size_t count = index->Find(address, calls);
      std::string text;
      for (size_t i = 0; i < count; ++i) {
        if (i > 0) text += " < ";
        text += index->function(calls[i].function).system_name();
        if (calls[i].line == 0) continue;
        const std::string_view file = index->file(calls[i].file);
        files_.insert(std::string(file.substr(file.rfind('/') + 1)));
        text += ":" + std::to_string(calls[i].line);
      }
      chains.insert(text);
    }
    return chains;
  }

  void ExpectDescribed(const Built& built) {
    const auto work = Chains(built, "work");
    EXPECT_TRUE(work.count("step:7 < work:13")) << Shown(built, work);
    EXPECT_TRUE(work.count("work:12")) << Shown(built, work);
    const auto hidden = Chains(built, "hidden");
    EXPECT_TRUE(hidden.count("hidden:3")) << Shown(built, hidden);
    EXPECT_TRUE(hidden.count("hidden:4")) << Shown(built, hidden);
    EXPECT_EQ(files_, std::set<std::string>({"work.c"}));
    EXPECT_TRUE(built.report.ok() && built.report->has_lines);
  }
  void ExpectNamesOnly(const Built& built) {
    EXPECT_EQ(Chains(built, "work"), std::set<std::string>({"work"}));
    EXPECT_EQ(Chains(built, "hidden"), std::set<std::string>({"hidden"}));
    EXPECT_FALSE(built.report.ok() && built.report->has_lines);
  }
  static std::string Shown(const Built& built, const std::set<std::string>& chains) {
    std::string text;
    for (const std::string& chain : chains) text += "[" + chain + "] ";
    return text + (built.report.ok() ? ReportJson(*built.report) : built.report.error().message());
  }
  static bool HasReason(const Built& built, const std::string& part) {
    if (!built.report.ok()) return built.report.error().message().find(part) != std::string::npos;
    for (const std::string& reason : built.report->reasons) {
      if (reason.find(part) != std::string::npos) return true;
    }
    return false;
  }
  static bool HasSource(const Built& built, const std::string& part) {
    if (!built.report.ok()) return false;
    for (const std::string& source : built.report->sources) {
      if (source.find(part) != std::string::npos) return true;
    }
    return false;
  }

  std::string folder_;
  std::set<std::string> files_;
  IndexRequest request_;
};

TEST_F(IndexImageTest, OwnDebugInformation) {
  for (const char* options : {"-g -gdwarf-5", "-g -gdwarf-4"}) {
    Compile(options);
    const Built built = Build();
    ExpectDescribed(built);
    EXPECT_EQ(built.report->damaged_count, 0u);
    EXPECT_TRUE(built.report->reasons.empty()) << ReportJson(*built.report);
  }
}

TEST_F(IndexImageTest, CompressedSections) {
  for (const char* options :
       {"--compress-debug-sections=zlib", "--compress-debug-sections=zlib-gnu",
        "--compress-debug-sections=zstd"}) {
    Compile("-g");
    Run(std::string("objcopy ") + options +
        " root/bin/prog && readelf -SW root/bin/prog | "
        "grep -E 'zdebug_info|debug_info .* C '");
    const Built built = Build();
    ExpectDescribed(built);
    EXPECT_GT(built.report->unpacked_bytes, 0u) << options;
  }
}

TEST_F(IndexImageTest, SymbolTableOnly) {
  Compile("");
  const Built built = Build();
  ExpectNamesOnly(built);
  EXPECT_TRUE(HasSource(built, "symbol tables"));
}

TEST_F(IndexImageTest, DynamicSymbolsAndStubsOfALibrary) {
  Run("echo 'int puts(const char*);' >>work.c && sed -i 's/return total;/puts(\"\"); return "
      "total;/' work.c");
  Compile("-shared -fPIC -Wl,-z,lazy");
  Run("strip root/bin/prog");
  const Built built = Build();
  EXPECT_EQ(Chains(built, "work"), std::set<std::string>({"work"}));
  EXPECT_EQ(Chains(built, "hidden"), std::set<std::string>({""}));
  Run("objdump -d --no-show-raw-insn whole | sed -n 's/^0*\\([0-9a-f]*\\) <puts@plt>:/\\1/p' >plt");
  const auto index = SymbolIndex::Open(built.bytes, built.report->identity);
  ASSERT_TRUE(index.ok());
  std::array<SymbolIndex::Call, 4> calls;
  const uint64_t stub = std::stoull(Read("plt"), nullptr, 16);
  ASSERT_EQ(index->Find(stub + 3, calls), 1u);
  EXPECT_EQ(index->function(calls[0].function).system_name(), "puts@plt");
}

TEST_F(IndexImageTest, DebugFileByLink) {
  const std::array<const char*, 3> places = {"bin/prog.debug", "bin/.debug/prog.debug",
                                             "usr/lib/debug/bin/prog.debug"};
  for (const char* build_id : {"-Wl,--build-id", "-Wl,--build-id=none"}) {
    for (const char* place : places) {
      Compile(std::string("-g ") + build_id);
      Run(std::string("f=root/") + place +
          "; mkdir -p $(dirname $f) && objcopy --only-keep-debug whole $f && "
          "strip root/bin/prog && objcopy --add-gnu-debuglink=$f root/bin/prog");
      const Built built = Build();
      ExpectDescribed(built);
      EXPECT_TRUE(HasSource(built, std::string("debug file /") + place));
      Run(std::string("rm root/") + place);
    }
  }
}

TEST_F(IndexImageTest, DebugFileByBuildId) {
  Compile("-g -Wl,--build-id");
  const std::string id = BuildId();
  ASSERT_EQ(id.size(), 40u);
  Run("f=root/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) +
      ".debug; mkdir -p $(dirname $f) && objcopy --only-keep-debug --compress-debug-sections=zlib "
      "whole $f && strip root/bin/prog");
  ExpectDescribed(Build());
  // The name of the file that was deleted leads nowhere, its build id does.
  Run("mv root/bin/prog root/bin/moved");
  ExpectDescribed(Build("/bin/moved"));
}

TEST_F(IndexImageTest, DebugFilesOfAnotherBuildAreRefused) {
  for (const char* build_id : {"-Wl,--build-id", "-Wl,--build-id=none"}) {
    Compile(std::string("-g -rdynamic ") + build_id);
    Run("objcopy --only-keep-debug whole root/bin/prog.debug && strip root/bin/prog && "
        "objcopy --add-gnu-debuglink=root/bin/prog.debug root/bin/prog && "
        "(cat work.c; echo 'int more(void) { return 1; }') >other.c");
    Run(std::string("gcc -O1 -g ") + build_id +
        " work.c -o other && "
        "objcopy --only-keep-debug other root/bin/prog.debug");
    const Built built = Build();
    EXPECT_EQ(Chains(built, "hidden"), std::set<std::string>({""}));
    EXPECT_TRUE(HasReason(built, "has another")) << Shown(built, {});
  }
}

TEST_F(IndexImageTest, MiniDebugInfo) {
  Compile("-Wl,--build-id");
  // As find-debuginfo of rpm does: a file with the symbols only, packed with xz.
  Run("objcopy -S --remove-section .gdb_index --remove-section .comment "
      "--keep-symbol=hidden --keep-symbol=work whole mini && xz mini && strip root/bin/prog && "
      "objcopy --add-section .gnu_debugdata=mini.xz root/bin/prog");
  const Built built = Build();
  ExpectNamesOnly(built);
  EXPECT_TRUE(HasSource(built, "MiniDebugInfo"));
}

TEST_F(IndexImageTest, SplitUnits) {
  for (const char* options : {"-gdwarf-5", "-gdwarf-4"}) {
    // Beside where it was compiled, as the process's root has it.
    Run("mkdir -p root/src && cp work.c root/src");
    Run(std::string("cd root/src && gcc -O1 -g -gsplit-dwarf ") + options +
        " -fdebug-prefix-map='" + folder_ +
        "/root'= -c work.c -o work.o && "
        "gcc work.o -o ../../whole && cp ../../whole ../bin/prog");
    const Built built = Build();
    ExpectDescribed(built);
    EXPECT_TRUE(HasSource(built, "1 .dwo files"));
    // Beside the binary.
    Run("mv root/src/work.dwo root/bin/");
    ExpectDescribed(Build());
    // Of another build.
    Run(std::string(
            "cp work.c other.c && echo 'int more(int x) { return x; }' >>other.c && gcc -O1 "
            "-g -gsplit-dwarf ") +
        options + " -c other.c -o other.o && cp other.dwo root/bin/work.dwo");
    const Built wrong = Build();
    EXPECT_TRUE(HasReason(wrong, "of another build"));
    EXPECT_EQ(wrong.report->split_missing_count, 1u);
    EXPECT_TRUE(Chains(wrong, "work").count("work:12"));  // lines are in the binary itself
  }
}

TEST_F(IndexImageTest, PackagesOfSplitUnits) {
  const std::array<std::array<const char*, 2>, 2> ways = {
      {{"gcc -gdwarf-4", "dwp -o root/bin/prog.dwp work.dwo"},
       {"clang-14 -gdwarf-5", "llvm-dwp-14 -o root/bin/prog.dwp work.dwo"}}};
  for (const auto& [compiler, packer] : ways) {
    Run(std::string(compiler) +
        " -O1 -g -gsplit-dwarf -c work.c -o work.o && gcc work.o -o whole && "
        "cp whole root/bin/prog && timeout 60 " +
        packer + " && rm work.dwo");
    const Built built = Build();
    const auto work = Chains(built, "work");
    EXPECT_TRUE(work.count("step:7 < work:13")) << compiler << Shown(built, work);
    EXPECT_TRUE(HasSource(built, "package /bin/prog.dwp"));
  }
}

TEST_F(IndexImageTest, PartsSharedByDwz) {
  if (!Runs("dwz --version")) GTEST_SKIP() << "dwz is not installed";
  Write("shared.h",
        "struct Shared { int a, b, c; long d[4]; char name[32]; struct Shared* next; };\n"
        "struct More { struct Shared x, y; unsigned long flags; };\n");
  Run("(echo '#include \"shared.h\"'; echo 'struct More more;'; echo '#line 1 \"work.c\"'; cat "
      "work.c) "
      ">with.c && gcc -O1 -g with.c -o whole && sed s/work/other/g with.c >o.c && gcc -O1 -g o.c "
      "-o o");
  Run("objcopy --only-keep-debug whole root/bin/prog.debug && objcopy --only-keep-debug o "
      "root/bin/o.debug && cd root/bin && dwz -m ../usr/lib/debug/shared.dwz -M "
      "/usr/lib/debug/shared.dwz prog.debug o.debug && cp ../../whole prog && strip prog && "
      "objcopy --add-gnu-debuglink=prog.debug prog && readelf -SW prog.debug | grep debugaltlink");
  const Built built = Build();
  ExpectDescribed(built);
  EXPECT_TRUE(HasSource(built, "dwz file /usr/lib/debug/shared.dwz")) << Shown(built, {});
  Run("rm root/usr/lib/debug/shared.dwz");
  EXPECT_TRUE(HasReason(Build(), "shared.dwz was not found"));
  // A link to itself.
  Run("cp root/bin/prog.debug root/usr/lib/debug/shared.dwz");
  EXPECT_TRUE(HasReason(Build(), "has another build id"));
}

TEST_F(IndexImageTest, StrippedGo) {
  if (!Runs("go version")) GTEST_SKIP() << "go is not installed";
  Write("main.go", R"(package main

import "os"

//go:noinline
func hidden(x int) int {
    return x*3 + len(os.Args)
}

func step(x int) int {
    return hidden(x) + 1
}

//go:noinline
func work(x int) int {
    total := 0
    for i := 0; i < x; i++ {
        total += step(i)
    }
    return total
}

func main() {
    os.Exit(work(len(os.Args)) & 1)
}
)");
  Run("export GOTOOLCHAIN=local GOFLAGS=; "
      "go build -o whole main.go && go build -ldflags='-s -w' -o root/bin/prog main.go");
  for (const bool stripped : {true, false}) {
    if (!stripped) Run("cp whole root/bin/prog");
    const Built built = Build();
    const auto work = Chains(built, "main.work");
    EXPECT_TRUE(work.count("main.step:11 < main.work:18")) << Shown(built, work);
    EXPECT_TRUE(work.count("main.work:17")) << Shown(built, work);
    const auto hidden = Chains(built, "main.hidden");
    EXPECT_TRUE(hidden.count("main.hidden:7")) << Shown(built, hidden);
    EXPECT_TRUE(HasSource(built, "Go's function table"));
  }
}

TEST_F(IndexImageTest, Rust) {
  if (!Runs("rustc --version")) GTEST_SKIP() << "rustc is not installed";
  Write("main.rs", R"(// std's own is newer than the Rust of Debian 12.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &value, options(nostack, preserves_flags)) };
    value
}
#[inline(always)]
fn step(x: i32) -> i32 {
    black_box(x) + 1
}
#[no_mangle]
#[inline(never)]
fn work(x: i32) -> i32 {
    let mut total = 0;
    for i in 0..black_box(x) {
        total += step(i);
    }
    total
}
fn main() {
    std::process::exit(work(3) & 1);
}
)");
  Run("rustc -g -O main.rs -o whole && cp whole root/bin/prog");
  const Built built = Build();
  bool is_found = false;
  const auto work = Chains(built, "work");
  for (const std::string& chain : work) {
    is_found |= chain.find("step") != std::string::npos && chain.ends_with(" < work:16");
  }
  EXPECT_TRUE(is_found) << Shown(built, work);
}

// ---- what nobody vouches for

TEST_F(IndexImageTest, NoElfFileIsAnError) {
  Write("root/bin/prog", "#!/bin/sh\n");
  const Built built = Build();
  ASSERT_FALSE(built.report.ok());
  EXPECT_EQ(built.report.error().code(), base::ErrorCode::kCorrupt);
}

TEST_F(IndexImageTest, NothingThatNamesTheCodeIsAnError) {
  Compile("-static -nostdlib -ffreestanding -Wl,-e,main -Wl,--build-id=none");
  Run("strip root/bin/prog");
  const Built built = Build();
  ASSERT_FALSE(built.report.ok());
  EXPECT_EQ(built.report.error().code(), base::ErrorCode::kNotFound);
}

TEST_F(IndexImageTest, LinksToWhatIsNoFileAreNotOpened) {
  Compile("-g -rdynamic -Wl,--build-id=none");
  Run("objcopy --only-keep-debug whole link.debug && strip root/bin/prog && "
      "objcopy --add-gnu-debuglink=link.debug root/bin/prog");
  Run("mkfifo root/bin/link.debug");
  EXPECT_TRUE(HasReason(Build(), "not a regular file"));
  Run("rm root/bin/link.debug && ln -s /etc/shadow root/bin/link.debug && mkdir root/etc && "
      "seq 100 >root/etc/shadow");
  EXPECT_TRUE(HasReason(Build(), "ELF file"));
  Run("rm root/etc/shadow");  // that of the machine is not in this root
  const Built built = Build();
  EXPECT_EQ(Chains(built, "hidden"), std::set<std::string>({""}));
  EXPECT_FALSE(HasReason(built, "ELF file"));
}

TEST_F(IndexImageTest, TruncatedDebugFile) {
  Compile("-g -rdynamic -Wl,--build-id");
  Run("objcopy --only-keep-debug whole full && strip root/bin/prog && "
      "objcopy --add-gnu-debuglink=full root/bin/prog && mv full full.all");
  const std::string whole = Read("full.all");
  for (size_t parts = 0; parts < 24; ++parts) {
    Write("root/bin/full", whole.substr(0, whole.size() * parts / 24));
    const Built built = Build();
    ASSERT_TRUE(built.report.ok());
    EXPECT_EQ(Chains(built, "work").count("step:7 < work:13"), 0u) << parts;
  }
  Write("root/bin/full", whole);
  ExpectDescribed(Build());
}

TEST_F(IndexImageTest, DamageOfAnyByteIsSurvived) {
  Compile("-g");
  const std::string whole = Read("root/bin/prog");
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    Write("root/bin/prog", damaged);
    const Built built = Build();
    if (!built.report.ok()) continue;
    EXPECT_TRUE(SymbolIndex::Open(built.bytes, built.report->identity).ok()) << at;
  }
}

TEST_F(IndexImageTest, UnpackedSectionsAreBounded) {
  Compile("-g");
  Run("objcopy --compress-debug-sections=zlib root/bin/prog");
  request_.files.unpacked_bytes_max = 100;
  const Built built = Build();
  EXPECT_TRUE(HasReason(built, "debug_info: a compressed section of")) << Shown(built, {});
  EXPECT_EQ(Chains(built, "work"), std::set<std::string>({"work"}));
}

TEST_F(IndexImageTest, SectionBombs) {
  Compile("");
  // A compressed section that is right, and comes to 256 MB of zeros.
  Write("bomb.py",
        "import zlib, struct\n"
        "c = zlib.compressobj(1)\n"
        "d = b'ZLIB' + struct.pack('>Q', 1 << 28)\n"
        "for i in range(16): d += c.compress(bytes(1 << 24))\n"
        "open('bomb', 'wb').write(d + c.flush())\n");
  Run("python3 bomb.py && objcopy --add-section .zdebug_info=bomb root/bin/prog");
  request_.files.unpacked_bytes_max = uint64_t{64} << 20;
  const Built bounded = Build();
  EXPECT_TRUE(HasReason(bounded, "debug_info: a compressed section of 268435456"))
      << Shown(bounded, {});
  EXPECT_EQ(Chains(bounded, "hidden"), std::set<std::string>({"hidden"}));
}

TEST_F(IndexImageTest, ManyLongNamesAreBounded) {
  Compile("");
  // A gigabyte of symbol strings, sparse: what is not written is not read.
  Write("lengthen.py",
        "import struct\n"
        "d = bytearray(open('root/bin/prog', 'rb').read())\n"
        "shoff, = struct.unpack_from('<Q', d, 40)\n"
        "n, = struct.unpack_from('<H', d, 60)\n"
        "for i in range(n):\n"
        "    at = shoff + 64 * i\n"
        "    kind, = struct.unpack_from('<I', d, at + 4)\n"
        "    link, = struct.unpack_from('<I', d, at + 40)\n"
        "    if kind == 2: strings = shoff + 64 * link\n"
        "struct.pack_into('<Q', d, strings + 32, 1 << 30)\n"
        "open('root/bin/prog', 'wb').write(d)\n"
        "end = struct.unpack_from('<Q', d, strings + 24)[0] + (1 << 30)\n"
        "open('root/bin/prog', 'r+b').truncate(end)\n");
  Run("python3 lengthen.py");
  const Built built = Build();
  ExpectNamesOnly(built);
  EXPECT_LT(built.report->index_bytes, 1u << 20);
}

}  // namespace
}  // namespace vesta::symbolize
