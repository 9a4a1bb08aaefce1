// Reads JSON text that nobody vouches for value by value, without a tree: for files of many MB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace vesta::base {

// A number as it is written: digits x 10^exponent, so that moving the decimal point (seconds to
// nanoseconds) costs no rounding.
// Shape: at most 19 digits are kept; `exact` says whether that was all of them.
struct JsonDecimal {
  uint64_t digits = 0;
  int64_t exponent = 0;
  bool negative = false;
  bool exact = true;
  std::string_view text;

  bool is_negative() const { return negative && digits != 0; }
  // The whole number nearest to this x 10^power, halves away from zero; nothing when it is beyond
  // int64. `rounded` is set to true when they differ, and else left alone.
  std::optional<int64_t> ToInt(int power, bool* rounded) const;
};

// Shape:  RFC 8259. The caller enters objects and arrays and takes each of their values, or skips
//         it. A call that fails returns false, and so does every later one: loops need no check
//         but ok() at their end. Views into strings live until the next call of the same kind.
// Owner:  one reader; the text must outlive it.
// Cost:   one pass, no allocation per value; no recursion; 32 bytes per open object or array.
// Errors: Corrupt (Exhausted for nesting beyond depth_max) with the field
// ("profiles[2].weights[7]")
//         and the byte.
class JsonPull {
 public:
  enum class Kind : uint8_t { kNone, kNull, kBool, kNumber, kString, kArray, kObject };
  static constexpr size_t kDepthMaxDefault = 64;

  explicit JsonPull(std::string_view text, size_t depth_max = kDepthMaxDefault)
      : text_(text), depth_max_(depth_max) {}
  // A reader of its own for the one value that begins at `offset`; `path` is its field.
  JsonPull At(size_t offset, std::string path) const;

  // What comes next where a value may stand; kNone when that is none.
  Kind Peek();
  bool EnterObject() { return Enter('{'); }
  bool EnterArray() { return Enter('['); }
  // Moves to the next member, or leaves the object and returns false.
  bool NextKey(std::string_view* key);
  // Moves to the next item, or leaves the array and returns false.
  bool NextItem();

  bool String(std::string_view* out);  // bytes that are no UTF-8 become U+FFFD
  bool Number(JsonDecimal* out);
  bool Uint(uint64_t* out);  // a whole number >= 0, however it is written
  bool Bool(bool* out);
  bool Null();
  // Passes over one value of any kind. Escapes are checked, halves of pairs of them are not.
  bool Skip();
  // Whether nothing but space is left.
  bool End();

  // Byte of the value that comes next, for At().
  size_t NextOffset() {
    SkipSpace();
    return at_;
  }
  // Field of the value that was read last, e.g. "profiles[2].weights[7]"; "" for the whole text.
  std::string Path() const;
  // Fails because of the value that was read last: "FIELD WHAT (byte N)". Returns false.
  bool Refuse(const std::string& what, ErrorCode code = ErrorCode::kCorrupt);

  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  struct Scope {
    bool is_object;
    bool started = false;
    uint64_t index = 0;    // of the item
    size_t key_begin = 0;  // of the key, as written
    size_t key_size = 0;
  };

  bool Fail(const std::string& what);
  bool Enter(char open);
  bool Word(std::string_view word);
  bool ScanString(std::string_view* raw, bool* escaped);
  bool Unescape(std::string_view raw, std::string* out);
  bool SkipScalar(Kind kind);
  bool TakeShortInt(uint64_t* out);
  bool SkipShortInts();
  void SkipSpace() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  char Here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  size_t depth_max_;
  size_t at_ = 0;
  size_t value_at_ = 0;  // of the value that was read last
  std::string root_path_;
  std::vector<Scope> scopes_;
  std::string key_text_;     // of a key with escapes
  std::string string_text_;  // of a string with escapes
  std::optional<Error> error_;
};

}  // namespace vesta::base
