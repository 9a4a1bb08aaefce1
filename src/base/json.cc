#include "src/base/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "src/base/check.h"
#include "src/base/utf8.h"

namespace vesta::base {
namespace {

void AppendControl(unsigned char c, std::string& out) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      std::array<char, 8> text;
      std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(c));
      out += text.data();
  }
}

template <typename Number>
std::string_view ToText(Number value, std::array<char, 40>& buffer) {
  const auto [end, status] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  CHECK(status == std::errc{});
  return {buffer.data(), static_cast<size_t>(end - buffer.data())};
}

}  // namespace

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += kReplacementCharacter;
      text.remove_prefix(1);
      continue;
    }
    if (first == '"' || first == '\\') {
      out += '\\';
      out += text[0];
    } else if (first < 0x20 || first == 0x7f) {
      AppendControl(first, out);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void JsonWriter::BeforeValue() {
  if (scopes_.empty()) {
    CHECK(out_.empty());  // one value is the whole text
    return;
  }
  CHECK(after_key_ == (scopes_.back() == Scope::kObject));
  if (!after_key_ && !first_) out_ += ',';
  after_key_ = false;
  first_ = false;
}

JsonWriter& JsonWriter::Literal(std::string_view text) {
  BeforeValue();
  out_ += text;
  return *this;
}

JsonWriter& JsonWriter::BeginObject() {
  Literal("{");
  scopes_.push_back(Scope::kObject);
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::EndObject() {
  CHECK(!scopes_.empty() && scopes_.back() == Scope::kObject && !after_key_);
  scopes_.pop_back();
  out_ += '}';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::BeginArray() {
  Literal("[");
  scopes_.push_back(Scope::kArray);
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::EndArray() {
  CHECK(!scopes_.empty() && scopes_.back() == Scope::kArray);
  scopes_.pop_back();
  out_ += ']';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  CHECK(!scopes_.empty() && scopes_.back() == Scope::kObject && !after_key_);
  if (!first_) out_ += ',';
  AppendJsonString(key, out_);
  out_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view value) {
  BeforeValue();
  AppendJsonString(value, out_);
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t value) {
  std::array<char, 40> buffer;
  return Literal(ToText(value, buffer));
}

JsonWriter& JsonWriter::Uint(uint64_t value) {
  std::array<char, 40> buffer;
  return Literal(ToText(value, buffer));
}

JsonWriter& JsonWriter::Double(double value) {
  if (!std::isfinite(value)) return Null();
  std::array<char, 40> buffer;
  return Literal(ToText(value, buffer));
}

JsonWriter& JsonWriter::Bool(bool value) { return Literal(value ? "true" : "false"); }

JsonWriter& JsonWriter::Null() { return Literal("null"); }

std::string JsonWriter::Take() {
  CHECK(scopes_.empty() && !out_.empty());
  std::string out = std::move(out_);
  out_.clear();
  first_ = true;
  return out;
}

}  // namespace vesta::base
