#include "src/book/book.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <ctime>

#include "src/base/byte_source.h"
#include "src/base/json_reader.h"

namespace vesta::book {
namespace {

using base::Error;
using base::ErrorCode;
using base::JsonValue;
using base::JsonWriter;
using base::Result;

constexpr size_t kBookBytesMax = 1u << 20;
constexpr uint64_t kNanosecondsPerMillisecond = 1000000;

uint64_t Sum(const Reasons& reasons) {
  uint64_t sum = 0;
  for (const auto& [reason, count] : reasons) sum += count;
  return sum;
}

void WriteReasons(std::string_view key, const Reasons& reasons, JsonWriter& writer) {
  writer.Key(key).BeginObject();
  for (const auto& [reason, count] : reasons) writer.Key(reason).Uint(count);
  writer.EndObject();
}

// Values that must be there and be right; remembers the first that is not.
class BookReader {
 public:
  uint64_t Number(const JsonValue& object, std::string_view key) {
    const JsonValue* value = object.Find(key);
    const auto number = value == nullptr ? std::nullopt : value->AsUint();
    if (!number) Fail(key);
    return number.value_or(0);
  }

  std::string Text(const JsonValue& object, std::string_view key) {
    const JsonValue* value = object.Find(key);
    const std::string* text = value == nullptr ? nullptr : value->AsString();
    if (text == nullptr) Fail(key);
    return text == nullptr ? "" : *text;
  }

  Reasons ReasonsOf(const JsonValue& object, std::string_view key) {
    Reasons reasons;
    const JsonValue* value = object.Find(key);
    if (value == nullptr || value->kind() != JsonValue::Kind::kObject) {
      Fail(key);
      return reasons;
    }
    for (const auto& [reason, count] : value->members()) {
      const auto number = count.AsUint();
      if (!number) Fail(reason);
      reasons.emplace_back(reason, number.value_or(0));
    }
    return reasons;
  }

  void Fail(std::string_view key) {
    if (wrong_.empty()) wrong_ = key;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  std::string wrong_;
};

void AppendReasons(const char* title, const Reasons& reasons, std::string* out) {
  char line[256];
  for (const auto& [reason, count] : reasons) {
    if (count == 0) continue;
    std::snprintf(line, sizeof(line), "    %-9s %12" PRIu64 "  %s\n", title, count, reason.c_str());
    *out += line;
  }
}

std::string TimeText(uint64_t time_unix_ms) {
  const auto seconds = static_cast<time_t>(time_unix_ms / 1000);
  struct tm parts{};
  char text[64] = "an unknown time";
  if (::localtime_r(&seconds, &parts) != nullptr) {
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  }
  return text;
}

const char* FileNameOf(BookKind kind) {
  return kind == BookKind::kRecording ? "/last_recording.json" : "/agent.json";
}

Result<void> WriteFile(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return base::ErrnoError("opening " + path, errno);
  int errno_value = 0;
  while (!text.empty() && errno_value == 0) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      errno_value = errno;
    }
  }
  if (::close(fd) != 0 && errno_value == 0) errno_value = errno;
  if (errno_value != 0) return base::ErrnoError("writing " + path, errno_value);
  return {};
}

}  // namespace

bool Stage::Balances() const { return received == Sum(excluded) + kept + Sum(dropped); }

void WriteBook(const Book& book, JsonWriter& writer) {
  writer.BeginObject();
  writer.Key("time_unix_ms").Uint(book.time_unix_ms);
  writer.Key("duration_ns").Uint(book.duration_ns);
  writer.Key("stages").BeginArray();
  for (const Stage& stage : book.stages) {
    writer.BeginObject().Key("name").String(stage.name).Key("received").Uint(stage.received);
    WriteReasons("excluded", stage.excluded, writer);
    writer.Key("kept").Uint(stage.kept);
    WriteReasons("dropped", stage.dropped, writer);
    writer.EndObject();
  }
  writer.EndArray();
  WriteReasons("incomplete", book.incomplete, writer);
  WriteReasons("details", book.details, writer);
  writer.EndObject();
}

std::string BookToJson(const Book& book) {
  JsonWriter writer;
  WriteBook(book, writer);
  return writer.Take();
}

Result<Book> BookFromJson(std::string_view json) {
  ASSIGN_OR_RETURN(const JsonValue document, base::ParseJson(json));
  BookReader reader;
  Book book;
  book.time_unix_ms = reader.Number(document, "time_unix_ms");
  book.duration_ns = reader.Number(document, "duration_ns");
  const JsonValue* stages = document.Find("stages");
  if (stages == nullptr) {
    reader.Fail("stages");
  } else {
    for (const JsonValue& item : stages->items()) {
      Stage& stage = book.stages.emplace_back();
      stage.name = reader.Text(item, "name");
      stage.received = reader.Number(item, "received");
      stage.excluded = reader.ReasonsOf(item, "excluded");
      stage.kept = reader.Number(item, "kept");
      stage.dropped = reader.ReasonsOf(item, "dropped");
    }
  }
  book.incomplete = reader.ReasonsOf(document, "incomplete");
  book.details = reader.ReasonsOf(document, "details");
  if (!reader.wrong().empty()) {
    return Error(ErrorCode::kCorrupt, "the book has no right value for '" + reader.wrong() + "'");
  }
  return book;
}

std::string BookToText(const Book& book, std::string_view title) {
  char line[256];
  std::snprintf(line, sizeof(line), "%s %s, %.1f s\n", std::string(title).c_str(),
                TimeText(book.time_unix_ms).c_str(),
                static_cast<double>(book.duration_ns / kNanosecondsPerMillisecond) / 1000.0);
  std::string out = line;
  for (const Stage& stage : book.stages) {
    std::snprintf(line, sizeof(line), "  %s: %" PRIu64 " samples received%s\n", stage.name.c_str(),
                  stage.received,
                  stage.Balances() ? "" : "; THE BOOK DOES NOT BALANCE, please report this");
    out += line;
    AppendReasons("excluded", stage.excluded, &out);
    AppendReasons("dropped", stage.dropped, &out);
    std::snprintf(line, sizeof(line), "    %-9s %12" PRIu64 "\n", "kept", stage.kept);
    out += line;
  }
  if (Sum(book.incomplete) > 0) {
    out += "  stacks that do not reach their root\n";
    AppendReasons("kept", book.incomplete, &out);
  }
  if (Sum(book.details) > 0) {
    out += "  also counted\n";
    AppendReasons("", book.details, &out);
  }
  return out;
}

Result<void> MakeStateFolder(const std::string& state_dir) {
  for (size_t slash = 1; slash != std::string::npos;) {
    slash = state_dir.find('/', slash + 1);
    const std::string part = state_dir.substr(0, slash);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return base::ErrnoError("making the state folder " + part, errno);
    }
  }
  return {};
}

Result<void> SaveBook(const std::string& state_dir, const Book& book, BookKind kind) {
  RETURN_IF_ERROR(MakeStateFolder(state_dir));
  const std::string path = state_dir + FileNameOf(kind);
  const std::string aside = path + "." + std::to_string(::getpid());
  auto written = WriteFile(aside, BookToJson(book) + "\n");
  if (written.ok() && ::rename(aside.c_str(), path.c_str()) != 0) {
    written = base::ErrnoError("renaming " + aside, errno);
  }
  if (!written.ok()) ::unlink(aside.c_str());
  return written;
}

Result<Book> LoadBook(const std::string& state_dir, BookKind kind) {
  const std::string path = state_dir + FileNameOf(kind);
  ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile(path, kBookBytesMax));
  return BookFromJson(text).Context("reading " + path);
}

}  // namespace vesta::book
