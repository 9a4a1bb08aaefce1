#include "src/wire/profile_decoder.h"

#include "src/wire/cpuprofile_decoder.h"
#include "src/wire/folded_decoder.h"
#include "src/wire/gzip.h"
#include "src/wire/jfr_decoder.h"
#include "src/wire/otlp_file.h"
#include "src/wire/perf_data_decoder.h"
#include "src/wire/perf_script_decoder.h"
#include "src/wire/pprof_decoder.h"
#include "src/wire/speedscope_decoder.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using profile::Profile;

Result<Profile> Decode(std::string_view bytes, ProfileFormat format, const DecodeOptions& options) {
  switch (format) {
    case ProfileFormat::kFolded:
      return DecodeFolded(bytes);
    case ProfileFormat::kPprof:
      return DecodePprof(bytes, {.decoded_bytes_max = options.size_bytes_max});
    case ProfileFormat::kOtlp:
      return DecodeOtlpFile(bytes, options.size_bytes_max);
    case ProfileFormat::kSpeedscope:
      return DecodeSpeedscope(bytes);
    case ProfileFormat::kJfr:
      return DecodeJfr(bytes);
    case ProfileFormat::kCpuProfile:
      return DecodeCpuProfile(bytes);
    case ProfileFormat::kPerfData:
      return DecodePerfData(bytes);
    case ProfileFormat::kPerfScript:
      return DecodePerfScript(bytes);
    default:
      return Error(ErrorCode::kUnsupported,
                   "it is " + std::string(SpecOf(format).title) + ", which vesta does not read");
  }
}

// Errors of JSON tell the field and the byte, but not whose fields these are.
Error NameFormat(const Error& error, ProfileFormat format) {
  const bool is_json = format == ProfileFormat::kSpeedscope || format == ProfileFormat::kCpuProfile;
  if (!is_json || error.message().starts_with("no ")) return error;
  return error.Context(std::string(SpecOf(format).title));
}

Error IsNoProfile(std::string_view what_it_is) {
  return Error(ErrorCode::kUnsupported,
               std::string(what_it_is) + "; vesta reads " + ReadableFormats());
}

// Why a file could not be read: its own fault, or it is something else than what was tried.
Error Explain(const Error& error, const Sniffed& sniffed, const DecodeOptions& options) {
  if (options.from && *options.from != sniffed.format && sniffed.otherwise.empty()) {
    return Error(ErrorCode::kInvalidInput, "it is " + std::string(SpecOf(sniffed.format).title) +
                                               ", not " + std::string(SpecOf(*options.from).title) +
                                               " as --from says (" + error.message() + ")");
  }
  if (options.from || sniffed.otherwise.empty())
    return NameFormat(error, options.from.value_or(sniffed.format));
  return IsNoProfile(sniffed.otherwise);
}

}  // namespace

Result<void> CheckStart(std::string_view first_bytes, const std::string& name,
                        const DecodeOptions& options) {
  if (options.from) return {};
  constexpr size_t kUnpackedBytes = 4096;
  std::string plain;
  if (IsGzip(first_bytes)) {
    plain = GunzipStart(first_bytes, kUnpackedBytes);
    first_bytes = plain;
  }
  const std::string_view otherwise = NoProfileByStart(first_bytes);
  if (otherwise.empty()) return {};
  return IsNoProfile(otherwise).Context(name);
}

Result<Profile> DecodeProfile(std::string_view bytes, const std::string& name,
                              const DecodeOptions& options) {
  if (bytes.empty()) return Error(ErrorCode::kCorrupt, name + ": it is empty");
  RETURN_IF_ERROR(CheckStart(bytes, name, options));
  std::string plain;
  if (IsGzip(bytes)) {
    auto result = Gunzip(bytes, options.size_bytes_max);
    if (!result.ok()) return std::move(result).error().Context(name);
    plain = std::move(result).value();
    bytes = plain;
    if (bytes.empty()) return Error(ErrorCode::kCorrupt, name + ": it is empty inside gzip");
  }
  const Sniffed sniffed = SniffFormat(bytes);
  auto profile = Decode(bytes, options.from.value_or(sniffed.format), options);
  if (!profile.ok()) return Explain(profile.error(), sniffed, options).Context(name);
  return profile;
}

}  // namespace vesta::wire
