// The commands themselves.
#pragma once

#include "src/cli/settings/options.h"

namespace vesta::cli {

// Each runs one command to its end and returns the exit code of vesta.
int RunRecord(const RecordOptions& options);    // record.cc
int RunLiveTop(const TopOptions& options);      // live_top.cc
int RunTopFile(const TopOptions& options);      // top_file.cc
int RunConvert(const ConvertOptions& options);  // convert.cc
int RunDiff(const DiffOptions& options);        // diff.cc
int RunDoctor(const DoctorOptions& options);    // doctor.cc
int RunUp(const UpOptions& options);            // up.cc
int RunAgent(const AgentOptions& options);      // agent.cc
int RunPause(const PauseOptions& options);      // pause.cc
int RunResume(const ResumeOptions& options);    // pause.cc
int RunServer(const ServerOptions& options);    // server.cc
int RunImport(const ImportOptions& options);    // import.cc
int RunExport(const ExportOptions& options);    // export.cc
int RunQuery(const QueryOptions& options);      // query.cc
int RunSeries(const SeriesOptions& options);    // series.cc
int RunLabels(const LabelsOptions& options);    // labels.cc

}  // namespace vesta::cli
