// Writes JSON text piece by piece; commas and escapes are its work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vesta::base {

// Appends `text` as a JSON string with its quotes.
// Shape: control characters, '"' and '\' are escaped; bytes that are no UTF-8 become U+FFFD, so the
//        result is valid JSON whatever comes in.
void AppendJsonString(std::string_view text, std::string& out);

// Shape: values follow Key() in an object, stand alone in an array. A wrong order, such as a value
//        without a key, is a programmer error (CHECK).
class JsonWriter {
 public:
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view key);
  JsonWriter& String(std::string_view value);
  JsonWriter& Int(int64_t value);
  JsonWriter& Uint(uint64_t value);
  JsonWriter& Double(double value);  // shortest text that reads back equal; null when not finite
  JsonWriter& Bool(bool value);
  JsonWriter& Null();

  // The finished text, on one line; every object and array must be closed.
  std::string Take();

 private:
  enum class Scope : uint8_t { kObject, kArray };
  void BeforeValue();
  JsonWriter& Literal(std::string_view text);

  std::string out_;
  std::vector<Scope> scopes_;
  bool first_ = true;  // in the innermost scope
  bool after_key_ = false;
};

}  // namespace vesta::base
