#include "src/wire/pprof_encoder.h"

#include <optional>
#include <protozero/pbf_writer.hpp>

#include "src/wire/gzip.h"
#include "src/wire/pprof_fields.h"

namespace vesta::wire {
namespace {

using profile::FunctionId;
using profile::Label;
using profile::Line;
using profile::Location;
using profile::LocationId;
using profile::Mapping;
using profile::MappingId;
using profile::Profile;
using profile::ValueType;
using protozero::pbf_writer;

constexpr size_t kFlushBytes = size_t{256} << 10;

// proto3 leaves zeros out.
void AddUint(pbf_writer& writer, uint32_t field, uint64_t value) {
  if (value != 0) writer.add_uint64(field, value);
}
void AddInt(pbf_writer& writer, uint32_t field, int64_t value) {
  if (value != 0) writer.add_int64(field, value);
}
void AddString(pbf_writer& writer, uint32_t field, profile::StringId id) {
  AddUint(writer, field, id.value());
}

class Encoder {
 public:
  Encoder(const Profile& profile, const PprofEncodeOptions& options) : profile_(profile) {
    if (options.gzip) gzip_.emplace(options.gzip_level);
  }

  std::string Run() {
    using Field = pprof::ProfileField;
    for (const ValueType& type : profile_.sample_types()) AddValueType(Field::kSampleType, type);
    AddSamples();
    AddMappings();
    AddLocations();
    AddFunctions();
    for (uint32_t i = 0; i < profile_.string_count(); ++i) {
      const std::string_view text = profile_.String(profile::StringId{i});
      writer_.add_string(Field::kStringTable, text.data(), text.size());
      MaybeFlush();
    }
    AddHeader();
    if (!gzip_) return std::move(buffer_);
    gzip_->Write(buffer_);
    return gzip_->Finish();
  }

 private:
  // Hands the bytes so far to gzip; the message's fields need no common length, so any border
  // between two of them will do.
  void MaybeFlush() {
    if (!gzip_ || buffer_.size() < kFlushBytes) return;
    gzip_->Write(buffer_);
    buffer_.clear();
  }

  void AddMessage(uint32_t field) {
    writer_.add_message(field, message_);
    MaybeFlush();
  }

  void AddValueType(uint32_t field, const ValueType& type) {
    message_.clear();
    pbf_writer message(message_);
    AddString(message, pprof::ValueTypeField::kType, type.type);
    AddString(message, pprof::ValueTypeField::kUnit, type.unit);
    AddMessage(field);
  }

  void AddSamples() {
    using Field = pprof::SampleField;
    std::string label_message;
    for (size_t i = 0; i < profile_.sample_count(); ++i) {
      message_.clear();
      pbf_writer message(message_);
      const auto stack = profile_.stack(profile_.sample_stack(i));
      if (!stack.empty()) {
        protozero::packed_field_uint64 ids(message, Field::kLocationId);
        for (const LocationId id : stack) ids.add_element(uint64_t{id.value()} + 1);
      }
      const auto values = profile_.sample_values(i);
      if (!values.empty()) message.add_packed_int64(Field::kValue, values.begin(), values.end());
      for (const Label& label : profile_.labels(profile_.sample_labels(i))) {
        label_message.clear();
        pbf_writer writer(label_message);
        AddString(writer, pprof::LabelField::kKey, label.key);
        AddString(writer, pprof::LabelField::kStr, label.text);
        AddInt(writer, pprof::LabelField::kNum, label.number);
        AddString(writer, pprof::LabelField::kNumUnit, label.unit);
        message.add_message(Field::kLabel, label_message);
      }
      AddMessage(pprof::ProfileField::kSample);
    }
  }

  // The main mapping comes first, the others keep their order.
  uint64_t PprofId(MappingId id) const {
    if (id == profile::kNoMapping) return 0;
    const MappingId main = profile_.header().main_mapping;
    if (main == profile::kNoMapping) return uint64_t{id.value()} + 1;
    if (id == main) return 1;
    return uint64_t{id.value()} + (id < main ? 2 : 1);
  }

  void AddMapping(MappingId id) {
    using Field = pprof::MappingField;
    const Mapping& mapping = profile_.mapping(id);
    message_.clear();
    pbf_writer message(message_);
    AddUint(message, Field::kId, PprofId(id));
    AddUint(message, Field::kMemoryStart, mapping.memory_start);
    AddUint(message, Field::kMemoryLimit, mapping.memory_limit);
    AddUint(message, Field::kFileOffset, mapping.file_offset);
    AddString(message, Field::kFilename, mapping.path);
    AddString(message, Field::kBuildId, mapping.build_id);
    AddUint(message, Field::kHasFunctions, mapping.has_functions ? 1 : 0);
    AddUint(message, Field::kHasFilenames, mapping.has_filenames ? 1 : 0);
    AddUint(message, Field::kHasLineNumbers, mapping.has_line_numbers ? 1 : 0);
    AddUint(message, Field::kHasInlineFrames, mapping.has_inline_frames ? 1 : 0);
    AddMessage(pprof::ProfileField::kMapping);
  }

  void AddMappings() {
    const MappingId main = profile_.header().main_mapping;
    if (main != profile::kNoMapping) AddMapping(main);
    for (uint32_t i = 0; i < profile_.mapping_count(); ++i) {
      if (MappingId{i} != main) AddMapping(MappingId{i});
    }
  }

  void AddLocations() {
    using Field = pprof::LocationField;
    std::string line_message;
    for (uint32_t i = 0; i < profile_.location_count(); ++i) {
      const Location location = profile_.location(LocationId{i});
      message_.clear();
      pbf_writer message(message_);
      AddUint(message, Field::kId, uint64_t{i} + 1);
      AddUint(message, Field::kMappingId, PprofId(location.mapping));
      AddUint(message, Field::kAddress, location.address);
      for (const Line& line : location.lines) {
        line_message.clear();
        pbf_writer writer(line_message);
        AddUint(writer, pprof::LineField::kFunctionId, uint64_t{line.function.value()} + 1);
        AddInt(writer, pprof::LineField::kLine, line.line);
        AddInt(writer, pprof::LineField::kColumn, line.column);
        message.add_message(Field::kLine, line_message);
      }
      AddUint(message, Field::kIsFolded, location.is_folded ? 1 : 0);
      AddMessage(pprof::ProfileField::kLocation);
    }
  }

  void AddFunctions() {
    using Field = pprof::FunctionField;
    for (uint32_t i = 0; i < profile_.function_count(); ++i) {
      const profile::Function& function = profile_.function(FunctionId{i});
      message_.clear();
      pbf_writer message(message_);
      AddUint(message, Field::kId, uint64_t{i} + 1);
      AddString(message, Field::kName, function.name);
      AddString(message, Field::kSystemName, function.system_name);
      AddString(message, Field::kFilename, function.file);
      AddInt(message, Field::kStartLine, function.start_line);
      AddMessage(pprof::ProfileField::kFunction);
    }
  }

  void AddHeader() {
    using Field = pprof::ProfileField;
    const profile::Header& header = profile_.header();
    AddString(writer_, Field::kDropFrames, header.drop_frames);
    AddString(writer_, Field::kKeepFrames, header.keep_frames);
    AddInt(writer_, Field::kTimeNanos, header.time_unix_ns);
    AddInt(writer_, Field::kDurationNanos, header.duration_ns);
    if (header.period_type != ValueType{}) AddValueType(Field::kPeriodType, header.period_type);
    AddInt(writer_, Field::kPeriod, header.period);
    // Repeated, so a comment that is "" must be written too.
    for (const profile::StringId comment : header.comments)
      writer_.add_int64(Field::kComment, comment.value());
    AddString(writer_, Field::kDefaultSampleType, header.default_sample_type);
    AddString(writer_, Field::kDocUrl, header.doc_url);
  }

  const Profile& profile_;
  std::optional<GzipWriter> gzip_;
  std::string buffer_;
  pbf_writer writer_{buffer_};
  std::string message_;  // one sub-message at a time, reused
};

}  // namespace

std::string EncodePprof(const profile::Profile& profile, const PprofEncodeOptions& options) {
  return Encoder(profile, options).Run();
}

}  // namespace vesta::wire
