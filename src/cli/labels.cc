// `vesta labels`: what labels there are, or what values one of them has.

#include <string>

#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/store_access.h"
#include "src/cli/store_question.h"

namespace vesta::cli {
namespace {

base::Result<int> Labels(const LabelsOptions& options) {
  StoreQuestion question = QuestionOf(
      options.label.empty() ? "labels" : "labels/" + options.label + "/values", "", options);
  AskForTable(options, options.format == Format::kJson, true, question);
  ASSIGN_OR_RETURN(const auto access, OpenStoreAccess(options, StoreUse::kRead));
  ASSIGN_OR_RETURN(std::string answer, access->Ask(question));
  if (!answer.ends_with('\n')) answer += '\n';
  return PrintOut(answer);
}

}  // namespace

int RunLabels(const LabelsOptions& options) {
  const auto status = Labels(options);
  return status.ok() ? *status : ReportFailure("labels", status.error());
}

}  // namespace vesta::cli
