// `vesta labels`: what labels there are, or what values one of them has.

#include <string>

#include "src/cli/output.h"
#include "src/cli/run.h"
#include "src/cli/store_access.h"
#include "src/cli/store_question.h"

namespace vesta::cli {
namespace {

base::Result<int> Labels(const LabelsOptions& options) {
  StoreQuestion question =
      QuestionOf(options.label.empty() ? "labels" : "labels/" + options.label + "/values",
                 options.query, options);
  AskForTable(options, options.format == Format::kJson, true, question);
  ASSIGN_OR_RETURN(const auto access, OpenStoreAccess(options, StoreUse::kRead));
  ASSIGN_OR_RETURN(const StoreAnswer answer, access->Ask(question));
  return PrintOut(answer.body);
}

}  // namespace

int RunLabels(const LabelsOptions& options) {
  const auto status = Labels(options);
  return status.ok() ? *status : ReportFailure("labels", status.error());
}

}  // namespace vesta::cli
