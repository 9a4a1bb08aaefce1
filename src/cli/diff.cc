// `vesta diff`: two profiles side by side, as a table, a page or a picture.

#include <string>

#include "src/base/printable.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/profile_input.h"
#include "src/cli/profile_output.h"
#include "src/cli/progress.h"
#include "src/flame/stack_tree.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {
namespace {

// A side is a file; a missing one may be a word that its user took for something else.
base::Result<profile::Profile> ReadSide(const std::string& path, const Settings& settings) {
  auto profile = ReadInput(path, settings);
  if (!profile.ok() && profile.error().code() == base::ErrorCode::kNotFound) {
    return base::Error(base::ErrorCode::kNotFound,
                       profile.error().message() + "; each side of a difference is a file");
  }
  return profile;
}

base::Result<int> Diff(const DiffOptions& options) {
  for (const std::string& path : options.outputs) RETURN_IF_ERROR(wire::CheckOutputPath(path));
  Progress progress(options.quiet);
  progress.Say("reading " + base::Printable(options.before));
  ASSIGN_OR_RETURN(const profile::Profile before, ReadSide(options.before, options));
  progress.Say("reading " + base::Printable(options.after));
  ASSIGN_OR_RETURN(const profile::Profile after, ReadSide(options.after, options));
  return base::Error(base::ErrorCode::kUnsupported, "this build shows no differences yet");
}

}  // namespace

int RunDiff(const DiffOptions& options) {
  const auto status = Diff(options);
  return status.ok() ? *status : ReportFailure("diff", status.error());
}

}  // namespace vesta::cli
