// `vesta import`: profiles of files into a store, each once.

#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/json_reader.h"
#include "src/base/printable.h"
#include "src/cli/output.h"
#include "src/cli/profile_input.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/store_access.h"
#include "src/query/time_text.h"
#include "src/store/row_labels.h"
#include "src/wire/pprof_encoder.h"
#include "src/wire/profile_file.h"
#include "src/wire/tar.h"

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using profile::Profile;

constexpr int64_t kNsPerMs = 1'000'000;
constexpr std::string_view kAddStored = "add";  // as pushes do anyway

// What a store says of a push.
struct Outcome {
  uint64_t rows = 0;  // of a part of an export, which has one per sample
  uint64_t kept = 0;
  uint64_t overflowed = 0;
  uint64_t duplicate = 0;
  uint64_t too_old = 0;
  uint64_t too_new = 0;
  std::vector<std::string> labels_dropped;

  void Add(const Outcome& other) {
    rows += other.rows;
    kept += other.kept;
    overflowed += other.overflowed;
    duplicate += other.duplicate;
    too_old += other.too_old;
    too_new += other.too_new;
    for (const std::string& label : other.labels_dropped) {
      if (std::find(labels_dropped.begin(), labels_dropped.end(), label) == labels_dropped.end())
        labels_dropped.push_back(label);
    }
  }
};

Result<Outcome> ReadOutcome(const std::string& answer) {
  ASSIGN_OR_RETURN(const base::JsonValue json, base::ParseJson(answer));
  const auto number = [&json](std::string_view key) {
    const base::JsonValue* value = json.Find(key);
    return value == nullptr ? uint64_t{0} : value->AsUint().value_or(0);
  };
  Outcome outcome{.rows = number("samples"),
                  .kept = number("rows_kept"),
                  .overflowed = number("rows_overflowed"),
                  .duplicate = number("rows_duplicate"),
                  .too_old = number("rows_too_old"),
                  .too_new = number("rows_too_new"),
                  .labels_dropped = {}};
  if (const base::JsonValue* labels = json.Find("labels_dropped"); labels != nullptr) {
    for (const auto& [name, count] : labels->members()) outcome.labels_dropped.push_back(name);
  }
  return outcome;
}

std::string Rows(uint64_t count) { return std::to_string(count) + (count == 1 ? " row" : " rows"); }

// "729 rows kept; not kept: 12 rows older than the store keeps".
std::string OutcomeText(const Outcome& outcome) {
  if (outcome.kept == 0 && outcome.duplicate > 0)
    return Rows(outcome.duplicate) + " are there already, nothing was added";
  std::string text = Rows(outcome.kept) + " kept";
  if (outcome.overflowed > 0) {
    text += " (" + std::to_string(outcome.overflowed) +
            " of them without their labels: the store has too many series)";
  }
  std::string missing;
  const auto add = [&missing](uint64_t count, const std::string& why) {
    if (count > 0) missing += (missing.empty() ? "" : ", ") + Rows(count) + " " + why;
  };
  add(outcome.duplicate, "that are there already");
  add(outcome.too_old, "older than the store keeps (--retention of the server)");
  add(outcome.too_new, "of more than a day ahead of the server's clock");
  if (!outcome.labels_dropped.empty()) {
    missing += (missing.empty() ? "" : ", ") + std::string("of samples the labels");
    for (size_t i = 0; i < outcome.labels_dropped.size(); ++i)
      missing += (i == 0 ? " " : ", ") + outcome.labels_dropped[i];
  }
  return missing.empty() ? text : text + "; not kept: " + missing;
}

// Tells this content with these labels at this time from all else. A day remembers what it has: a
// file without a time of its own that was changed on another day is counted there again.
// `at` is what --at means now: the same file at another "now" is another statement.
std::string ContentId(std::string_view bytes, const ImportOptions& options, const std::string& at) {
  std::vector<std::string> labels = options.labels;
  std::sort(labels.begin(), labels.end());
  std::string about = at + '\0' + options.import_type + '\0';
  for (const std::string& label : labels) about += label + '\0';
  const XXH128_hash_t hash =
      XXH3_128bits_withSeed(bytes.data(), bytes.size(), XXH3_64bits(about.data(), about.size()));
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

// What `vesta export` wrote.
bool HasTimesOfRows(const Profile& profile) {
  if (profile.sample_count() == 0) return false;
  const auto labels = profile.labels(profile.sample_labels(0));
  return std::any_of(labels.begin(), labels.end(), [&profile](const profile::Label& label) {
    return profile.String(label.key) == store::kRowTime;
  });
}

class Importer {
 public:
  Importer(const ImportOptions& options, StoreAccess& access, int64_t now_unix_ms)
      : options_(options), access_(access), now_unix_ms_(now_unix_ms) {}

  Result<Outcome> File(const std::string& path) {
    ASSIGN_OR_RETURN(const std::string bytes, wire::ReadWholeFile(path, {}));
    const std::string name = wire::NameForMessages(path);
    ASSIGN_OR_RETURN(const std::string at, GivenTime());
    const std::string id = ContentId(bytes, options_, at);
    if (!wire::IsTar(bytes)) return Push(bytes, name, path, id, 0, kAddStored);
    const auto parts = wire::ReadTar(bytes);
    if (!parts.ok()) return parts.error().Context(name);
    // What `vesta export` wrote may be of this very store. All parts are looked at before any is
    // added, since several may have equal rows.
    const auto push = [&](size_t i, std::string_view stored) {
      const wire::TarEntry& part = (*parts)[i];
      return Push(part.bytes, name + ": " + std::string(part.name), path, id, i, stored);
    };
    std::vector<Outcome> there;
    for (size_t i = 0; i < parts->size(); ++i) {
      ASSIGN_OR_RETURN(Outcome one, push(i, "count"));
      there.push_back(std::move(one));
    }
    Outcome all;
    for (size_t i = 0; i < parts->size(); ++i) {
      const uint64_t stored = there[i].duplicate;
      if (stored < there[i].rows) {
        ASSIGN_OR_RETURN(there[i], push(i, stored == 0 ? kAddStored : "skip"));
      }
      all.Add(there[i]);
    }
    return all;
  }

 private:
  Result<Outcome> Push(std::string_view bytes, const std::string& name, const std::string& path,
                       const std::string& id, size_t part, std::string_view stored) {
    ASSIGN_OR_RETURN(const Profile profile, DecodeInput(bytes, name, options_));
    StoreQuestion question{.path = "profiles"};
    if (stored != kAddStored) question.parameters.emplace_back("stored", stored);
    for (const std::string& label : options_.labels) {
      const size_t equals = label.find('=');
      question.parameters.emplace_back("label." + label.substr(0, equals),
                                       label.substr(equals + 1));
    }
    if (options_.import_type != "auto")
      question.parameters.emplace_back("counted_type", options_.import_type);
    const bool has_time = profile.header().time_unix_ns != 0 && options_.at == "auto";
    if (!has_time && !HasTimesOfRows(profile)) {
      ASSIGN_OR_RETURN(const int64_t time_unix_ms, TimeOf(path));
      question.parameters.emplace_back("time", std::to_string(time_unix_ms));
    }
    question.headers = {{"Content-Type", "application/octet-stream"},
                        {"Vesta-Batch", "import/" + id + "/" + std::to_string(part)}};
    question.body = wire::EncodePprof(profile);
    auto answer = access_.Ask(question);
    if (!answer.ok()) return answer.error().Context(name);
    return ReadOutcome(answer->body);
  }

  // "auto", or the time in ms.
  Result<std::string> GivenTime() const {
    if (options_.at == "auto") return options_.at;
    ASSIGN_OR_RETURN(const query::TimePoint at, query::ParseTime(options_.at));
    return std::to_string(at.UnixMs(now_unix_ms_));
  }

  // --at, else when the file was last changed; what comes from a pipe is of now.
  Result<int64_t> TimeOf(const std::string& path) const {
    if (options_.at != "auto") {
      ASSIGN_OR_RETURN(const query::TimePoint at, query::ParseTime(options_.at));
      return at.UnixMs(now_unix_ms_);
    }
    struct stat status{};
    if (path == "-" || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
      return now_unix_ms_;
    return status.st_mtim.tv_sec * int64_t{1000} + status.st_mtim.tv_nsec / kNsPerMs;
  }

  const ImportOptions& options_;
  StoreAccess& access_;
  int64_t now_unix_ms_;
};

// Whether the next file may go better.
bool IsOfFile(ErrorCode code) {
  return code != ErrorCode::kUnavailable && code != ErrorCode::kInternal;
}

Result<int> Import(const ImportOptions& options) {
  if (options.at != "auto") {
    const auto at = query::ParseTime(options.at);
    if (!at.ok()) return at.error().Context("--at");
  }
  const int64_t now_unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                                  std::chrono::system_clock::now().time_since_epoch())
                                  .count();
  ASSIGN_OR_RETURN(const auto access, OpenStoreAccess(options, StoreUse::kWrite));
  Importer importer(options, *access, now_unix_ms);
  Progress progress(options.quiet);
  Outcome all;
  size_t failed = 0;
  for (size_t i = 0; i < options.files.size(); ++i) {
    const std::string name = base::Printable(wire::NameForMessages(options.files[i]));
    progress.Say("importing " + std::to_string(i + 1) + " of " +
                 std::to_string(options.files.size()) + ": " + name);
    const auto outcome = importer.File(options.files[i]);
    progress.Clear();
    if (!outcome.ok()) {
      if (!IsOfFile(outcome.error().code())) return outcome.error();
      static_cast<void>(ReportFailure("import", outcome.error()));
      ++failed;
      continue;
    }
    all.Add(*outcome);
    if (!options.quiet)
      std::printf("%s: %s\n", name.c_str(), base::Printable(OutcomeText(*outcome)).c_str());
  }
  if (!options.quiet && options.files.size() > 1) {
    std::printf("%zu files: %s\n", options.files.size(), base::Printable(OutcomeText(all)).c_str());
  }
  if (failed > 0) return kOwnFailure;
  return PrintOut("");
}

}  // namespace

int RunImport(const ImportOptions& options) {
  const auto status = Import(options);
  return status.ok() ? *status : ReportFailure("import", status.error());
}

}  // namespace vesta::cli
