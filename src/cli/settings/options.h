// What the user asked for, parsed and validated as a whole, then const.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vesta::cli {

// Order of values = order of words in options.def.
enum class Event : uint8_t { kAuto, kCpuClock, kCycles };
enum class SortBy : uint8_t { kSelf, kTotal };
enum class Format : uint8_t { kTable, kJson };
enum class AnswerFormat : uint8_t { kAuto, kTable, kJson, kFolded, kPprof, kHtml };
enum class ColorMode : uint8_t { kAuto, kAlways, kNever };
enum class UnwindLoop : uint8_t { kAuto, kBpfLoop, kBounded };

// Values of all options; a command reads those that options.def gives it.
// Units: in the member's name; 0 stands for the words "none" and "auto" of the table.
// frequency_hz, cpu_limit_milli_percent and batch_interval_ns are never 0 after parsing.
// from and to are "auto" or a word of a format that can be read, or written.
// state_dir is never "auto" nor empty after parsing; symbol_cache is empty when it is off, and
// debuginfod, data, token_file, ca_file, tls_cert, tls_key and function when there is none.
struct Settings {
  using Duration = uint64_t;
  using Size = uint64_t;
  using Percent = uint32_t;  // 1/1000 %
  using Count = uint32_t;
  using Flag = bool;
  using Text = std::string;
  using Pids = std::vector<uint32_t>;
  using Paths = std::vector<std::string>;
#define OPTION(member, kind, ...) kind member{};
#define CHOICE(member, type, ...) type member{};
#include "src/cli/settings/options.def"
#undef CHOICE
#undef OPTION
  // --data was typed and --server was not: a server of the environment or a file comes second.
  bool data_first = false;
};

// Parsed so that: --all excludes --pid; each output ends in a known suffix; ring_bytes is 0 or a
// power of two; no pid is given twice.
struct RecordOptions : Settings {
  std::vector<std::string> command;  // after "--"; empty = none
};

struct TopOptions : Settings {
  std::string file;  // empty = live
};

// Parsed so that OUT's name or --to tells a format that can be written.
struct ConvertOptions : Settings {
  std::string in;  // "-" = standard input
  std::string out;
};

// Each side is a file if there is one of that name, else a query.
struct DiffOptions : Settings {
  std::string before;
  std::string after;
};

// Parsed so that each of labels has a name and a value, and server_url is not "auto".
struct AgentOptions : Settings {};

// Parsed so that each of labels has a name and a value, and data is given.
struct UpOptions : Settings {};

struct PauseOptions : Settings {};
struct ResumeOptions : Settings {};

// Parsed so that data is given.
struct ServerOptions : Settings {};

// Parsed so that there is a file, and each of labels has a name and a value.
struct ImportOptions : Settings {
  std::vector<std::string> files;
};

struct ExportOptions : Settings {
  std::string query;
};

// Parsed so that at most one of callers, callees, lines and tree is set, the first three only with
// a function.
struct QueryOptions : Settings {
  std::string query;
};

struct SeriesOptions : Settings {
  std::string query;
};

struct LabelsOptions : Settings {
  std::string label;  // whose values are asked for; empty = the names of all labels
  std::string query;  // of which; empty = all
};

// A setting that is not the default, and where it comes from.
struct EffectiveSetting {
  std::string name;    // as on the command line, without dashes
  std::string text;    // as the user wrote it
  std::string origin;  // "command line", "environment", or "FILE:LINE"
};

struct DoctorOptions : Settings {
  std::vector<EffectiveSetting> effective;
};

}  // namespace vesta::cli
