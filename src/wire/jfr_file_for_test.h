// Small JFR files, made byte by byte.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace vesta::wire::jfr_for_test {

inline std::string Number(uint64_t value) {
  std::string out;
  for (int i = 0; i < 8 && value >= 0x80; ++i) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
  return out;
}

inline std::string Numbers(std::initializer_list<uint64_t> values) {
  std::string out;
  for (const uint64_t value : values) out += Number(value);
  return out;
}

inline std::string Text(std::string_view text) {
  return '\3' + Number(text.size()) + std::string(text);
}

inline std::string BigEndian(uint64_t value, int byte_count) {
  std::string out;
  for (int i = byte_count - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

// Shape: its size in front, padded to four bytes, as the JVM does where it knows it only later.
inline std::string Event(uint64_t type, const std::string& fields) {
  const std::string body = Number(type) + fields;
  const uint64_t size = body.size() + 4;
  std::string out;
  for (int i = 0; i < 3; ++i) out.push_back(static_cast<char>((size >> (7 * i) & 0x7f) | 0x80));
  out.push_back(static_cast<char>(size >> 21));
  return out + body;
}

// A node of the metadata tree.
struct Element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Element> children;
};

class Strings {
 public:
  uint64_t IdOf(const std::string& text) {
    for (size_t i = 0; i < strings_.size(); ++i) {
      if (strings_[i] == text) return i;
    }
    strings_.push_back(text);
    return strings_.size() - 1;
  }
  std::string Bytes() const {
    std::string out = Number(strings_.size());
    for (const std::string& text : strings_) out += Text(text);
    return out;
  }

 private:
  std::vector<std::string> strings_;
};

inline std::string ElementBytes(const Element& element, Strings& strings) {
  std::string out = Numbers({strings.IdOf(element.name), element.attributes.size()});
  for (const auto& [key, value] : element.attributes)
    out += Numbers({strings.IdOf(key), strings.IdOf(value)});
  out += Number(element.children.size());
  for (const Element& child : element.children) out += ElementBytes(child, strings);
  return out;
}

inline Element Field(const std::string& name, int type, const std::string& more = "") {
  Element field{"field", {{"name", name}, {"class", std::to_string(type)}}, {}};
  if (more != "") field.attributes.emplace_back(more, more == "dimension" ? "1" : "true");
  return field;
}

inline Element Type(const std::string& name, int id, std::vector<Element> fields = {}) {
  return {"class", {{"name", name}, {"id", std::to_string(id)}}, std::move(fields)};
}

inline std::string Metadata(std::vector<Element> types) {
  const Element root{"root", {}, {{"metadata", {}, std::move(types)}, {"region", {}, {}}}};
  Strings strings;
  const std::string tree = ElementBytes(root, strings);
  return Event(0, Numbers({1, 0, 1}) + strings.Bytes() + tree);
}

// Shape: `pools` pools, each: type, count, then keys and values.
inline std::string Checkpoint(uint64_t pools, const std::string& bytes) {
  return Event(1, Numbers({1, 0, 0}) + '\1' + Number(pools) + bytes);
}

// The header in front of `events`, the metadata behind them.
inline std::string Chunk(const std::string& events, const std::string& metadata) {
  constexpr uint64_t kHeaderBytes = 68;
  return std::string("FLR\0", 4) + BigEndian(2, 2) + BigEndian(1, 2) +
         BigEndian(kHeaderBytes + events.size() + metadata.size(), 8) + BigEndian(0, 8) +
         BigEndian(kHeaderBytes + events.size(), 8) + BigEndian(1'700'000'000'000'000'000, 8) +
         BigEndian(2'000'000'000, 8) + BigEndian(5, 8) + BigEndian(1'000'000, 8) + BigEndian(1, 4) +
         events + metadata;
}

}  // namespace vesta::wire::jfr_for_test
