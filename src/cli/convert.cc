// `vesta convert`: a profile of one format in, the same in another out.

#include <string>

#include "src/base/printable.h"
#include "src/cli/output.h"
#include "src/cli/profile_input.h"
#include "src/cli/profile_output.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {
namespace {

base::Result<void> Convert(const ConvertOptions& options) {
  ASSIGN_OR_RETURN(const wire::OutputFormat format,
                   options.to == "auto" ? wire::FormatOfName(options.out)
                                        : wire::FormatOfWordAndName(options.to, options.out));
  RETURN_IF_ERROR(CheckOutput(options.out, format));
  Progress progress(options.quiet);
  progress.Say("reading " + base::Printable(options.in));
  ASSIGN_OR_RETURN(const profile::Profile profile, ReadInput(options.in, options));
  ASSIGN_OR_RETURN(const OutputOptions output, OutputOptionsOf(options, profile, options.in));
  progress.Say("writing " + base::Printable(options.out));
  ASSIGN_OR_RETURN(const std::string bytes, EncodeOutput(profile, format, output));
  RETURN_IF_ERROR(wire::WriteWholeFile(options.out, bytes));
  progress.Clear();
  SayWritten(options.out, LossesOfOutput(profile, format, output), options.quiet);
  return {};
}

}  // namespace

int RunConvert(const ConvertOptions& options) {
  const auto done = Convert(options);
  return done.ok() ? 0 : ReportFailure("convert", done.error());
}

}  // namespace vesta::cli
