#include "src/server/questions.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "src/page/page_data.h"
#include "src/page/tree_page.h"
#include "src/query/answer.h"
#include "src/query/ask.h"
#include "src/query/export_rows.h"
#include "src/query/request.h"
#include "src/server/header_texts.h"
#include "src/store/read_guard.h"
#include "src/wire/folded_encoder.h"
#include "src/wire/gzip.h"
#include "src/wire/pprof_encoder.h"
#include "src/wire/tar.h"
#include "ui/ui_assets.h"

namespace vesta::server {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using Clock = std::chrono::steady_clock;

constexpr size_t kWidthColumnsMax = 10'000;
constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

// The parameters as the query layer takes them; width and format are the server's own.
struct Asked {
  query::RequestText text;
  std::string question;
  std::string format;
  size_t width_columns = 0;
};

std::optional<std::string>* FieldOf(query::RequestText& text, std::string_view name) {
  constexpr std::pair<std::string_view, std::optional<std::string> query::RequestText::*>
      kFields[] = {{"query", &query::RequestText::query},
                   {"before", &query::RequestText::before},
                   {"from", &query::RequestText::from},
                   {"to", &query::RequestText::to},
                   {"by", &query::RequestText::by},
                   {"order", &query::RequestText::order},
                   {"step", &query::RequestText::step},
                   {"max_nodes", &query::RequestText::max_nodes},
                   {"limit", &query::RequestText::limit},
                   {"label", &query::RequestText::label},
                   {"function", &query::RequestText::function},
                   {"normalize", &query::RequestText::normalize}};
  for (const auto& [field, member] : kFields) {
    if (field == name) return &(text.*member);
  }
  return nullptr;
}

bool HasWord(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t end = words.find(' ');
    if (words.substr(0, end) == word) return true;
    words = end == std::string_view::npos ? std::string_view() : words.substr(end + 1);
  }
  return false;
}

Result<Asked> ParseParameters(const Request& request, std::string_view formats) {
  Asked asked;
  asked.format = formats.substr(0, formats.find(' '));
  for (const Parameter& parameter : request.parameters) {
    if (auto* field = FieldOf(asked.text, parameter.name)) {
      *field = parameter.value;
    } else if (parameter.name == "question") {
      asked.question = parameter.value;
    } else if (parameter.name == "format") {
      if (!HasWord(formats, parameter.value)) {
        return Error(ErrorCode::kInvalidInput,
                     "format must be one of these: " + std::string(formats));
      }
      asked.format = parameter.value;
    } else if (parameter.name == "width") {
      const std::string& text = parameter.value;
      const auto [end, status] =
          std::from_chars(text.data(), text.data() + text.size(), asked.width_columns);
      if (status != std::errc{} || end != text.data() + text.size() ||
          asked.width_columns > kWidthColumnsMax) {
        return Error(ErrorCode::kInvalidInput,
                     "width must be a number of columns up to " + std::to_string(kWidthColumnsMax));
      }
    }
  }
  return asked;
}

// A question with its limits, which hold until its answer is encoded.
struct Limited {
  Limited(const ApiOptions& options, const AnswerContext& context)
      : memory(options.query_memory_bytes, options.questions_memory) {
    ask.limits.deadline = Clock::now() + std::chrono::milliseconds(options.query_timeout_ms);
    ask.limits.memory_bytes_max = options.query_memory_bytes;
    ask.limits.memory = &memory;
    ask.limits.cancelled = context.cancelled;
    ask.clock_ns = [] {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
          .count();
    };
  }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;

  base::ByteBudget memory;
  query::AskOptions ask;
};

Response Refuse(const Error& error, const query::AskOptions& ask) {
  switch (error.code()) {
    case ErrorCode::kInvalidInput:
      return ErrorResponse(400, "invalid", error.message());
    case ErrorCode::kNotFound:
      return ErrorResponse(404, "not_found", error.message());
    case ErrorCode::kExhausted:
      // The store names the limit; whether it was time is told by the clock.
      if (Clock::now() >= ask.limits.deadline) {
        return ErrorResponse(504, "too_slow",
                             error.message() +
                                 ": ask for less time or fewer series, or start the "
                                 "server with a longer --query-timeout");
      }
      return ErrorResponse(422, "too_large",
                           error.message() +
                               ": ask for less time or fewer series, or start the "
                               "server with a larger --query-memory");
    case ErrorCode::kUnavailable: {
      Response response = ErrorResponse(503, "unavailable", error.message());
      response.headers.push_back({"Retry-After", "1"});
      return response;
    }
    default:
      return ErrorResponse(500, "internal", error.message());
  }
}

Response Text(std::string text) {
  return {.content_type = std::string(kPlainText), .body = std::move(text)};
}

Response File(std::string bytes, std::string_view content_type, std::string_view name) {
  Response response{.content_type = std::string(content_type), .body = std::move(bytes)};
  response.headers.push_back(
      {"Content-Disposition", "attachment; filename=\"" + std::string(name) + "\""});
  return response;
}

// For formats that have no place for either.
void AddNotes(const query::About& about, bool is_empty, Response& response) {
  if (!about.notes.empty()) response.headers.push_back({kNotesHeader, HeaderTexts(about.notes)});
  if (is_empty) response.headers.push_back({kEmptyHeader, "true"});
}

Response EncodeProfile(const query::ProfileAnswer& answer, const std::string& format,
                       const query::Request& asked) {
  const bool is_empty = answer.profile.sample_count() == 0;
  if (format == "pprof") {
    Response response =
        File(wire::EncodePprof(answer.profile), "application/octet-stream", "profile.pb.gz");
    AddNotes(answer.about, is_empty, response);
    return response;
  }
  wire::FoldedEncodeOptions folded;
  folded.sample_type = answer.profile.DefaultSampleTypeIndex();
  if (asked.by) folded.first_frame_labels = *asked.by;
  Response response = Text(wire::EncodeFolded(answer.profile, folded));
  AddNotes(answer.about, is_empty, response);
  return response;
}

Result<Response> EncodePicture(const query::TreeAnswer& answer, const std::string& format,
                               const query::Request& request) {
  const page::PageMeta meta{.title = query::TitleOf(answer.about, request),
                            .notes = answer.about.notes,
                            .inverted = request.question == query::Question::kCallers};
  const bool is_empty = answer.tree.node_count() <= 1;
  if (format == "page") {
    ASSIGN_OR_RETURN(std::string bytes, page::EncodePageData(answer.tree, meta));
    Response response{.content_type = "application/octet-stream", .body = std::move(bytes)};
    AddNotes(answer.about, is_empty, response);
    return response;
  }
  ASSIGN_OR_RETURN(
      std::string html,
      page::RenderTreePage(answer.tree, meta, {ui::FlamePageScript(), ui::FlamePageStyle()}));
  Response response{.content_type = "text/html; charset=utf-8", .body = std::move(html)};
  AddNotes(answer.about, is_empty, response);
  return response;
}

Result<Response> Encode(const query::Answer& answer, const Asked& asked,
                        const query::Request& request) {
  if (const auto* profile = std::get_if<query::ProfileAnswer>(&answer))
    return EncodeProfile(*profile, asked.format, request);
  if (asked.format == "page" || asked.format == "html")
    return EncodePicture(std::get<query::TreeAnswer>(answer), asked.format, request);
  if (asked.format == "text") return Text(query::AnswerText(answer, asked.width_columns));
  return Response{.body = query::AnswerJson(answer)};
}

}  // namespace

Response AnswerQuestion(store::Store& store, const ApiOptions& options, const Route& route,
                        const std::string& argument, const Request& request,
                        const AnswerContext& context) {
  const Limited limited(options, context);
  const query::AskOptions& ask = limited.ask;
  auto asked = ParseParameters(request, route.formats);
  if (!asked.ok()) return Refuse(asked.error(), ask);
  query::Question question = *route.question;
  if (question == query::Question::kTree && (asked->format == "pprof" || asked->format == "folded"))
    question = query::Question::kProfile;
  if (!argument.empty()) asked->text.label = argument;
  auto made = query::MakeRequest(question, asked->text, options.now_unix_ms());
  if (!made.ok()) return Refuse(made.error(), ask);
  made->lines = asked->format == "page" || asked->format == "html";
  const auto answer = query::Ask(store, *made, ask);
  if (!answer.ok()) return Refuse(answer.error(), ask);
  auto encoded = Encode(*answer, *asked, *made);
  if (!encoded.ok()) return Refuse(encoded.error(), ask);
  const auto has_room = store::ReadGuard(ask.limits).Take(encoded->body.size());
  return has_room.ok() ? std::move(*encoded) : Refuse(has_room.error(), ask);
}

Response AnswerExplain(store::Store& store, const ApiOptions& options, const Route& route,
                       const Request& request, const AnswerContext& context) {
  const Limited limited(options, context);
  const query::AskOptions& ask = limited.ask;
  const auto asked = ParseParameters(request, route.formats);
  if (!asked.ok()) return Refuse(asked.error(), ask);
  const auto question = query::QuestionOf(asked->question.empty() ? "tree" : asked->question);
  if (!question) {
    return ErrorResponse(400, "invalid",
                         "question must be one of these: tree, top, series, labels, values, types, "
                         "callers, callees, lines, diff, profile");
  }
  const auto made = query::MakeRequest(*question, asked->text, options.now_unix_ms());
  if (!made.ok()) return Refuse(made.error(), ask);
  const auto answer = query::Ask(store, *made, ask);
  if (!answer.ok()) return Refuse(answer.error(), ask);
  const query::About& about = query::AboutOf(*answer);
  if (asked->format == "text") return Text(query::ExplainText(about.plan, about.steps, about.cost));
  return {.body = query::ExplainJson(about.plan, about.steps, about.cost)};
}

Response AnswerRows(store::Store& store, const ApiOptions& options, const Request& request,
                    const AnswerContext& context) {
  const Limited limited(options, context);
  const query::AskOptions& ask = limited.ask;
  const auto asked = ParseParameters(request, "");
  if (!asked.ok()) return Refuse(asked.error(), ask);
  const auto made = query::MakeRequest(query::Question::kRows, asked->text, options.now_unix_ms());
  if (!made.ok()) return Refuse(made.error(), ask);
  wire::TarWriter tar;
  size_t parts = 0;
  store::ReadGuard packed(ask.limits);
  const auto add = [&](query::ExportPart part) -> Result<void> {
    const std::string bytes = wire::EncodePprof(part.profile);
    if (packed.used_bytes() + bytes.size() > options.query_memory_bytes) {
      return Error(ErrorCode::kExhausted, "the rows are more than " +
                                              wire::HumanBytes(options.query_memory_bytes) +
                                              " even when they are packed");
    }
    RETURN_IF_ERROR(packed.Take(bytes.size()));
    tar.Add("rows-" + std::to_string(++parts) + ".pb.gz", bytes);
    return {};
  };
  const auto about = query::ExportRows(store, *made, ask, add);
  if (!about.ok()) return Refuse(about.error(), ask);
  Response response = File(tar.Finish(), "application/x-tar", "rows.tar");
  AddNotes(*about, parts == 0, response);
  return response;
}

}  // namespace vesta::server
