// Turns the names that compilers write into symbol tables into names for people.
#pragma once

#include <string>
#include <string_view>

namespace vesta::symbolize {

// C++ (Itanium ABI), Rust (legacy with its hash dropped, and v0) and D. Suffixes of cloned code
// follow the name as c++filt writes them: "foo(int) [clone .cold]"; the number of an LTO promotion
// (".llvm.123") says nothing to people and is dropped. Everything else, Go's and C's names
// (readable as they are), those of Ada and Swift, and what does not demangle, comes back as it was.
// Cost:   microseconds; bounded in time and memory for hostile names, which come back as they were
//         when they are longer than kMangledBytesMax or would grow past kDemangledBytesMax. The
//         longest take 2 MB of stack.
std::string Demangle(std::string_view system_name);

inline constexpr size_t kMangledBytesMax = 8 << 10;
inline constexpr size_t kDemangledBytesMax = 64 << 10;

}  // namespace vesta::symbolize
