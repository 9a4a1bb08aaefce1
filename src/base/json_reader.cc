#include "src/base/json_reader.h"

#include <charconv>

namespace vesta::base {
namespace {

constexpr int kDepthMax = 64;

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

}  // namespace

std::optional<bool> JsonValue::AsBool() const {
  if (kind_ != Kind::kBool) return std::nullopt;
  return bool_;
}

std::optional<uint64_t> JsonValue::AsUint() const {
  uint64_t value = 0;
  if (kind_ != Kind::kNumber) return std::nullopt;
  const char* end = text_.data() + text_.size();
  const auto parsed = std::from_chars(text_.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> JsonValue::AsDouble() const {
  double value = 0;
  if (kind_ != Kind::kNumber) return std::nullopt;
  const auto parsed = std::from_chars(text_.data(), text_.data() + text_.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  return value;
}

const std::string* JsonValue::AsString() const { return kind_ == Kind::kString ? &text_ : nullptr; }

const JsonValue* JsonValue::Find(std::string_view key) const {
  for (const auto& [name, value] : members_) {
    if (name == key) return &value;
  }
  return nullptr;
}

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  Result<JsonValue> Parse() {
    JsonValue value;
    if (!Value(&value, 0)) return Failure();
    SkipSpace();
    if (at_ != text_.size()) return Failure();
    return value;
  }

 private:
  Error Failure() const {
    return Error(ErrorCode::kCorrupt, "no valid JSON at byte " + std::to_string(at_));
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char expected) {
    if (at_ >= text_.size() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void SkipSpace() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool Value(JsonValue* value, int depth) {
    if (depth > kDepthMax) return false;
    SkipSpace();
    switch (Peek()) {
      case '{':
        return Object(value, depth);
      case '[':
        return Array(value, depth);
      case '"':
        value->kind_ = JsonValue::Kind::kString;
        return String(&value->text_);
      case 't':
      case 'f':
        value->kind_ = JsonValue::Kind::kBool;
        value->bool_ = Peek() == 't';
        return TakeWord(value->bool_ ? "true" : "false");
      case 'n':
        return TakeWord("null");
      default:
        value->kind_ = JsonValue::Kind::kNumber;
        return Number(&value->text_);
    }
  }

  bool Object(JsonValue* value, int depth) {
    value->kind_ = JsonValue::Kind::kObject;
    ++at_;
    SkipSpace();
    if (Take('}')) return true;
    do {
      SkipSpace();
      auto& [key, member] = value->members_.emplace_back();
      if (!String(&key)) return false;
      SkipSpace();
      if (!Take(':') || !Value(&member, depth + 1)) return false;
      SkipSpace();
    } while (Take(','));
    return Take('}');
  }

  bool Array(JsonValue* value, int depth) {
    value->kind_ = JsonValue::Kind::kArray;
    ++at_;
    SkipSpace();
    if (Take(']')) return true;
    do {
      if (!Value(&value->items_.emplace_back(), depth + 1)) return false;
      SkipSpace();
    } while (Take(','));
    return Take(']');
  }

  bool Digits() {
    const size_t first = at_;
    while (IsDigit(Peek())) ++at_;
    return at_ > first;
  }

  bool Number(std::string* out) {
    const size_t first = at_;
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (Take('e') || Take('E')) {
      if (!Take('-')) Take('+');
      if (!Digits()) return false;
    }
    *out = text_.substr(first, at_ - first);
    return true;
  }

  bool String(std::string* out) {
    if (!Take('"')) return false;
    while (at_ < text_.size()) {
      const char character = text_[at_];
      if (static_cast<unsigned char>(character) < 0x20) return false;
      ++at_;
      if (character == '"') return true;
      if (character != '\\') {
        out->push_back(character);
      } else if (!Escape(out)) {
        return false;
      }
    }
    return false;
  }

  bool Escape(std::string* out) {
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    if (at_ >= text_.size()) return false;
    const char letter = text_[at_++];
    if (const size_t index = kFrom.find(letter); index != std::string_view::npos) {
      out->push_back(kTo[index]);
      return true;
    }
    uint32_t code = 0;
    if (letter != 'u' || !Hex4(&code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {  // first half of a pair
      uint32_t low = 0;
      if (!TakeWord("\\u") || !Hex4(&low) || low < 0xdc00 || low > 0xdfff) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
      return false;
    }
    AppendUtf8(code, out);
    return true;
  }

  bool Hex4(uint32_t* code) {
    if (text_.size() - at_ < 4) return false;
    const char* first = text_.data() + at_;
    const auto parsed = std::from_chars(first, first + 4, *code, 16);
    if (parsed.ec != std::errc() || parsed.ptr != first + 4) return false;
    at_ += 4;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Result<JsonValue> ParseJson(std::string_view text) { return JsonParser(text).Parse(); }

}  // namespace vesta::base
