#include "src/wire/otlp_damage.h"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

namespace vesta::wire::otlp {
namespace {

using protozero::pbf_wire_type;

enum class Kind : unsigned char {
  kNothing,
  kNumbers,  // varints, packed
  kTimes,    // of 8 bytes, packed
  kRequest,
  kResourceProfiles,
  kResource,
  kScopeProfiles,
  kScope,
  kProfile,
  kSample,
  kDictionary,
  kLocation,
  kMapping,
  kStack,
  kKeyValue,  // with or without a unit
  kValue,
  kArray,
  kElement,  // of an array: a value that may be a list of pairs
  kKvlist,
  kPair,
  kPlain,  // nothing inside
};

struct Inner {
  Kind kind;
  uint32_t tag;
  Kind inner;
};

// What the decoders look into; no kind is inside of itself, however deep lists are nested.
constexpr Inner kInners[] = {
    {Kind::kRequest, 1, Kind::kResourceProfiles},
    {Kind::kRequest, 2, Kind::kDictionary},
    {Kind::kResourceProfiles, 1, Kind::kResource},
    {Kind::kResourceProfiles, 2, Kind::kScopeProfiles},
    {Kind::kResource, 1, Kind::kKeyValue},
    {Kind::kScopeProfiles, 1, Kind::kScope},
    {Kind::kScopeProfiles, 2, Kind::kProfile},
    {Kind::kScope, 3, Kind::kKeyValue},
    {Kind::kProfile, 1, Kind::kPlain},
    {Kind::kProfile, 2, Kind::kSample},
    {Kind::kProfile, 5, Kind::kPlain},
    {Kind::kProfile, 11, Kind::kNumbers},
    {Kind::kProfile, 12, Kind::kNumbers},
    {Kind::kSample, 2, Kind::kNumbers},
    {Kind::kSample, 3, Kind::kNumbers},
    {Kind::kSample, 4, Kind::kNumbers},
    {Kind::kSample, 5, Kind::kTimes},
    {Kind::kDictionary, 1, Kind::kMapping},
    {Kind::kDictionary, 2, Kind::kLocation},
    {Kind::kDictionary, 3, Kind::kPlain},
    {Kind::kDictionary, 4, Kind::kPlain},
    {Kind::kDictionary, 6, Kind::kKeyValue},
    {Kind::kDictionary, 7, Kind::kStack},
    {Kind::kLocation, 3, Kind::kPlain},
    {Kind::kLocation, 4, Kind::kNumbers},
    {Kind::kMapping, 5, Kind::kNumbers},
    {Kind::kStack, 1, Kind::kNumbers},
    {Kind::kKeyValue, 2, Kind::kValue},
    {Kind::kValue, 5, Kind::kArray},
    {Kind::kValue, 6, Kind::kKvlist},
    {Kind::kArray, 1, Kind::kElement},
    {Kind::kElement, 6, Kind::kKvlist},
    {Kind::kKvlist, 1, Kind::kPair},
    {Kind::kPair, 2, Kind::kPlain},
};

Kind InnerOf(Kind kind, uint32_t tag) {
  for (const Inner& inner : kInners) {
    if (inner.kind == kind && inner.tag == tag) return inner.inner;
  }
  return Kind::kNothing;
}

class Finder {
 public:
  explicit Finder(std::string_view bytes) : start_(bytes.data()) {}

  // False once the damage is found, which `text` then tells.
  bool Look(std::string_view bytes, Kind kind) {
    try {
      if (kind == Kind::kNumbers) return LookAtNumbers(bytes);
      if (kind == Kind::kTimes) {
        if (bytes.size() % 8 == 0) return true;
        return Found(bytes, "is a list of times that ends within one");
      }
      protozero::pbf_reader whole(bytes.data(), bytes.size());
      while (whole.next()) whole.skip();
    } catch (const protozero::varint_too_long_exception&) {
      return Found(bytes, "holds a number that does not end");
    } catch (const protozero::end_of_buffer_exception&) {
      return Found(bytes, "ends too early");
    } catch (const protozero::exception&) {
      return Found(bytes, "holds a field of no known type");
    }
    protozero::pbf_reader fields(bytes.data(), bytes.size());
    while (fields.next()) {
      const Kind inner = InnerOf(kind, fields.tag());
      if (inner == Kind::kNothing || fields.wire_type() != pbf_wire_type::length_delimited) {
        fields.skip();
        continue;
      }
      const auto view = fields.get_view();
      if (!Look({view.data(), view.size()}, inner)) return false;
    }
    return true;
  }

  const std::string& text() const { return text_; }

 private:
  bool LookAtNumbers(std::string_view bytes) {
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (at != end) protozero::decode_varint(&at, end);
    return true;
  }

  bool Found(std::string_view bytes, const char* what) {
    text_ = "the message at byte " + std::to_string(bytes.data() - start_) + ' ' + what;
    return false;
  }

  const char* start_;
  std::string text_;
};

}  // namespace

std::string DescribeDamage(std::string_view bytes) {
  Finder finder(bytes);
  finder.Look(bytes, Kind::kRequest);
  return finder.text();
}

}  // namespace vesta::wire::otlp
