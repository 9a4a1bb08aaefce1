#include "src/symbolize/demangle.h"

#include <gtest/gtest.h>

#include <string>

namespace vesta::symbolize {
namespace {

struct Case {
  const char* mangled;
  const char* readable;
};

class DemangleTest : public testing::TestWithParam<Case> {};

TEST_P(DemangleTest, WritesTheNameForPeople) {
  EXPECT_EQ(Demangle(GetParam().mangled), GetParam().readable);
}

INSTANTIATE_TEST_SUITE_P(
    Cxx, DemangleTest,
    testing::Values(Case{"_Z3fooi", "foo(int)"}, Case{"_ZN3foo3barEv", "foo::bar()"},
                    Case{"_ZNSt6vectorIiSaIiEE9push_backERKi",
                         "std::vector<int, std::allocator<int> >::push_back(int const&)"},
                    Case{"_ZNKSs4sizeEv", "std::string::size() const"},
                    Case{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"},
                    Case{"_ZTV4Base", "vtable for Base"},
                    Case{"_ZThn16_N4Base3runEv", "non-virtual thunk to Base::run()"},
                    Case{"_Z3fooi.cold", "foo(int) [clone .cold]"},
                    Case{"_Z3fooi.part.0", "foo(int) [clone .part.0]"},
                    Case{"_Z3fooi.isra.0.cold", "foo(int) [clone .isra.0] [clone .cold]"},
                    Case{"_Z3fooi.constprop.12", "foo(int) [clone .constprop.12]"},
                    Case{"_Z3fooi.llvm.123", "foo(int)"},
                    Case{"_Z3fooi.part.0.llvm.123", "foo(int) [clone .part.0]"}));

INSTANTIATE_TEST_SUITE_P(
    CxxSpecial, DemangleTest,
    testing::Values(Case{"_Z3fooB5cxx11v", "foo[abi:cxx11]()"},
                    Case{"_ZN1A3getB5cxx11Ev.cold", "A::get[abi:cxx11]() [clone .cold]"},
                    Case{"_ZZ3runvENKUlT_E_clIiEEDaS_",
                         "auto run()::{lambda(auto:1)#1}::operator()<int>(int) const"},
                    Case{"_ZZN1A3runEvENUlvE0_4_FUNEv", "A::run()::{lambda()#2}::_FUN()"},
                    Case{"_Z3foov.lto_priv.0", "foo() [clone .lto_priv.0]"},
                    Case{"_Z3foov._omp_fn.3", "foo() [clone ._omp_fn.3]"},
                    Case{"_ZL6statici", "static(int)"},
                    Case{"_Z4spanISt6vectorIiEEvT_.isra.0.part.1",
                         "void span<std::vector<int> >(std::vector<int>) [clone .isra.0] "
                         "[clone .part.1]"}));

INSTANTIATE_TEST_SUITE_P(
    D, DemangleTest,
    testing::Values(
        Case{"_Dmain", "D main"}, Case{"_D6plugin8generateFiiZAya", "plugin.generate(int, int)"},
        Case{"_D8demangle4testFxaxkZv", "demangle.test(const(char), const(uint))"},
        Case{"_D3foo__T3barTiZQhFiZi", "foo.bar!(int).bar(int)"},
        Case{"_D6plugin8generateFiiZAya.cold", "plugin.generate(int, int) [clone .cold]"},
        Case{"_D", "_D"}, Case{"_Desctructor", "_Desctructor"}, Case{"_D3fo", "_D3fo"}));

INSTANTIATE_TEST_SUITE_P(
    RustLegacy, DemangleTest,
    testing::Values(Case{"_ZN1m4main17h4009bc0cd8b193aaE", "m::main"},
                    Case{"_ZN1m4show17h530877f4abd6ef5aE.cold", "m::show [clone .cold]"},
                    Case{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.123",
                         "core::fmt::Write::write_fmt"},
                    Case{"_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h2dc8222d9696c2f7E",
                         "<&T as core::fmt::Debug>::fmt"},
                    Case{"_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h2dc8222d9696c2f7E"
                         ".part.0",
                         "<&T as core::fmt::Debug>::fmt [clone .part.0]"},
                    Case{"_ZN4main4call28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
                         "main::call::{{closure}}"},
                    // Not a hash: C++.
                    Case{"_ZN4main4call17hE", "_ZN4main4call17hE"}));

INSTANTIATE_TEST_SUITE_P(
    RustV0, DemangleTest,
    testing::Values(
        Case{"_RNvCskK7mfDs1mzF_1m4main", "m::main"},
        Case{"_RINvCskK7mfDs1mzF_1m4showeEB2_", "m::show::<str>"},
        Case{"_RINvCskK7mfDs1mzF_1m4showINtNtNtNtCsjrHSEGnQ3l9_3std11collections4hash3map7HashMap"
             "NtNtCslNYArtu3iFV_5alloc6string6StringINtNtB1m_3vec3VecThxEEEEB2_",
             "m::show::<std::collections::hash::map::HashMap<alloc::string::String, "
             "alloc::vec::Vec<(u8, i64)>>>"},
        Case{"_RINvMs6_NtCsgvbsrvnw3yD_9hashbrown3rawINtB6_8RawTableTNtNtCslNYArtu3iFV_5alloc"
             "6string6StringINtNtBU_3vec3VecThxEEEE14reserve_rehashNCINvNtB8_3map11make_hasherBQ_"
             "B1s_NtNtNtCsjrHSEGnQ3l9_3std4hash6random11RandomStateE0ECskK7mfDs1mzF_1m"
             ".llvm.1313523445175189652",
             "<hashbrown::raw::RawTable<(alloc::string::String, alloc::vec::Vec<(u8, i64)>)>>::"
             "reserve_rehash::<hashbrown::map::make_hasher<alloc::string::String, "
             "alloc::vec::Vec<(u8, i64)>, std::hash::random::RandomState>::{closure#0}>"},
        Case{"_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRhNtB6_5Debug3fmtCskK7mfDs1mzF_1m",
             "<&u8 as core::fmt::Debug>::fmt"},
        Case{"_RNvC1a4main.cold", "a::main [clone .cold]"},
        Case{"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
             "utf8_idents::საჭმელად_გემრიელი_სადილი"}));

INSTANTIATE_TEST_SUITE_P(AsTheyWere, DemangleTest,
                         testing::Values(Case{"", ""}, Case{"main", "main"},
                                         Case{"foo.cold", "foo.cold"}, Case{"_Z", "_Z"},
                                         Case{"_R", "_R"}, Case{"_ZN", "_ZN"},
                                         Case{"main.(*T).slow", "main.(*T).slow"},
                                         Case{"runtime.goexit", "runtime.goexit"},
                                         Case{"_Z3foo\x01\xff", "_Z3foo\x01\xff"}));

TEST(DemangleLimitsTest, LongNameOfRealCodeDemangles) {
  std::string mangled = "_ZN";
  std::string readable;
  for (int i = 0; i < 800; ++i) {
    mangled += "3abc";
    readable += i == 0 ? "abc" : "::abc";
  }
  EXPECT_EQ(Demangle(mangled + "Ev"), readable + "()");
}

TEST(DemangleLimitsTest, NameBeyondTheLimitStays) {
  const std::string mangled = "_Z3foo" + std::string(kMangledBytesMax, 'i');
  EXPECT_EQ(Demangle(mangled), mangled);
}

TEST(DemangleLimitsTest, LongEncodedIdentifierStays) {
  const std::string rust = "_RNvC1au600" + std::string(600, 'a');
  EXPECT_EQ(Demangle(rust), rust);
}

TEST(DemangleLimitsTest, DeepNestingStays) {
  const std::string pointers = "_Z1f" + std::string(kMangledBytesMax - 5, 'P') + "i";
  EXPECT_EQ(Demangle(pointers), pointers);
}

TEST(DemangleLimitsTest, DNameThatRepeatsItselfTooOftenStays) {
  std::string mangled = "_D1fFAi";
  std::string readable = "f(int[]";
  for (int i = 0; i < 16; ++i) {
    mangled += "Qc";  // the type of two letters before
    readable += ", int[]";
  }
  EXPECT_EQ(Demangle(mangled + "Zv"), readable + ")");
  EXPECT_EQ(Demangle(mangled + "QcZv"), mangled + "QcZv");
  const std::string too_long = "_D3000" + std::string(3000, 'f') + "FZv";
  EXPECT_EQ(Demangle(too_long), too_long);
}

// Each pair doubles what the name stands for.
TEST(DemangleLimitsTest, NameThatGrowsWithoutEndStays) {
  static constexpr char kBase36[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string cxx = "_Z1fSt4pairIiiE";
  for (size_t i = 0; i < 36; i += 2) {
    const std::string previous = std::string("S") + kBase36[i] + "_";
    cxx += "St4pairI" + previous + previous + "E";
  }
  EXPECT_EQ(Demangle(cxx), cxx);

  // Base-62 positions of the tuple before: "B<position>_".
  static constexpr char kDigits[] =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string rust = "_RINvC1a1f";
  size_t previous = rust.size() - 2;
  rust +=
      "Thh"
      "E";
  for (int i = 0; i < 60; ++i) {
    std::string back = "B";
    const size_t value = previous - 1;
    if (value >= 62) back += kDigits[value / 62];
    back += kDigits[value % 62];
    back += "_";
    previous = rust.size() - 2;
    rust += "T" + back + back + "E";
  }
  rust += "E";
  EXPECT_EQ(Demangle(rust), rust);
}

}  // namespace
}  // namespace vesta::symbolize
