#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "src/agent/naming/symbol_cache.h"
#include "src/agent/source/probe.h"
#include "src/cli/doctor_report.h"
#include "src/cli/output.h"
#include "src/cli/run.h"
#include "src/cli/server_book.h"

namespace vesta::cli {
namespace {

using agent::source::Feature;
using agent::source::Importance;
using agent::source::Presence;

// Whether a book can be written: the folder, or the nearest one above it that exists, takes files.
Feature ProbeStateDir(const std::string& state_dir) {
  Feature feature;
  feature.name = "state-dir";
  feature.importance = Importance::kBetter;
  feature.meaning = "the book of a recording can be kept in " + state_dir;
  std::string path = state_dir;
  while (::access(path.c_str(), F_OK) != 0 && path.find('/') != std::string::npos) {
    path.resize(path.rfind('/'));
    if (path.empty()) path = "/";
  }
  if (::access(path.c_str(), W_OK | X_OK) == 0) {
    feature.presence = Presence::kYes;
  } else {
    feature.detail = path + ": " + std::strerror(errno);
    feature.remedy = "give another folder with --state-dir DIR";
  }
  return feature;
}

// Whether names can be kept, and how many are.
Feature ProbeSymbolCache(const DoctorOptions& options) {
  Feature feature;
  feature.name = "symbol-cache";
  feature.importance = Importance::kBetter;
  feature.presence = Presence::kYes;
  if (options.symbol_cache.empty()) {
    feature.presence = Presence::kNo;
    feature.meaning = "names of binaries are kept between recordings";
    feature.detail = "it is off";
    feature.remedy = "leave --symbol-cache off away";
    return feature;
  }
  feature.meaning = "names of binaries are kept in " + options.symbol_cache;
  if (::access(options.symbol_cache.c_str(), F_OK) != 0) {
    feature.meaning += ": none yet";
    return feature;
  }
  const agent::naming::SymbolCache cache(
      {options.symbol_cache, options.symbol_cache_bytes, /*make_folder=*/false});
  if (!cache.has_folder()) {
    feature.presence = Presence::kNo;
    feature.detail = cache.refused_why();
    feature.remedy = "as said, or give another folder with --symbol-cache DIR";
    return feature;
  }
  const agent::naming::CacheUsage usage = cache.Usage();
  feature.meaning += ": " + std::to_string(usage.files) + " files, " +
                     std::to_string(usage.bytes >> 20) + " MB of at most " +
                     std::to_string(options.symbol_cache_bytes >> 20);
  return feature;
}

}  // namespace

int RunDoctor(const DoctorOptions& options) {
  DoctorReport report;
  report.machine = agent::source::ProbeMachine();
  report.machine.features.push_back(ProbeStateDir(options.state_dir));
  report.machine.features.push_back(ProbeSymbolCache(options));
  report.state_dir = options.state_dir;
  report.settings = options.effective;
  auto book = book::LoadBook(options.state_dir);
  if (book.ok()) {
    report.last_recording = std::move(book).value();
  } else if (book.error().code() != base::ErrorCode::kNotFound) {
    report.last_recording_error = book.error().message();
  }
  if (auto agent = book::LoadBook(options.state_dir, book::BookKind::kAgent); agent.ok()) {
    report.agent = std::move(agent).value();
    report.server = AskServerBook(options);
  }
  const int printed =
      PrintOut(options.format == Format::kJson ? DoctorJson(report) + "\n"
                                               : DoctorText(report, UseColor(options.color)));
  if (printed != 0) return printed;
  return report.machine.CanRecord() ? 0 : 1;
}

}  // namespace vesta::cli
