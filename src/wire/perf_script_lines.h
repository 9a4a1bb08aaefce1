// The single lines of `perf script`: what a header and a frame say, without their context.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vesta::wire {

// "comm [pid/]tid [cpu] seconds.fraction: [period] event: [trace text, or the one frame]".
// Shape: views into the line. Everything may be absent; comm may hold spaces, digits and colons, so
//        the fields are looked for behind it.
struct PerfScriptHeader {
  std::string_view comm;
  std::optional<int64_t> pid;
  std::optional<int64_t> tid;
  std::optional<int64_t> time_ns;  // the clock of the recording
  std::optional<int64_t> period;
  std::string_view event;  // with its modifiers: "cycles:u"; "" when it was not printed
  std::string_view rest;   // behind the event, the spaces in front included
  bool is_record = false;  // no sample but a PERF_RECORD_... that perf script was told to show
};

// "address [symbol[+0xoffset]] [(dso)]"; an inlined one has "inlined" for its dso.
struct PerfScriptFrame {
  uint64_t address = 0;
  std::string_view symbol;  // "" when there is none
  std::string_view dso;     // "" when there is none
  bool is_inlined = false;
};

// The line below a frame that perf script adds for -F srcline: "file:line", and "(inlined)" behind
// it when the frame is; any other text where perf does not know the line.
struct PerfScriptPlace {
  std::string_view file;  // "" = unknown
  int64_t line = 0;
  bool is_inlined = false;
};

// `needs_time`: only the form with a time, which hardly any other line looks like.
std::optional<PerfScriptHeader> ParsePerfScriptHeader(std::string_view line, bool needs_time);
// What a line says that stands where a header must be, whatever `perf script -F` left of it: the
// fields that are there in their order, all else is comm. A frame at its end is `rest`.
PerfScriptHeader ParsePerfScriptBareHeader(std::string_view line);
// Whether frames as perf prints them stand near the start of the text.
bool HasPerfScriptFrames(std::string_view text);
// Whether they do, and the first header tells neither a time nor an event behind the thread: then
// its place alone tells a header.
bool IsBarePerfScript(std::string_view text);
// Where a frame begins as perf prints them, the address at the right of 16 columns; npos = nowhere.
size_t FindPerfScriptFrame(std::string_view line);
std::optional<PerfScriptFrame> ParsePerfScriptFrame(std::string_view line);
PerfScriptPlace ParsePerfScriptPlace(std::string_view line);

}  // namespace vesta::wire
