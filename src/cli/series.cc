// `vesta series`: how much was used over time, a line per label.

#include <string>

#include "src/cli/output.h"
#include "src/cli/run.h"
#include "src/cli/store_access.h"
#include "src/cli/store_question.h"

namespace vesta::cli {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;

base::Result<int> Series(const SeriesOptions& options) {
  StoreQuestion question = QuestionOf("series", options.query, options);
  auto& parameters = question.parameters;
  if (options.group_by != "auto") parameters.emplace_back("by", options.group_by);
  if (options.step_ns != 0)
    parameters.emplace_back("step", std::to_string(options.step_ns / kNsPerMs) + "ms");
  AskForTable(options, options.format == Format::kJson, true, question);
  if (options.explain) {
    question.path = "explain";
    parameters.emplace_back("question", "series");
  }
  ASSIGN_OR_RETURN(const auto access, OpenStoreAccess(options, StoreUse::kRead));
  ASSIGN_OR_RETURN(const StoreAnswer answer, access->Ask(question));
  return PrintOut(answer.body);
}

}  // namespace

int RunSeries(const SeriesOptions& options) {
  const auto status = Series(options);
  return status.ok() ? *status : ReportFailure("series", status.error());
}

}  // namespace vesta::cli
