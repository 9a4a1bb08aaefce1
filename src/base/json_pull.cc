#include "src/base/json_pull.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "src/base/check.h"
#include "src/base/json.h"
#include "src/base/utf8.h"

namespace vesta::base {
namespace {

constexpr uint64_t kDigitsMax = 1'000'000'000'000'000'000;  // below it, one more digit fits
constexpr int64_t kExponentMax = 1'000'000;                 // far beyond what any number needs

constexpr std::array<uint64_t, 20> kPowersOfTen = [] {
  std::array<uint64_t, 20> powers = {1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

bool IsDigit(char character) { return character >= '0' && character <= '9'; }

void AppendUtf8(uint32_t code, std::string* out) {
  const auto byte = [&](uint32_t value) { out->push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | (code >> 6));
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3f));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

// Four hex digits at the front.
std::optional<uint32_t> Hex4(std::string_view text) {
  uint32_t code = 0;
  if (text.size() < 4) return std::nullopt;
  const auto parsed = std::from_chars(text.data(), text.data() + 4, code, 16);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + 4) return std::nullopt;
  return code;
}

// Bytes of the escape behind a backslash; 0 when it is none.
size_t EscapeLength(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == 'u') return Hex4(text.substr(1)) ? 5 : 0;
  return std::string_view("\"\\/bfnrt").find(text[0]) == std::string_view::npos ? 0 : 1;
}

}  // namespace

std::optional<int64_t> JsonDecimal::ToInt(int power, bool* rounded) const {
  if (!exact) *rounded = true;
  if (digits == 0) return 0;
  uint64_t value = digits;
  const int64_t places = exponent + power;
  constexpr auto kPlacesMax = static_cast<int64_t>(kPowersOfTen.size()) - 1;
  if (places > kPlacesMax) return std::nullopt;
  if (places > 0) {
    if (__builtin_mul_overflow(value, kPowersOfTen[static_cast<size_t>(places)], &value))
      return std::nullopt;
  } else if (places < 0) {
    const uint64_t divisor = kPowersOfTen[static_cast<size_t>(std::min(-places, kPlacesMax))];
    const uint64_t rest = value % divisor;
    // With more places than that it is less than a tenth.
    value = -places > kPlacesMax ? 0 : value / divisor + (rest >= divisor - rest ? 1 : 0);
    if (rest != 0) *rounded = true;
  }
  if (value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

JsonPull JsonPull::At(size_t offset, std::string path) const {
  JsonPull reader(text_, depth_max_);
  reader.at_ = reader.value_at_ = offset;
  reader.root_path_ = std::move(path);
  return reader;
}

std::string JsonPull::Path() const {
  constexpr size_t kShownKeyMax = 80;
  constexpr size_t kShownScopesMax = 16;  // the innermost ones
  std::string path = root_path_;
  const size_t first = scopes_.size() > kShownScopesMax ? scopes_.size() - kShownScopesMax : 0;
  if (first > 0) path += "...";
  for (size_t i = first; i < scopes_.size(); ++i) {
    const Scope& scope = scopes_[i];
    if (!scope.started) break;
    if (!scope.is_object) {
      path += '[' + std::to_string(scope.index) + ']';
      continue;
    }
    if (!path.empty()) path += '.';
    std::string key;
    AppendJsonString(text_.substr(scope.key_begin, std::min(scope.key_size, kShownKeyMax)), key);
    path += key.substr(1, key.size() - 2);
  }
  return path;
}

bool JsonPull::Refuse(const std::string& what, ErrorCode code) {
  if (!ok()) return false;
  const std::string path = Path();
  error_.emplace(code, (path.empty() ? "the text" : path) + " " + what + " (byte " +
                           std::to_string(value_at_) + ")");
  return false;
}

bool JsonPull::Fail(const std::string& what) {
  value_at_ = at_;
  if (at_ >= text_.size()) return Refuse("is cut off: the text ends here");
  return Refuse("is no valid JSON: " + what);
}

JsonPull::Kind JsonPull::Peek() {
  if (!ok()) return Kind::kNone;
  SkipSpace();
  switch (Here()) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    default:
      return IsDigit(Here()) || Here() == '-' ? Kind::kNumber : Kind::kNone;
  }
}

bool JsonPull::Enter(char open) {
  if (!ok()) return false;
  SkipSpace();
  value_at_ = at_;
  const Kind kind = Peek();
  if (Here() != open) {
    if (kind == Kind::kNone) return Fail("a value is missing");
    return Refuse(open == '{' ? "is no object" : "is no array");
  }
  if (scopes_.size() >= depth_max_) {
    return Refuse("is nested deeper than " + std::to_string(depth_max_) + " levels",
                  ErrorCode::kExhausted);
  }
  ++at_;
  scopes_.push_back({.is_object = open == '{'});
  return true;
}

bool JsonPull::NextItem() {
  if (!ok()) return false;
  CHECK(!scopes_.empty() && !scopes_.back().is_object);
  Scope& scope = scopes_.back();
  SkipSpace();
  const char here = Here();
  if (here == ']') {
    ++at_;
    scopes_.pop_back();
    return false;
  }
  if (!scope.started) {
    scope.started = true;
    return true;
  }
  if (here != ',') return Fail("',' or ']' is missing");
  ++at_;
  ++scope.index;
  return true;
}

bool JsonPull::NextKey(std::string_view* key) {
  if (!ok()) return false;
  CHECK(!scopes_.empty() && scopes_.back().is_object);
  Scope& scope = scopes_.back();
  SkipSpace();
  if (Here() == '}') {
    ++at_;
    scopes_.pop_back();
    return false;
  }
  if (scope.started) {
    if (Here() != ',') return Fail("',' or '}' is missing");
    ++at_;
    SkipSpace();
  }
  if (Here() != '"') return Fail("a key is missing");
  bool escaped = false;
  if (!ScanString(key, &escaped)) return false;
  scope.started = true;
  scope.key_begin = static_cast<size_t>(key->data() - text_.data());
  scope.key_size = key->size();
  if (escaped) {
    if (!Unescape(*key, &key_text_)) return false;
    *key = key_text_;
  }
  SkipSpace();
  if (Here() != ':') return Fail("':' is missing");
  ++at_;
  return true;
}

// Takes a string with its quotes; `raw` is what stands between them.
bool JsonPull::ScanString(std::string_view* raw, bool* escaped) {
  const size_t begin = ++at_;
  for (; at_ < text_.size(); ++at_) {
    const char character = text_[at_];
    if (character == '"') {
      *raw = text_.substr(begin, at_ - begin);
      ++at_;
      return true;
    }
    if (static_cast<unsigned char>(character) < 0x20)
      return Fail("a control character in a string");
    if (character != '\\') continue;
    *escaped = true;
    const size_t length = EscapeLength(text_.substr(at_ + 1));
    if (length == 0) {
      at_ = text_.size() - at_ < 6 ? text_.size() : at_;
      return Fail("an unknown escape");
    }
    at_ += length;
  }
  return Fail("");
}

// Shape: ScanString has checked the escapes; only whether halves of pairs match is open.
bool JsonPull::Unescape(std::string_view raw, std::string* out) {
  constexpr std::string_view kFrom = "\"\\/bfnrt";
  constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
  out->clear();
  while (!raw.empty()) {
    const size_t plain = std::min(raw.find('\\'), raw.size());
    out->append(raw.substr(0, plain));
    raw.remove_prefix(plain);
    if (raw.empty()) break;
    if (raw[1] != 'u') {
      out->push_back(kTo[kFrom.find(raw[1])]);
      raw.remove_prefix(2);
      continue;
    }
    uint32_t code = *Hex4(raw.substr(2));
    raw.remove_prefix(6);
    if (code >= 0xd800 && code < 0xdc00) {  // first half of a pair
      const uint32_t low = raw.starts_with("\\u") ? *Hex4(raw.substr(2)) : 0;
      if (low < 0xdc00 || low > 0xdfff) return Refuse("has one half of a UTF-16 pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      raw.remove_prefix(6);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
      return Refuse("has one half of a UTF-16 pair");
    }
    AppendUtf8(code, out);
  }
  return true;
}

bool JsonPull::String(std::string_view* out) {
  const Kind kind = Peek();
  if (!ok()) return false;
  value_at_ = at_;
  if (kind == Kind::kNone) return Fail("a value is missing");
  if (kind != Kind::kString) return Refuse("is no string");
  bool escaped = false;
  if (!ScanString(out, &escaped)) return false;
  if (escaped) {
    if (!Unescape(*out, &string_text_)) return false;
    *out = string_text_;
  }
  if (!IsUtf8(*out)) {
    string_text_ = ToUtf8(*out);
    *out = string_text_;
  }
  return true;
}

bool JsonPull::Number(JsonDecimal* out) {
  const Kind kind = Peek();
  if (!ok()) return false;
  value_at_ = at_;
  if (kind == Kind::kNone) return Fail("a value is missing");
  if (kind != Kind::kNumber) return Refuse("is no number");
  const size_t begin = at_;
  JsonDecimal number;
  if (TakeShortInt(&number.digits)) {
    number.text = text_.substr(begin, at_ - begin);
    *out = number;
    return true;
  }
  if (Here() == '-') {
    number.negative = true;
    ++at_;
  }
  const auto take_digits = [&](int64_t step_kept, int64_t step_left) {
    const size_t first = at_;
    for (; IsDigit(Here()); ++at_) {
      const auto digit = static_cast<uint64_t>(text_[at_] - '0');
      if (number.digits < kDigitsMax) {
        number.digits = number.digits * 10 + digit;
        number.exponent += step_kept;
      } else {
        number.exact = number.exact && digit == 0;
        number.exponent += step_left;
      }
    }
    return at_ > first;
  };
  if (Here() == '0') {
    ++at_;
  } else if (!take_digits(0, 1)) {
    return Fail("a digit is missing");
  }
  if (Here() == '.') {
    ++at_;
    if (!take_digits(-1, 0)) return Fail("a digit is missing");
  }
  if (Here() == 'e' || Here() == 'E') {
    ++at_;
    const bool minus = Here() == '-';
    if (minus || Here() == '+') ++at_;
    if (!IsDigit(Here())) return Fail("a digit is missing");
    int64_t power = 0;
    for (; IsDigit(Here()); ++at_) power = std::min(power * 10 + (text_[at_] - '0'), kExponentMax);
    number.exponent += minus ? -power : power;
  }
  number.text = text_.substr(begin, at_ - begin);
  *out = number;
  return true;
}

// Takes a whole number of at most 18 digits; what is anything else stays for a closer look.
bool JsonPull::TakeShortInt(uint64_t* out) {
  constexpr size_t kDigits = 18;
  const size_t end = std::min(text_.size(), at_ + kDigits);
  size_t at = at_;
  uint64_t value = 0;
  for (; at < end && IsDigit(text_[at]); ++at)
    value = value * 10 + static_cast<uint64_t>(text_[at] - '0');
  if (at == at_ || at == text_.size() || (text_[at_] == '0' && at - at_ > 1)) return false;
  const char behind = text_[at];
  if (IsDigit(behind) || behind == '.' || behind == 'e' || behind == 'E') return false;
  at_ = at;
  *out = value;
  return true;
}

bool JsonPull::Uint(uint64_t* out) {
  if (!ok()) return false;
  SkipSpace();
  const size_t begin = at_;
  if (TakeShortInt(out)) {
    value_at_ = begin;
    return true;
  }
  JsonDecimal number;
  if (!Number(&number)) return false;
  if (number.is_negative()) return Refuse("is negative");
  bool rounded = false;
  const std::optional<int64_t> whole = number.ToInt(0, &rounded);
  if (rounded) return Refuse("is no whole number");
  if (!whole) return Refuse("is beyond 63 bits");
  *out = static_cast<uint64_t>(*whole);
  return true;
}

bool JsonPull::Word(std::string_view word) {
  if (text_.substr(at_, word.size()) == word) {
    at_ += word.size();
    return true;
  }
  if (word.starts_with(text_.substr(at_))) at_ = text_.size();
  return Fail("a value is missing");
}

bool JsonPull::Bool(bool* out) {
  const Kind kind = Peek();
  if (!ok()) return false;
  value_at_ = at_;
  if (kind == Kind::kNone) return Fail("a value is missing");
  if (kind != Kind::kBool) return Refuse("is neither true nor false");
  *out = Here() == 't';
  return Word(*out ? "true" : "false");
}

bool JsonPull::Null() {
  const Kind kind = Peek();
  if (!ok()) return false;
  value_at_ = at_;
  if (kind == Kind::kNone) return Fail("a value is missing");
  if (kind != Kind::kNull) return Refuse("is not null");
  return Word("null");
}

bool JsonPull::SkipScalar(Kind kind) {
  value_at_ = at_;
  bool unused = false;
  std::string_view raw;
  JsonDecimal number;
  switch (kind) {
    case Kind::kString:
      return ScanString(&raw, &unused);
    case Kind::kNumber:
      return Number(&number);
    case Kind::kBool:
      return Bool(&unused);
    case Kind::kNull:
      return Null();
    default:
      return Fail("a value is missing");
  }
}

// Inside of an array: passes over whole numbers as long as they follow one another, most of what a
// profile is made of. Says whether it ended behind one.
bool JsonPull::SkipShortInts() {
  if (scopes_.empty() || scopes_.back().is_object) return false;
  uint64_t number = 0;
  SkipSpace();
  while (TakeShortInt(&number)) {
    if (Here() != ',') return true;
    ++at_;
    ++scopes_.back().index;
    SkipSpace();
  }
  return false;
}

bool JsonPull::Skip() {
  const size_t outside = scopes_.size();
  std::string_view key;
  while (ok()) {
    if (scopes_.size() > outside && SkipShortInts()) {
      // Behind the last of them.
    } else if (const Kind kind = Peek(); kind == Kind::kObject || kind == Kind::kArray) {
      if (!Enter(Here())) return false;
    } else if (!SkipScalar(kind)) {
      return false;
    }
    for (;;) {  // to the next value inside, leaving what is at its end
      if (scopes_.size() == outside) return ok();
      if (scopes_.back().is_object ? NextKey(&key) : NextItem()) break;
      if (!ok()) return false;
    }
  }
  return false;
}

bool JsonPull::End() {
  if (!ok()) return false;
  SkipSpace();
  if (at_ == text_.size()) return true;
  return Fail("more text behind the value");
}

}  // namespace vesta::base
