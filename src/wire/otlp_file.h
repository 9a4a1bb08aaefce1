// OTLP Profiles as files: what EncodeOtlpProfile wrote, and what other tools keep.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire {

// Whether these bytes are whole messages of OTLP Profiles. pprof is protobuf, too, but has fields
// that a message has not.
// Cost: the headers of the fields of two levels.
bool IsOtlp(std::string_view bytes);

// The same of bytes that are no text, and may be damaged or truncated: told by what comes first.
bool BeginsAsOtlp(std::string_view bytes);

// The messages of a file: itself, or those behind lengths of 4 bytes, big endian, as the file
// exporter of the OpenTelemetry Collector writes them.
// Errors: Corrupt when a length leaves the file.
base::Result<std::vector<std::string_view>> OtlpMessages(std::string_view bytes);

// Shape: profiles without times are put together, one sample type each; samples with times become
//        rows with the labels of src/batch/row_labels.h, so that `vesta import` keeps their times.
//        Attributes of resources and samples are labels; process.pid, thread.id and thread.name are
//        called pid, tid and thread.
// Errors: as DecodeOtlp; Corrupt when no sample of it is good; Exhausted above size_bytes_max for
//         messages that are packed by zstd, each for itself.
base::Result<profile::Profile> DecodeOtlpFile(std::string_view bytes, uint64_t size_bytes_max);

}  // namespace vesta::wire
