#include "src/symbolize/demangle.h"

// <string.h> declares basename in another way than the library's header would.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>

namespace vesta::symbolize {
namespace {

// Above this length the library refuses C++ names unless told not to; it then takes about 80 bytes
// of stack per byte of the name, and recursion is bounded by the name's length.
constexpr size_t kLibraryLengthMax = 1024;
// The library decodes a non-ASCII identifier of Rust on the heap, and that is lost when the output
// limit stops it there: longer ones, which only a hostile name has, are left alone.
constexpr size_t kPunycodeBytesMax = 256;
// D's names repeat parts of themselves by "Q" and a distance, and each repetition can double what
// the name stands for. The library writes all of it before we see any.
constexpr std::ptrdiff_t kDRepetitionsMax = 16;
constexpr size_t kDBytesMax = 2048;

// What the library writes so far. A name of a few bytes can stand for one of 2^30 bytes, and the
// library offers no way to stop it: longjmp leaves it. It holds nothing but its stack then.
struct Output {
  std::string* text;
  std::jmp_buf too_long;
};

void Append(const char* part, size_t size, void* opaque) {
  auto* output = static_cast<Output*>(opaque);
  if (size > kDemangledBytesMax - output->text->size()) std::longjmp(output->too_long, 1);
  output->text->append(part, size);
}

using DemangleCallback = int (*)(const char*, int, demangle_callbackref, void*);

// False when the name does not demangle.
bool Run(DemangleCallback demangle, int options, const std::string& mangled, std::string& text) {
  Output output;
  output.text = &text;
  if (setjmp(output.too_long) != 0) return false;
  return demangle(mangled.c_str(), options, Append, &output) != 0;
}

bool DemangleCxx(const std::string& mangled, std::string& text) {
  int options = DMGL_PARAMS | DMGL_ANSI;
  if (mangled.size() >= kLibraryLengthMax) options |= DMGL_NO_RECURSE_LIMIT;
  text.clear();
  return Run(cplus_demangle_v3_callback, options, mangled, text);
}

// Whether something that looks like an encoded identifier ("u", length, bytes) is too long.
bool MayHoldLongPunycode(std::string_view mangled) {
  for (size_t i = 0; i + 1 < mangled.size(); ++i) {
    if (mangled[i] != 'u') continue;
    size_t length = 0;
    size_t end = i + 1;
    while (end < mangled.size() && mangled[end] >= '0' && mangled[end] <= '9' &&
           length < mangled.size()) {
      length = length * 10 + static_cast<size_t>(mangled[end++] - '0');
    }
    if (length > kPunycodeBytesMax && length <= mangled.size() - end) return true;
  }
  return false;
}

bool DemangleRust(const std::string& mangled, std::string& text) {
  if (MayHoldLongPunycode(mangled)) return false;
  text.clear();
  return Run(rust_demangle_callback, 0, mangled, text);
}

bool DemangleD(const std::string& mangled, std::string& text) {
  if (mangled.size() > kDBytesMax ||
      std::count(mangled.begin(), mangled.end(), 'Q') > kDRepetitionsMax) {
    return false;
  }
  char* const readable = dlang_demangle(mangled.c_str(), 0);
  if (readable == nullptr) return false;
  text = std::string_view(readable).substr(0, kDemangledBytesMax + 1);
  std::free(readable);
  return text.size() <= kDemangledBytesMax;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Legacy Rust names hold dots of their own, up to their hash: "17h<16 hex digits>E".
size_t SuffixSearchStart(std::string_view name) {
  constexpr size_t kHashBytes = 20;
  for (size_t at = name.find("17h"); at != std::string_view::npos; at = name.find("17h", at + 1)) {
    if (at + kHashBytes > name.size()) break;
    const std::string_view digits = name.substr(at + 3, 16);
    if (name[at + kHashBytes - 1] == 'E' &&
        digits.find_first_not_of("0123456789abcdef") == std::string_view::npos) {
      return at + kHashBytes;
    }
  }
  return 0;
}

// ".isra.0.cold" becomes " [clone .isra.0] [clone .cold]"; ".llvm.<number>" becomes nothing.
std::string SuffixForPeople(std::string_view suffix) {
  std::string text;
  while (!suffix.empty()) {
    size_t end = suffix.find('.', 1);
    // A number belongs to the word before it.
    while (end != std::string_view::npos) {
      const size_t next = suffix.find('.', end + 1);
      const size_t length = (next == std::string_view::npos ? suffix.size() : next) - end - 1;
      if (!IsDigits(suffix.substr(end + 1, length))) break;
      end = next;
    }
    const std::string_view word = suffix.substr(0, end);
    if (!word.starts_with(".llvm.")) {
      text.append(" [clone ").append(word).append("]");
    }
    suffix = end == std::string_view::npos ? std::string_view() : suffix.substr(end);
  }
  return text;
}

}  // namespace

std::string Demangle(std::string_view system_name) {
  const std::string_view name = system_name;
  const bool is_rust_v0 = name.starts_with("_R");
  const bool is_itanium = name.starts_with("_Z");
  const bool is_d = name.starts_with("_D");
  if ((!is_rust_v0 && !is_itanium && !is_d) || name.size() > kMangledBytesMax) {
    return std::string(name);
  }
  const std::string base(name.substr(0, name.find('.', SuffixSearchStart(name))));
  std::string readable;
  readable.reserve(256);
  const bool is_readable =
      is_d ? DemangleD(base, readable)
           : DemangleRust(base, readable) || (is_itanium && DemangleCxx(base, readable));
  if (!is_readable) return std::string(name);
  if (base.size() < name.size()) readable += SuffixForPeople(name.substr(base.size()));
  return readable;
}

}  // namespace vesta::symbolize
