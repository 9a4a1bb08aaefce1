#include "src/cli/store_question.h"

#include <chrono>
#include <cstdio>

#include "src/base/calendar.h"
#include "src/base/printable.h"
#include "src/cli/profile_output.h"
#include "src/cli/top_view.h"
#include "src/query/time_text.h"

namespace vesta::cli {

StoreQuestion QuestionOf(const std::string& path, const std::string& query,
                         const Settings& settings) {
  StoreQuestion question{.path = path, .parameters = {{"query", query}}};
  if (settings.time_from != "auto") question.parameters.emplace_back("from", settings.time_from);
  if (settings.time_to == "now") return question;
  question.parameters.emplace_back("to", settings.time_to);
  // The hour before --to. One that is no time is refused where it is asked.
  const auto to = query::ParseTime(settings.time_to);
  if (settings.time_from != "auto" || !to.ok()) return question;
  const int64_t now_unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                                  std::chrono::system_clock::now().time_since_epoch())
                                  .count();
  const query::TimePoint from{query::TimePoint::Kind::kUnix,
                              to->UnixMs(now_unix_ms) - base::kHourMs};
  question.parameters.emplace_back("from", query::TimePointText(from));
  return question;
}

void AskForTable(const Settings& settings, bool json, bool is_printed, StoreQuestion& question) {
  auto& parameters = question.parameters;
  parameters.emplace_back("limit", std::to_string(settings.rows));
  parameters.emplace_back("format", json ? "json" : "text");
  if (json || !is_printed) return;
  parameters.emplace_back("width", std::to_string(RenderOptionsOf(settings).width_columns));
}

void SayNotes(const std::string& command, const StoreAnswer& answer) {
  for (const std::string& note : answer.notes)
    std::fprintf(stderr, "vesta %s: %s\n", command.c_str(), base::Printable(note).c_str());
}

base::Result<void> CheckFound(const StoreAnswer& answer, const std::string& query) {
  if (!answer.is_empty) return {};
  std::string why;
  for (const std::string& note : answer.notes) why += (why.empty() ? "" : "; ") + note;
  if (why.empty()) {
    why = "nothing is stored of " + (query.empty() ? "this time" : query) +
          ": look at --from and --to, and at `vesta labels`";
  }
  return base::Error(base::ErrorCode::kNotFound, why);
}

std::string ByParameter(const std::string& by) {
  std::string labels;
  for (const std::string& label : FirstFrameLabels(by)) {
    labels += (labels.empty() ? "" : ",") + label;
  }
  return labels;
}

}  // namespace vesta::cli
