// `vesta query`: where time or memory went, of what is stored, in each format.

#include <string>

#include "src/base/printable.h"
#include "src/cli/output.h"
#include "src/cli/profile_output.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/store_access.h"
#include "src/cli/store_question.h"
#include "src/query/time_text.h"
#include "src/wire/profile_decoder.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {
namespace {

using base::Result;
using wire::OutputFormat;
using wire::ProfileFormat;

constexpr int64_t kNsPerMs = 1'000'000;

// What is asked, and what is made of the answer.
struct Way {
  StoreQuestion question;
  // Set when the answer is pprof that becomes another format here.
  std::optional<OutputFormat> convert_to = std::nullopt;
  bool is_binary = false;
  bool is_stacks = false;  // a file that would be empty where nothing was found
};

bool IsNamed(const std::string& path, std::string_view ending) {
  return path.size() > ending.size() && path.ends_with(ending);
}

// --format, else by the name of the file.
Result<std::pair<AnswerFormat, OutputFormat>> ChooseFormat(const QueryOptions& options) {
  const std::string& path = options.answer_file;
  OutputFormat output{ProfileFormat::kPprof, true};
  AnswerFormat format = options.answer_format;
  if (format == AnswerFormat::kAuto) {
    if (path == "-" || IsNamed(path, ".txt")) {
      format = AnswerFormat::kTable;
    } else if (IsNamed(path, ".json") && !IsNamed(path, ".speedscope.json") &&
               !IsNamed(path, ".firefox.json")) {
      format = AnswerFormat::kJson;
    } else {
      const auto by_name = wire::FormatOfName(path);
      if (!by_name.ok()) {
        return base::Error(by_name.error().code(), by_name.error().message() +
                                                       "; also .txt (the table) or .json (for "
                                                       "programs)");
      }
      output = *by_name;
      format = AnswerFormat::kPprof;
    }
  } else if (format == AnswerFormat::kFolded) {
    output = {ProfileFormat::kFolded, false};
    format = AnswerFormat::kPprof;
  } else if (format == AnswerFormat::kHtml) {
    output = {ProfileFormat::kHtml, false};
    format = AnswerFormat::kPprof;
  }
  return std::pair(format, output);
}

StoreQuestion TableQuestion(const QueryOptions& options, bool json) {
  StoreQuestion question;
  if (options.callers || options.callees || options.lines) {
    question = QuestionOf(options.callers   ? "callers"
                          : options.callees ? "callees"
                                            : "lines",
                          options.query, options);
    question.parameters.emplace_back("function", options.function);
    if (!options.lines) {
      if (options.group_by != "auto") question.parameters.emplace_back("by", options.group_by);
      question.parameters.emplace_back("max_nodes", std::to_string(options.nodes_max));
    }
  } else if (options.tree) {
    question = QuestionOf("tree", options.query, options);
    if (options.group_by != "auto")
      question.parameters.emplace_back("by", ByParameter(options.group_by));
    question.parameters.emplace_back("max_nodes", std::to_string(options.nodes_max));
  } else {
    question = QuestionOf("top", options.query, options);
    if (options.group_by != "auto") question.parameters.emplace_back("by", options.group_by);
    if (options.sort == SortBy::kTotal) question.parameters.emplace_back("order", "total");
  }
  AskForTable(options, json, options.answer_file == "-", question);
  return question;
}

// Stacks: a page and folded stacks are made where the store is, the rest here from pprof.
Way StacksWay(const QueryOptions& options, OutputFormat output) {
  const bool is_page = output == OutputFormat{ProfileFormat::kHtml, false};
  std::string path = is_page ? "tree" : "profile";
  if (options.callers) path = "callers";
  if (options.callees) path = "callees";
  Way way{.question = QuestionOf(path, options.query, options)};
  auto& parameters = way.question.parameters;
  if (!options.function.empty()) parameters.emplace_back("function", options.function);
  if (options.group_by != "auto") parameters.emplace_back("by", ByParameter(options.group_by));
  if (is_page) {
    parameters.emplace_back("format", "html");
    parameters.emplace_back("max_nodes", std::to_string(options.nodes_max));
  } else if (output == OutputFormat{ProfileFormat::kFolded, false}) {
    parameters.emplace_back("format", "folded");
  } else {
    parameters.emplace_back("format", "pprof");
    way.is_binary = true;
    if (output != OutputFormat{ProfileFormat::kPprof, true}) way.convert_to = output;
  }
  return way;
}

Result<Way> ChooseWay(const QueryOptions& options) {
  if (options.explain && options.answer_file != "-") {
    return base::Error(base::ErrorCode::kInvalidInput,
                       "--explain is printed, --output is for the answer: leave one of them away");
  }
  ASSIGN_OR_RETURN(const auto chosen, ChooseFormat(options));
  const auto [format, output] = chosen;
  Way way;
  if (format == AnswerFormat::kPprof) {
    const bool is_page = output.format == ProfileFormat::kHtml;
    if (options.lines || options.tree || ((options.callers || options.callees) && !is_page)) {
      return base::Error(base::ErrorCode::kInvalidInput,
                         "--callers and --callees are tables, json or html, --lines and --tree a "
                         "table or json");
    }
    way = StacksWay(options, output);
    way.is_stacks = true;
  } else {
    way.question = TableQuestion(options, format == AnswerFormat::kJson);
  }
  if (!options.explain) return way;
  // The same question, whose answer is how it would be answered.
  way.question.parameters.emplace_back("question", way.question.path);
  way.question.path = "explain";
  std::erase_if(way.question.parameters,
                [](const auto& parameter) { return parameter.first == "format"; });
  way.question.parameters.emplace_back("format", format == AnswerFormat::kJson ? "json" : "text");
  way.convert_to.reset();
  way.is_binary = way.is_stacks = false;
  return way;
}

// The time that was asked for, which an answer of a store has in its header.
std::string RangeOf(const profile::Profile& profile) {
  const int64_t from_ms = profile.header().time_unix_ns / kNsPerMs;
  return query::RangeText({from_ms, from_ms + profile.header().duration_ns / kNsPerMs});
}

Result<std::string> Convert(const std::string& pprof, OutputFormat format,
                            const QueryOptions& options, std::string& losses) {
  ASSIGN_OR_RETURN(const profile::Profile profile, wire::DecodeProfile(pprof, "the answer"));
  OutputOptions output;
  output.first_frame_labels = options.group_by == "auto" ? FirstFrameLabels(options.by)
                                                         : FirstFrameLabels(options.group_by);
  output.title = options.query + ", " + RangeOf(profile);
  for (const profile::StringId note : profile.header().comments)
    output.notes.emplace_back(profile.String(note));
  losses = LossesOfOutput(profile, format, output);
  return EncodeOutput(profile, format, output);
}

Result<int> Query(const QueryOptions& options) {
  ASSIGN_OR_RETURN(const Way way, ChooseWay(options));
  const std::string& path = options.answer_file;
  if (way.is_binary) {
    RETURN_IF_ERROR(CheckOutput(path, way.convert_to.value_or(OutputFormat{})));
  } else {
    RETURN_IF_ERROR(wire::CheckOutputPath(path));
  }
  Progress progress(options.quiet);
  progress.Say("asking");
  ASSIGN_OR_RETURN(const auto access, OpenStoreAccess(options, StoreUse::kRead));
  ASSIGN_OR_RETURN(StoreAnswer answer, access->Ask(way.question));
  progress.Clear();
  if (way.is_stacks) RETURN_IF_ERROR(CheckFound(answer, options.query));
  std::string losses;
  if (way.convert_to) {
    ASSIGN_OR_RETURN(answer.body, Convert(answer.body, *way.convert_to, options, losses));
  }
  SayNotes("query", answer);
  if (path == "-" && losses.empty()) return PrintOut(answer.body);
  RETURN_IF_ERROR(wire::WriteWholeFile(path, answer.body));
  SayWritten(path, losses, options.quiet);
  return 0;
}

}  // namespace

int RunQuery(const QueryOptions& options) {
  const auto status = Query(options);
  if (status.ok()) return *status;
  // The parameter is called as the command is.
  constexpr std::string_view kParameter = "query: ";
  const std::string& message = status.error().message();
  const bool is_twice = message.starts_with(kParameter);
  return ReportFailure("query", base::Error(status.error().code(),
                                            message.substr(is_twice ? kParameter.size() : 0)));
}

}  // namespace vesta::cli
