"""Symbol indexes say what llvm-symbolizer says, of programs of several compilers and forms."""
import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, os.path.join(ROOT, "bench"))
import symbols  # noqa: E402

pytestmark = pytest.mark.needs_program(symbols.SYMBOLIZER)

MAIN_CC = r"""
#include <algorithm>
#include <map>
#include <string>
#include <vector>
int other(int);
namespace {
struct Shape { virtual ~Shape() {} virtual int area(int x) const { return x; } };
struct Square : Shape { int area(int x) const override { return x * x + 1; } };
template <typename T> __attribute__((noinline)) T fold(const std::vector<T>& values) {
  T sum = T();
  for (const T& value : values) sum += value;
  return sum;
}
}
int main(int argc, char** argv) {
  std::vector<int> values;
  std::map<std::string, int> names;
  for (int i = 0; i < argc * 100; ++i) {
    values.push_back(other(i));
    names[argv[0]] += i;
  }
  std::sort(values.begin(), values.end(), [&](int a, int b) { return a * argc < b; });
  const Shape* shape = argc > 1 ? new Shape() : new Square();
  const int result = fold(values) + static_cast<int>(fold(std::vector<long>(3, argc))) +
                     shape->area(argc) + static_cast<int>(names.size());
  delete shape;
  return result & 1;
}
"""
OTHER_CC = r"""
extern "C" int c_work(int);
static inline __attribute__((always_inline)) int twice(int x) { return x + x; }
static __attribute__((noinline)) int rare(int x) { return x % 7; }
int other(int x) {
  int sum = 0;
  for (int i = 0; i < x; ++i) sum += twice(i) ^ (i & 64 ? rare(i) : twice(twice(i)));
  return c_work(sum);
}
"""
WORK_C = r"""
#include <stdlib.h>
static inline int half(int x) { return x / 2; }
int c_work(int x) {
  if (x == 0x7fffffff) abort();
  int total = 0;
  for (int i = 0; i < (x & 15); ++i) total += half(i + x);
  return total;
}
"""
ASM_S = r"""
  .text
  .globl assembly
  .type assembly, @function
assembly:
  nop
  ret
  .size assembly, . - assembly
unsized:
  nop
  ret
"""
WORK_RS = r"""
// std's own is newer than the Rust of Debian 12.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &value, options(nostack, preserves_flags)) };
    value
}
#[inline(never)]
fn work(n: u64) -> u64 {
    let values: Vec<u64> = (0..n).map(|x| black_box(x) * 2).filter(|x| x % 3 != 0).collect();
    values.iter().map(|x| x.wrapping_mul(7)).sum()
}
fn main() { std::process::exit((work(std::env::args().count() as u64) & 1) as i32) }
"""
FILES = "main.cc other.cc work.c asm.S"
BUILDS = {
    "gcc_4": f"gcc -gdwarf-4 -O2 -o program {FILES} -lstdc++",
    "gcc_5": f"gcc -gdwarf-5 -O2 -o program {FILES} -lstdc++",
    "gcc_5_unoptimized": f"gcc -gdwarf-5 -O0 -o program {FILES} -lstdc++",
    "gcc_sections": f"gcc -g -O2 -ffunction-sections -Wl,--gc-sections -o program {FILES} -lstdc++",
    "gcc_lines_only": f"gcc -g1 -O2 -o program {FILES} -lstdc++",
    "gcc_lto": f"gcc -g -O2 -flto -o program {FILES} -lstdc++",
    "clang_4": f"clang-14 -gdwarf-4 -O2 -o program {FILES} -lstdc++",
    "clang_5": f"clang-14 -gdwarf-5 -O2 -o program {FILES} -lstdc++",
    "clang_lines_only": f"clang-14 -gline-tables-only -O2 -o program {FILES} -lstdc++",
    "rust": "rustc -g -C opt-level=2 -o program work.rs",
    "rust_v0_lto": "rustc -g -C opt-level=2 -C symbol-mangling-version=v0 -C lto=fat "
                   "-o program work.rs",
}


@pytest.mark.parametrize("build", BUILDS)
def test_is_as_llvm_symbolizer_says(tmp_path, build):
    if not shutil.which(BUILDS[build].split()[0]):
        pytest.skip(f"needs the program {BUILDS[build].split()[0]}")
    for name, text in (("main.cc", MAIN_CC), ("other.cc", OTHER_CC), ("work.c", WORK_C),
                       ("asm.S", ASM_S), ("work.rs", WORK_RS)):
        (tmp_path / name).write_text(text)
    subprocess.run(BUILDS[build].split(), cwd=tmp_path, check=True, capture_output=True)
    differences = symbols.compare(str(tmp_path / "program"), 1500)
    assert differences.answer_count > 60
    assert differences.inlined_count > 0 or build == "gcc_5_unoptimized"
    unexplained = [(kind, differences.examples[kind][:2]) for kind in differences.kinds
                   if kind not in symbols.EXPLAINED]
    assert not unexplained
