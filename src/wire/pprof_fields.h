// Field numbers of pprof's profile.proto (package perftools.profiles); for the encoder and the
// decoder only.
// Source: github.com/google/pprof proto/profile.proto.
#pragma once

#include <cstdint>

namespace vesta::wire::pprof {

struct ProfileField {
  static constexpr uint32_t kSampleType = 1;
  static constexpr uint32_t kSample = 2;
  static constexpr uint32_t kMapping = 3;
  static constexpr uint32_t kLocation = 4;
  static constexpr uint32_t kFunction = 5;
  static constexpr uint32_t kStringTable = 6;
  static constexpr uint32_t kDropFrames = 7;
  static constexpr uint32_t kKeepFrames = 8;
  static constexpr uint32_t kTimeNanos = 9;
  static constexpr uint32_t kDurationNanos = 10;
  static constexpr uint32_t kPeriodType = 11;
  static constexpr uint32_t kPeriod = 12;
  static constexpr uint32_t kComment = 13;
  static constexpr uint32_t kDefaultSampleType = 14;
  static constexpr uint32_t kDocUrl = 15;
};

struct ValueTypeField {
  static constexpr uint32_t kType = 1;
  static constexpr uint32_t kUnit = 2;
};

struct SampleField {
  static constexpr uint32_t kLocationId = 1;
  static constexpr uint32_t kValue = 2;
  static constexpr uint32_t kLabel = 3;
};

struct LabelField {
  static constexpr uint32_t kKey = 1;
  static constexpr uint32_t kStr = 2;
  static constexpr uint32_t kNum = 3;
  static constexpr uint32_t kNumUnit = 4;
};

struct MappingField {
  static constexpr uint32_t kId = 1;
  static constexpr uint32_t kMemoryStart = 2;
  static constexpr uint32_t kMemoryLimit = 3;
  static constexpr uint32_t kFileOffset = 4;
  static constexpr uint32_t kFilename = 5;
  static constexpr uint32_t kBuildId = 6;
  static constexpr uint32_t kHasFunctions = 7;
  static constexpr uint32_t kHasFilenames = 8;
  static constexpr uint32_t kHasLineNumbers = 9;
  static constexpr uint32_t kHasInlineFrames = 10;
};

struct LocationField {
  static constexpr uint32_t kId = 1;
  static constexpr uint32_t kMappingId = 2;
  static constexpr uint32_t kAddress = 3;
  static constexpr uint32_t kLine = 4;
  static constexpr uint32_t kIsFolded = 5;
};

struct LineField {
  static constexpr uint32_t kFunctionId = 1;
  static constexpr uint32_t kLine = 2;
  static constexpr uint32_t kColumn = 3;
};

struct FunctionField {
  static constexpr uint32_t kId = 1;
  static constexpr uint32_t kName = 2;
  static constexpr uint32_t kSystemName = 3;
  static constexpr uint32_t kFilename = 4;
  static constexpr uint32_t kStartLine = 5;
};

}  // namespace vesta::wire::pprof
