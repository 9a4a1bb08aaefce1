#include "src/base/json_reader.h"

#include <charconv>

#include "src/base/json_pull.h"

namespace vesta::base {

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

// Recursion is bounded by the reader's limit of nesting.
class JsonTreeBuilder {
 public:
  static void Build(JsonPull& pull, JsonValue* value) {
    std::string_view text;
    JsonDecimal number;
    switch (pull.Peek()) {
      case JsonPull::Kind::kObject:
        value->kind_ = JsonValue::Kind::kObject;
        if (!pull.EnterObject()) return;
        while (pull.NextKey(&text)) {
          auto& [key, member] = value->members_.emplace_back();
          key = text;
          Build(pull, &member);
        }
        return;
      case JsonPull::Kind::kArray:
        value->kind_ = JsonValue::Kind::kArray;
        if (!pull.EnterArray()) return;
        while (pull.NextItem()) Build(pull, &value->items_.emplace_back());
        return;
      case JsonPull::Kind::kString:
        value->kind_ = JsonValue::Kind::kString;
        if (pull.String(&text)) value->text_ = text;
        return;
      case JsonPull::Kind::kBool:
        value->kind_ = JsonValue::Kind::kBool;
        pull.Bool(&value->bool_);
        return;
      case JsonPull::Kind::kNull:
        pull.Null();
        return;
      default:
        value->kind_ = JsonValue::Kind::kNumber;
        if (pull.Number(&number)) value->text_ = number.text;
    }
  }
};

Result<JsonValue> ParseJson(std::string_view text) {
  JsonPull pull(text);
  JsonValue value;
  JsonTreeBuilder::Build(pull, &value);
  if (!pull.End()) return pull.error();
  return value;
}

}  // namespace vesta::base
