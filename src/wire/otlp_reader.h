// OTLP Profiles as they lie in the bytes: fields found, nothing looked up yet. Text and messages
// are views of the request.
#pragma once

#include <cstdint>
#include <optional>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/wire/otlp_damage.h"
#include "src/wire/otlp_decoder.h"

namespace vesta::wire::otlp {

// Runs `read` on messages and makes errors of what protozero throws.
template <typename Read>
auto Guarded(std::span<const std::string_view> messages, const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const protozero::exception&) {
    std::string damage;
    for (size_t i = 0; i < messages.size() && damage.empty(); ++i) {
      damage = DescribeDamage(messages[i]);
      if (messages.size() > 1 && !damage.empty())
        damage = "in message " + std::to_string(i) + " " + damage;
    }
    return base::Error(base::ErrorCode::kCorrupt,
                       "no valid OTLP profiles: their protobuf is damaged or truncated: " + damage);
  }
}

// The messages of one file -> one batch, as DecodeOtlp.
base::Result<OtlpBatch> DecodeMessages(std::span<const std::string_view> messages,
                                       const OtlpDecodeOptions& options);

// Fields of a message. A field whose wire type is not the one that is asked for is passed over, as
// protobuf does with fields that it does not know.
// Errors: protozero's exceptions for bytes that are no protobuf; the decoders catch them.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : reader_(bytes.data(), bytes.size()) {}

  bool Next() { return reader_.next(); }
  uint32_t tag() const { return reader_.tag(); }
  protozero::pbf_wire_type wire_type() const { return reader_.wire_type(); }
  void Skip() { reader_.skip(); }

  std::string_view Bytes();  // "" for others
  uint64_t Varint();         // 0 for others
  uint64_t Fixed64();
  double Double();
  // Appends all of a repeated field, packed or one by one.
  void Varints(std::vector<uint64_t>* values);
  void Fixed64s(std::vector<uint64_t>* values);

 private:
  bool Is(protozero::pbf_wire_type type);
  protozero::pbf_reader reader_;
};

// An AnyValue of one level; lists stay bytes.
struct Value {
  enum class Kind : uint8_t { kNone, kText, kBool, kInt, kDouble, kArray, kKvlist, kBytes };
  Kind kind = Kind::kNone;
  std::string_view bytes;  // of kText, kArray, kKvlist, kBytes
  int64_t number = 0;      // of kInt, kBool
  double real = 0;
};

// Shape: `strings` is the dictionary's table; an index of none of them gives kNone.
Value ReadValue(std::string_view bytes, const std::vector<std::string_view>& strings);
std::vector<Value> ReadArray(const Value& array, const std::vector<std::string_view>& strings);

// As the text of a label. Nothing for lists and bytes, and where there is no value.
std::optional<std::string> TextOf(const Value& value);

struct Attribute {
  std::string_view key;
  Value value;
  std::string_view unit;
};

// A KeyValue; of a resource, a scope or a list. Its key is "" when it has none.
Attribute ReadKeyValue(std::string_view bytes, const std::vector<std::string_view>& strings);
std::vector<Attribute> ReadKvlist(const Value& list, const std::vector<std::string_view>& strings);

struct RawProfile {
  std::string_view sample_type;  // bytes of a ValueType
  std::vector<std::string_view> samples;
  uint64_t time_unix_ns = 0;
  uint64_t duration_ns = 0;
  std::string_view period_type;
  int64_t period = 0;
  std::vector<uint64_t> attribute_indices;
};

// Of a ScopeProfiles.
struct RawScope {
  std::string_view name;
  std::string_view version;
  std::vector<std::string_view> attributes;  // bytes of KeyValues
  std::vector<std::string_view> profiles;
};

// Of a ResourceProfiles.
struct RawResource {
  std::vector<std::string_view> attributes;
  std::vector<std::string_view> scopes;  // bytes of ScopeProfiles
};

// Level by level, so that a request of many empty messages does not become many times larger.
struct RawRequest {
  std::vector<std::string_view> resources;     // bytes of ResourceProfiles
  std::vector<std::string_view> dictionaries;  // parts of one message
};

// Reused from sample to sample.
struct RawSample {
  uint64_t stack = 0;
  uint64_t link = 0;
  std::vector<uint64_t> attribute_indices;
  std::vector<uint64_t> values;  // int64
  std::vector<uint64_t> times_unix_ns;
};

RawRequest ReadRequest(std::string_view bytes);
RawResource ReadResource(std::string_view bytes);
RawScope ReadScope(std::string_view bytes);
RawProfile ReadProfile(std::string_view bytes, OtlpLayout layout);
void ReadSample(std::string_view bytes, OtlpLayout layout, RawSample* sample);

struct RawValueType {
  uint64_t type = 0;
  uint64_t unit = 0;
};
RawValueType ReadValueType(std::string_view bytes);

}  // namespace vesta::wire::otlp
