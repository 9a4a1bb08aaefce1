// Field numbers of OTLP Profiles, v1.10 and later, and the attributes that we write and know; for
// its encoders and decoders only.
// Source: open-telemetry/opentelemetry-proto, opentelemetry/proto/profiles/v1development/
//         profiles.proto and common/v1/common.proto at v1.11.0; semantic conventions 1.37,
//         docs/general/profiles.md and model/pprof/registry.yaml.
#pragma once

#include <cstdint>
#include <string_view>

namespace vesta::wire::otlp {

struct RequestField {
  static constexpr uint32_t kResourceProfiles = 1;
  static constexpr uint32_t kDictionary = 2;
};

struct ResourceProfilesField {
  static constexpr uint32_t kResource = 1;
  static constexpr uint32_t kScopeProfiles = 2;
};

struct ResourceField {
  static constexpr uint32_t kAttributes = 1;
};

struct ScopeProfilesField {
  static constexpr uint32_t kScope = 1;
  static constexpr uint32_t kProfiles = 2;
};

struct ScopeField {
  static constexpr uint32_t kName = 1;
  static constexpr uint32_t kVersion = 2;
  static constexpr uint32_t kAttributes = 3;
};

struct DictionaryField {
  static constexpr uint32_t kMappings = 1;
  static constexpr uint32_t kLocations = 2;
  static constexpr uint32_t kFunctions = 3;
  static constexpr uint32_t kLinks = 4;
  static constexpr uint32_t kStrings = 5;
  static constexpr uint32_t kAttributes = 6;
  static constexpr uint32_t kStacks = 7;
};

struct ProfileField {
  static constexpr uint32_t kSampleType = 1;
  static constexpr uint32_t kSamples = 2;
  static constexpr uint32_t kTime = 3;
  static constexpr uint32_t kDuration = 4;
  static constexpr uint32_t kPeriodType = 5;
  static constexpr uint32_t kPeriod = 6;
  static constexpr uint32_t kAttributeIndices = 11;
  static constexpr uint32_t kAttributeIndicesV1_8 = 12;
};

// The numbers of a sample's fields depend on the layout, see otlp_layout.h.
struct SampleField {
  static constexpr uint32_t kStack = 1;
  static constexpr uint32_t kAttributeIndices = 2;
  static constexpr uint32_t kLink = 3;
  static constexpr uint32_t kValues = 4;
  static constexpr uint32_t kTimestamps = 5;
};

struct StackField {
  static constexpr uint32_t kLocationIndices = 1;
};

struct LocationField {
  static constexpr uint32_t kMapping = 1;
  static constexpr uint32_t kAddress = 2;
  static constexpr uint32_t kLines = 3;
  static constexpr uint32_t kAttributeIndices = 4;
};

struct LineField {
  static constexpr uint32_t kFunction = 1;
  static constexpr uint32_t kLine = 2;
  static constexpr uint32_t kColumn = 3;
};

struct FunctionField {
  static constexpr uint32_t kName = 1;
  static constexpr uint32_t kSystemName = 2;
  static constexpr uint32_t kFilename = 3;
  static constexpr uint32_t kStartLine = 4;
};

struct MappingField {
  static constexpr uint32_t kMemoryStart = 1;
  static constexpr uint32_t kMemoryLimit = 2;
  static constexpr uint32_t kFileOffset = 3;
  static constexpr uint32_t kFilename = 4;
  static constexpr uint32_t kAttributeIndices = 5;
};

struct LinkField {
  static constexpr uint32_t kTraceId = 1;
  static constexpr uint32_t kSpanId = 2;
};

struct ValueTypeField {
  static constexpr uint32_t kType = 1;
  static constexpr uint32_t kUnit = 2;
};

struct KeyValueAndUnitField {
  static constexpr uint32_t kKey = 1;
  static constexpr uint32_t kValue = 2;
  static constexpr uint32_t kUnit = 3;
};

struct KeyValueField {
  static constexpr uint32_t kKey = 1;
  static constexpr uint32_t kValue = 2;
  static constexpr uint32_t kKeyIndex = 3;
};

struct AnyValueField {
  static constexpr uint32_t kString = 1;
  static constexpr uint32_t kBool = 2;
  static constexpr uint32_t kInt = 3;
  static constexpr uint32_t kDouble = 4;
  static constexpr uint32_t kArray = 5;
  static constexpr uint32_t kKvlist = 6;
  static constexpr uint32_t kBytes = 7;
  static constexpr uint32_t kStringIndex = 8;
};

struct ListField {  // of ArrayValue and KeyValueList
  static constexpr uint32_t kValues = 1;
};

inline constexpr std::string_view kOurScope = "vesta";

// Of a sample: who was interrupted.
inline constexpr std::string_view kProcessPid = "process.pid";
inline constexpr std::string_view kThreadId = "thread.id";  // of the system: others do so, too
inline constexpr std::string_view kThreadName = "thread.name";
// Of a location.
inline constexpr std::string_view kFrameType = "profile.frame.type";
inline constexpr std::string_view kFrameKernel = "kernel";
inline constexpr std::string_view kFrameNative = "native";
inline constexpr std::string_view kIsFolded = "pprof.location.is_folded";
// Of a mapping.
inline constexpr std::string_view kBuildIdGnu = "process.executable.build_id.gnu";
inline constexpr std::string_view kBuildIdGo = "process.executable.build_id.go";
inline constexpr std::string_view kBuildIdHash = "process.executable.build_id.htlhash";
inline constexpr std::string_view kBuildIdProfiling = "process.executable.build_id.profiling";
inline constexpr std::string_view kHasFunctions = "pprof.mapping.has_functions";
inline constexpr std::string_view kHasFilenames = "pprof.mapping.has_filenames";
inline constexpr std::string_view kHasLineNumbers = "pprof.mapping.has_line_numbers";
inline constexpr std::string_view kHasInlineFrames = "pprof.mapping.has_inline_frames";
// Of a profile.
inline constexpr std::string_view kComment = "pprof.profile.comment";
inline constexpr std::string_view kDropFrames = "pprof.profile.drop_frames";
inline constexpr std::string_view kKeepFrames = "pprof.profile.keep_frames";
inline constexpr std::string_view kDocUrl = "pprof.profile.doc_url";
// Of a scope.
inline constexpr std::string_view kDefaultSampleType = "pprof.scope.default_sample_type";
inline constexpr std::string_view kSampleTypeOrder = "pprof.scope.sample_type_order";

// Ours. Of a mapping: a build id of no known kind, and bounds that OTLP does not allow.
inline constexpr std::string_view kImageId = "vesta.image.id";
inline constexpr std::string_view kMemoryStart = "vesta.mapping.memory_start";
inline constexpr std::string_view kMemoryLimit = "vesta.mapping.memory_limit";
// Of a profile: its values are those of rows, and this is what their counts are called.
inline constexpr std::string_view kCountType = "vesta.count_type";
// Of a sample; absent = 1.
inline constexpr std::string_view kWeight = "vesta.weight";
inline constexpr std::string_view kCount = "vesta.count";
// Of the first scope of a request, or of a dictionary of symbols.
inline constexpr std::string_view kAgent = "vesta.batch.agent";
inline constexpr std::string_view kBoot = "vesta.batch.boot";
inline constexpr std::string_view kSequence = "vesta.batch.sequence";
inline constexpr std::string_view kClockMonotonic = "vesta.clock.monotonic_ns";
inline constexpr std::string_view kClockUnix = "vesta.clock.unix_ns";
inline constexpr std::string_view kClockError = "vesta.clock.error_ns";
inline constexpr std::string_view kBook = "vesta.book";
// Of a label that is text and number at once, or has a unit of its own: keys of a list.
inline constexpr std::string_view kLabelText = "text";
inline constexpr std::string_view kLabelNumber = "number";
inline constexpr std::string_view kLabelUnit = "unit";
// What a hash that is no build id begins with where we keep build ids.
inline constexpr std::string_view kHashPrefix = "htlhash:";

}  // namespace vesta::wire::otlp
