// The formats of profiles: their words, their endings, and how to tell one by its content.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace vesta::wire {

enum class ProfileFormat : uint8_t {
  kPprof,
  kOtlp,
  kFolded,
  kSpeedscope,
  kPerfScript,
  kPerfData,
  kJfr,
  kCpuProfile,
  kFirefox,
  kHtml,
  kSvg
};

struct FormatSpec {
  ProfileFormat format;
  std::string_view word;     // of --from and --to
  std::string_view title;    // in sentences
  std::string_view endings;  // of files to write, separated by spaces; "" = it is not written
  bool readable;
  bool may_be_packed;  // a further ".gz" at the end packs it
};

// In the order of ProfileFormat.
std::span<const FormatSpec> AllFormats();
const FormatSpec& SpecOf(ProfileFormat format);
// "pprof, folded stacks, ..., or V8 CPU profile"
std::string ReadableFormats();

// The format with this word. Errors: InvalidInput with the words that would do.
base::Result<ProfileFormat> ReadableFormatOfWord(std::string_view word);
base::Result<ProfileFormat> WritableFormatOfWord(std::string_view word);

struct OutputFormat {
  ProfileFormat format = ProfileFormat::kPprof;
  bool gzip = true;
  friend bool operator==(const OutputFormat&, const OutputFormat&) = default;
};

// The format that a name asks for, by its ending; "-" and names below /dev/ = pprof with gzip.
// Errors: InvalidInput with the list of endings.
base::Result<OutputFormat> FormatOfName(std::string_view path);

// The format of a word, packed as the ending of the path says, pprof without one is packed.
// Errors: InvalidInput with the words that would do.
base::Result<OutputFormat> FormatOfWordAndName(std::string_view word, std::string_view path);

// What a file is, told by its first bytes and, for JSON, by its outermost keys.
struct Sniffed {
  ProfileFormat format;  // to try
  // What it is in truth if that fails: a sentence, "it is a program and no profile"; "" = the
  // format holds.
  std::string_view otherwise;
};

// What they are that begin like this, when no format does: a sentence as in Sniffed; "" = they may
// be a profile. 64 bytes tell, more are not looked at.
std::string_view NoProfileByStart(std::string_view bytes);

// `bytes` without gzip around them. Cost: JSON may be looked at to its end, once.
Sniffed SniffFormat(std::string_view bytes);

}  // namespace vesta::wire
