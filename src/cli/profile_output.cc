#include "src/cli/profile_output.h"

#include <unistd.h>

#include <cstdio>

#include "src/base/printable.h"
#include "src/wire/folded_encoder.h"
#include "src/wire/gzip.h"
#include "src/wire/losses.h"
#include "src/wire/pprof_encoder.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using profile::Profile;
using wire::OutputFormat;
using wire::ProfileFormat;

Result<std::string> EncodePlain(const Profile& profile, ProfileFormat format,
                                const OutputOptions& options) {
  switch (format) {
    case ProfileFormat::kFolded: {
      wire::FoldedEncodeOptions folded;
      folded.first_frame_label =
          options.first_frame_labels.empty() ? "" : options.first_frame_labels[0];
      return wire::EncodeFolded(profile, folded);
    }
    default:
      return Error(ErrorCode::kUnsupported,
                   "vesta does not write " + std::string(wire::SpecOf(format).title));
  }
}

std::string Gzip(std::string_view bytes) {
  wire::GzipWriter writer(1);
  writer.Write(bytes);
  return writer.Finish();
}

}  // namespace

OutputOptions OutputOptionsOf(const Settings& settings, size_t sample_type,
                              const std::string& name) {
  OutputOptions options;
  options.sample_type = sample_type;
  if (settings.by != "none") options.first_frame_labels = {settings.by};
  options.title = settings.title == "auto" ? NameOfFile(name) : settings.title;
  return options;
}

Result<std::string> EncodeOutput(const Profile& profile, OutputFormat format,
                                 const OutputOptions& options) {
  if (format.format == ProfileFormat::kPprof)
    return wire::EncodePprof(profile, {.gzip = format.gzip});
  auto plain = EncodePlain(profile, format.format, options);
  if (!plain.ok() || !format.gzip) return plain;
  return Gzip(*plain);
}

Result<void> CheckOutput(const std::string& path, OutputFormat format) {
  const bool is_binary = format.gzip || format.format == ProfileFormat::kPprof;
  if (path == "-" && is_binary && ::isatty(STDOUT_FILENO) == 1) {
    return Error(ErrorCode::kInvalidInput,
                 std::string(wire::SpecOf(format.format).title) +
                     " is no text and does not belong on a terminal: send it to a file or a pipe");
  }
  return wire::CheckOutputPath(path);
}

std::string LossesOfOutput(const Profile& profile, OutputFormat format,
                           const OutputOptions& options) {
  const wire::LossOptions losses = {options.sample_type, options.first_frame_labels};
  return wire::LossText(wire::LossesOf(profile, format.format, losses), format.format);
}

void SayWritten(const std::string& path, const std::string& losses, bool quiet) {
  if (!losses.empty()) std::fprintf(stderr, "%s\n", base::Printable(losses).c_str());
  if (!quiet && path != "-") std::fprintf(stderr, "wrote %s\n", base::Printable(path).c_str());
}

std::string NameOfFile(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "-") return "standard input";
  for (const std::string_view ending :
       {".gz", ".json", ".pb", ".pprof", ".prof", ".folded", ".speedscope", ".firefox",
        ".cpuprofile", ".jfr", ".html", ".svg"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return std::string(name);
}

}  // namespace vesta::cli
