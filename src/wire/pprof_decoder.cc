#include "src/wire/pprof_decoder.h"

#include <algorithm>
#include <optional>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/wire/gzip.h"
#include "src/wire/pprof_fields.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using profile::FunctionId;
using profile::Label;
using profile::LocationId;
using profile::MappingId;
using profile::Profile;
using profile::StringId;
using profile::ValueType;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

// File id -> dense id. File ids are nearly always 1, 2, 3 ..., but may be any 64-bit number.
class IdMap {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // False when it is there already.
  bool Insert(uint64_t file_id, uint32_t id) {
    if (Find(file_id) != kNone) return false;
    if (file_id < 2 * (count_ + 1024)) {
      if (file_id >= dense_.size()) dense_.resize(static_cast<size_t>(file_id) * 2 + 64, kNone);
      dense_[static_cast<size_t>(file_id)] = id;
    } else {
      sparse_.emplace(file_id, id);
    }
    ++count_;
    return true;
  }

  // kNone when there is none.
  uint32_t Find(uint64_t file_id) const {
    if (file_id < dense_.size() && dense_[static_cast<size_t>(file_id)] != kNone)
      return dense_[static_cast<size_t>(file_id)];
    if (sparse_.empty()) return kNone;
    const auto found = sparse_.find(file_id);
    return found == sparse_.end() ? kNone : found->second;
  }

 private:
  std::vector<uint32_t> dense_;
  std::unordered_map<uint64_t, uint32_t> sparse_;
  uint64_t count_ = 0;
};

// One message of one table, as error texts call it.
struct Place {
  const char* table;
  size_t row;
};

// The first error stays; every loop ends once there is one.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes), message_(bytes.data()) {}

  base::Result<Profile> Run() {
    try {
      ScanProfile();
      if (!error_ && strings_.empty()) FailWith("it has no string table");
      if (!error_) InternStrings();
      if (!error_) ReadHeader();
      if (!error_) ReadTables();
      if (!error_) ReadSamples();
    } catch (const protozero::end_of_buffer_exception&) {
      FailInMessage("ends too early");
    } catch (const protozero::varint_too_long_exception&) {
      FailInMessage("holds a number that does not end");
    } catch (const protozero::exception&) {
      FailInMessage("holds a field of no known type or length");
    }
    if (error_) return std::move(*error_);
    return std::move(profile_);
  }

 private:
  void FailWith(const std::string& what) {
    if (!error_) error_.emplace(ErrorCode::kCorrupt, "no valid pprof profile: " + what);
  }
  void FailInMessage(const char* what) {
    FailWith("its protobuf is damaged or truncated: the message at byte " +
             std::to_string(message_ - bytes_.data()) + ' ' + what);
  }
  void Fail(const Place& place, const std::string& what) {
    FailWith(std::string(place.table) + " " + std::to_string(place.row) + ": " + what);
  }
  // Two profiles written one after the other read like one that has every id twice.
  void FailDouble(const Place& place, uint64_t id) {
    if (second_empty_string_) return FailConcatenated();
    Fail(place, "id " + std::to_string(id) + " is used twice");
  }
  void FailConcatenated() {
    FailWith("it holds two profiles one after the other; split it, or merge them with a tool");
  }

  // True when the current field is a varint, as it must be.
  bool IsVarint(pbf_reader& reader, const Place& place) {
    return Is(reader, place, pbf_wire_type::varint);
  }
  bool IsBytes(pbf_reader& reader, const Place& place) {
    return Is(reader, place, pbf_wire_type::length_delimited);
  }
  bool Is(pbf_reader& reader, const Place& place, pbf_wire_type type) {
    if (reader.wire_type() == type) return true;
    Fail(place, "field " + std::to_string(reader.tag()) + " has wire type " +
                    std::to_string(static_cast<uint32_t>(reader.wire_type())));
    reader.skip();
    return false;
  }
  uint64_t Uint(pbf_reader& reader, const Place& place) {
    return IsVarint(reader, place) ? reader.get_uint64() : 0;
  }
  int64_t Int(pbf_reader& reader, const Place& place) {
    return static_cast<int64_t>(Uint(reader, place));
  }
  StringId ToString(uint64_t index, const Place& place, const char* field) {
    if (index < string_ids_.size()) return string_ids_[static_cast<size_t>(index)];
    Fail(place, std::string(field) + " is string " + std::to_string(static_cast<int64_t>(index)) +
                    " of a table of " + std::to_string(string_ids_.size()));
    return {};
  }
  StringId String(pbf_reader& reader, const Place& place, const char* field) {
    return ToString(Uint(reader, place), place, field);
  }

  // Most are short: the frames of samples are half of all work.
  static uint64_t NextVarint(const char** at, const char* end) {
    const auto first = static_cast<uint8_t>(**at);
    if (first < 0x80) {
      ++*at;
      return first;
    }
    if (end - *at > 1 && static_cast<uint8_t>((*at)[1]) < 0x80) {
      const auto second = static_cast<uint8_t>((*at)[1]);
      *at += 2;
      return (first & 0x7fu) | static_cast<uint64_t>(second) << 7;
    }
    return protozero::decode_varint(at, end);
  }

  // Reads a repeated integer in both of its forms, packed and one by one.
  template <typename Add>
  void Integers(pbf_reader& reader, const Place& place, const Add& add) {
    if (reader.wire_type() != pbf_wire_type::length_delimited) return add(Uint(reader, place));
    const auto view = reader.get_view();
    const char* at = view.data();
    const char* const end = at + view.size();
    while (at != end && !error_) add(NextVarint(&at, end));
  }

  pbf_reader Reader(std::string_view bytes) {
    message_ = bytes.data();
    return {bytes.data(), bytes.size()};
  }
  static std::string_view View(pbf_reader& reader) {
    const auto view = reader.get_view();
    return {view.data(), view.size()};
  }

  void ScanProfile();
  void InternStrings();
  void ScanNumber(pbf_reader& reader);
  void ReadHeader();
  void ReadTables();
  ValueType ReadValueType(std::string_view bytes, const Place& place);
  void ReadMapping(std::string_view bytes, const Place& place);
  void ReadFunction(std::string_view bytes, const Place& place);
  void ReadLocation(std::string_view bytes, const Place& place);
  profile::Line ReadLine(std::string_view bytes, const Place& place);
  void ReadSamples();
  void ReadSample(std::string_view bytes, const Place& place);
  Label ReadLabel(std::string_view bytes, const Place& place);
  // Checks the id that a row gave itself and remembers it.
  void Register(IdMap& ids, uint64_t file_id, uint32_t id, const Place& place) {
    if (error_) return;
    if (file_id == 0) return Fail(place, "its id is 0");
    if (!ids.Insert(file_id, id)) FailDouble(place, file_id);
  }

  std::string_view bytes_;
  const char* message_ = nullptr;  // that is being read, for messages
  Profile profile_;
  std::optional<Error> error_;
  std::vector<StringId> string_ids_;
  bool second_empty_string_ = false;

  // What the scan has found: numbers that are string indices wait for the string table.
  struct RawHeader {
    uint64_t drop_frames = 0;
    uint64_t keep_frames = 0;
    uint64_t default_sample_type = 0;
    uint64_t doc_url = 0;
    std::vector<uint64_t> comments;
  } raw_;
  uint32_t seen_ = 0;  // bit per singular field of Profile
  std::vector<std::string_view> strings_;
  size_t sample_count_ = 0;
  size_t sample_bytes_ = 0;
  std::vector<std::string_view> sample_types_;
  std::vector<std::string_view> period_types_;
  std::vector<std::string_view> mappings_;
  std::vector<std::string_view> functions_;
  std::vector<std::string_view> locations_;

  IdMap mapping_ids_;
  IdMap function_ids_;
  IdMap location_ids_;
  // Scratch, reused from row to row.
  std::vector<profile::Line> lines_;
  std::vector<LocationId> stack_;
  std::vector<int64_t> values_;
  std::vector<Label> labels_;
};

constexpr Place kProfilePlace = {"profile", 0};

void Decoder::ScanNumber(pbf_reader& reader) {
  using Field = pprof::ProfileField;
  const uint32_t field = reader.tag();
  if ((seen_ >> field & 1) != 0) return FailConcatenated();
  seen_ |= uint32_t{1} << field;
  profile::Header& header = profile_.header();
  const uint64_t value = Uint(reader, kProfilePlace);
  switch (field) {
    case Field::kDropFrames:
      raw_.drop_frames = value;
      break;
    case Field::kKeepFrames:
      raw_.keep_frames = value;
      break;
    case Field::kTimeNanos:
      header.time_unix_ns = static_cast<int64_t>(value);
      break;
    case Field::kDurationNanos:
      header.duration_ns = static_cast<int64_t>(value);
      break;
    case Field::kPeriod:
      header.period = static_cast<int64_t>(value);
      break;
    case Field::kDefaultSampleType:
      raw_.default_sample_type = value;
      break;
    default:
      raw_.doc_url = value;
      break;
  }
}

void Decoder::ScanProfile() {
  using Field = pprof::ProfileField;
  pbf_reader reader = Reader(bytes_);
  const auto collect = [&](std::vector<std::string_view>& table) {
    if (IsBytes(reader, kProfilePlace)) table.push_back(View(reader));
  };
  while (!error_ && reader.next()) {
    message_ = reader.data().data();
    switch (reader.tag()) {
      case Field::kSampleType:
        collect(sample_types_);
        break;
      case Field::kSample:
        if (IsBytes(reader, kProfilePlace)) {
          sample_bytes_ += View(reader).size();
          ++sample_count_;
        }
        break;
      case Field::kMapping:
        collect(mappings_);
        break;
      case Field::kLocation:
        collect(locations_);
        break;
      case Field::kFunction:
        collect(functions_);
        break;
      case Field::kStringTable:
        if (IsBytes(reader, kProfilePlace)) {
          const std::string_view text = View(reader);
          if (strings_.empty() && !text.empty()) FailWith("string_table[0] is not empty");
          if (!strings_.empty() && text.empty()) second_empty_string_ = true;
          strings_.push_back(text);
        }
        break;
      case Field::kPeriodType:
        collect(period_types_);
        if (period_types_.size() > 1) FailConcatenated();
        break;
      case Field::kComment:
        Integers(reader, kProfilePlace, [&](uint64_t value) { raw_.comments.push_back(value); });
        break;
      case Field::kDropFrames:
      case Field::kKeepFrames:
      case Field::kTimeNanos:
      case Field::kDurationNanos:
      case Field::kPeriod:
      case Field::kDefaultSampleType:
      case Field::kDocUrl:
        ScanNumber(reader);
        break;
      default:
        reader.skip();
    }
  }
}

void Decoder::InternStrings() {
  // A sample has its number of frames and values, and a frame is two bytes, mostly. All of it is
  // less than a few times what the file has.
  profile_.Reserve({.strings = strings_.size(),
                    .functions = functions_.size(),
                    .locations = locations_.size(),
                    .samples = std::min(sample_count_, sample_bytes_ / 4),
                    .frames = sample_bytes_ / 2});
  string_ids_.reserve(strings_.size());
  for (const std::string_view text : strings_) {
    string_ids_.push_back(profile_.InternString(text));
  }
}

void Decoder::ReadHeader() {
  profile::Header& header = profile_.header();
  header.drop_frames = ToString(raw_.drop_frames, kProfilePlace, "drop_frames");
  header.keep_frames = ToString(raw_.keep_frames, kProfilePlace, "keep_frames");
  header.doc_url = ToString(raw_.doc_url, kProfilePlace, "doc_url");
  header.default_sample_type =
      ToString(raw_.default_sample_type, kProfilePlace, "default_sample_type");
  for (const uint64_t comment : raw_.comments)
    header.comments.push_back(ToString(comment, kProfilePlace, "comment"));
  if (!period_types_.empty())
    header.period_type = ReadValueType(period_types_[0], {"period_type", 0});
  std::vector<ValueType> types;
  for (size_t i = 0; i < sample_types_.size(); ++i)
    types.push_back(ReadValueType(sample_types_[i], {"sample_type", i}));
  profile_.SetSampleTypes(std::move(types));
}

void Decoder::ReadTables() {
  for (size_t i = 0; i < mappings_.size() && !error_; ++i)
    ReadMapping(mappings_[i], {"mapping", i});
  for (size_t i = 0; i < functions_.size() && !error_; ++i)
    ReadFunction(functions_[i], {"function", i});
  for (size_t i = 0; i < locations_.size() && !error_; ++i)
    ReadLocation(locations_[i], {"location", i});
}

ValueType Decoder::ReadValueType(std::string_view bytes, const Place& place) {
  ValueType type;
  pbf_reader reader = Reader(bytes);
  while (!error_ && reader.next()) {
    switch (reader.tag()) {
      case pprof::ValueTypeField::kType:
        type.type = String(reader, place, "type");
        break;
      case pprof::ValueTypeField::kUnit:
        type.unit = String(reader, place, "unit");
        break;
      default:
        reader.skip();
    }
  }
  return type;
}

void Decoder::ReadMapping(std::string_view bytes, const Place& place) {
  using Field = pprof::MappingField;
  profile::Mapping mapping;
  uint64_t file_id = 0;
  pbf_reader reader = Reader(bytes);
  while (!error_ && reader.next()) {
    switch (reader.tag()) {
      case Field::kId:
        file_id = Uint(reader, place);
        break;
      case Field::kMemoryStart:
        mapping.memory_start = Uint(reader, place);
        break;
      case Field::kMemoryLimit:
        mapping.memory_limit = Uint(reader, place);
        break;
      case Field::kFileOffset:
        mapping.file_offset = Uint(reader, place);
        break;
      case Field::kFilename:
        mapping.path = String(reader, place, "filename");
        break;
      case Field::kBuildId:
        mapping.build_id = String(reader, place, "build_id");
        break;
      case Field::kHasFunctions:
        mapping.has_functions = Uint(reader, place) != 0;
        break;
      case Field::kHasFilenames:
        mapping.has_filenames = Uint(reader, place) != 0;
        break;
      case Field::kHasLineNumbers:
        mapping.has_line_numbers = Uint(reader, place) != 0;
        break;
      case Field::kHasInlineFrames:
        mapping.has_inline_frames = Uint(reader, place) != 0;
        break;
      default:
        reader.skip();
    }
  }
  Register(mapping_ids_, file_id, profile_.AddMapping(mapping).value(), place);
}

void Decoder::ReadFunction(std::string_view bytes, const Place& place) {
  using Field = pprof::FunctionField;
  profile::Function function;
  uint64_t file_id = 0;
  pbf_reader reader = Reader(bytes);
  while (!error_ && reader.next()) {
    switch (reader.tag()) {
      case Field::kId:
        file_id = Uint(reader, place);
        break;
      case Field::kName:
        function.name = String(reader, place, "name");
        break;
      case Field::kSystemName:
        function.system_name = String(reader, place, "system_name");
        break;
      case Field::kFilename:
        function.file = String(reader, place, "filename");
        break;
      case Field::kStartLine:
        function.start_line = Int(reader, place);
        break;
      default:
        reader.skip();
    }
  }
  Register(function_ids_, file_id, profile_.AddFunction(function).value(), place);
}

void Decoder::ReadLocation(std::string_view bytes, const Place& place) {
  using Field = pprof::LocationField;
  profile::Location location;
  lines_.clear();
  uint64_t file_id = 0;
  uint64_t mapping = 0;
  pbf_reader reader = Reader(bytes);
  while (!error_ && reader.next()) {
    switch (reader.tag()) {
      case Field::kId:
        file_id = Uint(reader, place);
        break;
      case Field::kMappingId:
        mapping = Uint(reader, place);
        break;
      case Field::kAddress:
        location.address = Uint(reader, place);
        break;
      case Field::kLine:
        if (IsBytes(reader, place)) lines_.push_back(ReadLine(View(reader), place));
        break;
      case Field::kIsFolded:
        location.is_folded = Uint(reader, place) != 0;
        break;
      default:
        reader.skip();
    }
  }
  if (mapping != 0) {
    const uint32_t id = mapping_ids_.Find(mapping);
    if (id == IdMap::kNone)
      return Fail(place, "mapping_id " + std::to_string(mapping) + " does not exist");
    location.mapping = MappingId{id};
  }
  location.lines = lines_;
  Register(location_ids_, file_id, profile_.AddLocation(location).value(), place);
}

profile::Line Decoder::ReadLine(std::string_view bytes, const Place& place) {
  using Field = pprof::LineField;
  profile::Line line;
  uint64_t function = 0;
  pbf_reader reader = Reader(bytes);
  while (!error_ && reader.next()) {
    switch (reader.tag()) {
      case Field::kFunctionId:
        function = Uint(reader, place);
        break;
      case Field::kLine:
        line.line = Int(reader, place);
        break;
      case Field::kColumn:
        line.column = Int(reader, place);
        break;
      default:
        reader.skip();
    }
  }
  const uint32_t id = function_ids_.Find(function);
  if (id == IdMap::kNone) {
    Fail(place, "function_id " + std::to_string(function) + " does not exist");
    return line;
  }
  line.function = FunctionId{id};
  return line;
}

void Decoder::ReadSamples() {
  pbf_reader reader = Reader(bytes_);
  size_t row = 0;
  while (!error_ && reader.next(pprof::ProfileField::kSample)) {
    ReadSample(View(reader), {"sample", row});
    ++row;
  }
}

void Decoder::ReadSample(std::string_view bytes, const Place& place) {
  using Field = pprof::SampleField;
  stack_.clear();
  values_.clear();
  labels_.clear();
  pbf_reader reader = Reader(bytes);
  while (!error_ && reader.next()) {
    switch (reader.tag()) {
      case Field::kLocationId:
        Integers(reader, place, [&](uint64_t file_id) {
          const uint32_t id = location_ids_.Find(file_id);
          if (id == IdMap::kNone)
            return Fail(place, "location_id " + std::to_string(file_id) + " does not exist");
          stack_.push_back(LocationId{id});
        });
        break;
      case Field::kValue:
        Integers(reader, place,
                 [&](uint64_t value) { values_.push_back(static_cast<int64_t>(value)); });
        break;
      case Field::kLabel:
        if (IsBytes(reader, place)) labels_.push_back(ReadLabel(View(reader), place));
        break;
      default:
        reader.skip();
    }
  }
  if (error_) return;
  const size_t type_count = profile_.sample_types().size();
  if (values_.size() != type_count || type_count == 0) {
    return Fail(place, std::to_string(values_.size()) + " values for " +
                           std::to_string(type_count) + " sample types");
  }
  profile_.AppendSample(profile_.InternStack(stack_), profile_.InternLabels(labels_), values_);
}

Label Decoder::ReadLabel(std::string_view bytes, const Place& place) {
  using Field = pprof::LabelField;
  Label label;
  pbf_reader reader = Reader(bytes);
  while (!error_ && reader.next()) {
    switch (reader.tag()) {
      case Field::kKey:
        label.key = String(reader, place, "label key");
        break;
      case Field::kStr:
        label.text = String(reader, place, "label str");
        break;
      case Field::kNum:
        label.number = Int(reader, place);
        break;
      case Field::kNumUnit:
        label.unit = String(reader, place, "label num_unit");
        break;
      default:
        reader.skip();
    }
  }
  return label;
}

}  // namespace

base::Result<Profile> DecodePprof(std::string_view bytes, const PprofDecodeOptions& options) {
  if (bytes.empty()) return Error(ErrorCode::kCorrupt, "no valid pprof profile: it is empty");
  if (IsGzip(bytes)) {
    ASSIGN_OR_RETURN(const std::string plain, Gunzip(bytes, options.decoded_bytes_max));
    if (plain.empty()) return Error(ErrorCode::kCorrupt, "no valid pprof profile: it is empty");
    return Decoder(plain).Run();
  }
  if (bytes.size() > options.decoded_bytes_max) {
    return Error(ErrorCode::kExhausted,
                 "it is larger than the limit of " + HumanBytes(options.decoded_bytes_max));
  }
  return Decoder(bytes).Run();
}

}  // namespace vesta::wire
