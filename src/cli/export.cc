// `vesta export`: stored samples as a file that `vesta import` takes.

#include <unistd.h>

#include <string>

#include "src/base/printable.h"
#include "src/cli/output.h"
#include "src/cli/profile_output.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/store_access.h"
#include "src/cli/store_question.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;

base::Result<void> Export(const ExportOptions& options) {
  const std::string& path = options.answer_file;
  if (path == "-" && ::isatty(STDOUT_FILENO) == 1) {
    return Error(ErrorCode::kInvalidInput,
                 "an export is no text and does not belong on a terminal: give -o FILE");
  }
  RETURN_IF_ERROR(wire::CheckOutputPath(path));
  Progress progress(options.quiet);
  progress.Say("asking");
  ASSIGN_OR_RETURN(const auto access, OpenStoreAccess(options, StoreUse::kRead));
  ASSIGN_OR_RETURN(const StoreAnswer answer,
                   access->Ask(QuestionOf("rows", options.query, options)));
  progress.Clear();
  RETURN_IF_ERROR(CheckFound(answer, options.query));
  SayNotes("export", answer);
  RETURN_IF_ERROR(wire::WriteWholeFile(path, answer.body));
  SayWritten(path, "", options.quiet);
  return {};
}

}  // namespace

int RunExport(const ExportOptions& options) {
  const auto done = Export(options);
  return done.ok() ? 0 : ReportFailure("export", done.error());
}

}  // namespace vesta::cli
