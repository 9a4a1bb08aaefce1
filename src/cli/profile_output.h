// A profile as the bytes of a file: the one place where formats, pictures and pages are put
// together for `vesta record`, `vesta convert` and `vesta diff`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/cli/settings/options.h"
#include "src/flame/stack_tree.h"
#include "src/profile/profile.h"
#include "src/wire/profile_format.h"

namespace vesta::cli {

struct OutputOptions {
  // To show, and the only one in formats that hold one; nothing = as the format prefers.
  std::optional<size_t> sample_type = std::nullopt;
  std::vector<std::string> first_frame_labels;
  std::string title;
  bool normalize = false;               // two sides: shares are compared
  std::vector<std::string> notes = {};  // what a reader must know: lost samples, ...
};

// The labels that become first frames for a value of --by.
std::vector<std::string> FirstFrameLabels(const std::string& by);

// As the settings say; `name` is the title where they give none.
// Errors: InvalidInput when the profile lacks the sample type of --type.
base::Result<OutputOptions> OutputOptionsOf(const Settings& settings,
                                            const profile::Profile& profile,
                                            const std::string& name);

// Errors: InvalidInput, Exhausted where a picture cannot be made of the profile.
base::Result<std::string> EncodeOutput(const profile::Profile& profile, wire::OutputFormat format,
                                       const OutputOptions& options);

// A page of a tree of one or two sides. Errors: as page::EncodePageData.
base::Result<std::string> HtmlOfTree(const flame::StackTree& tree, const OutputOptions& options);

// A picture of such a tree.
std::string SvgOfTree(const flame::StackTree& tree, const OutputOptions& options);

// Before the work begins: whether bytes of this format can be written there.
// Errors: as wire::CheckOutputPath; InvalidInput for binary data on a terminal.
base::Result<void> CheckOutput(const std::string& path, wire::OutputFormat format);

// "folded stacks: A and B are not kept", for people; "" when all is.
std::string LossesOfOutput(const profile::Profile& profile, wire::OutputFormat format,
                           const OutputOptions& options);

// Says on standard error what a file does not hold, then, unless quiet or standard output, its
// name.
void SayWritten(const std::string& path, const std::string& losses, bool quiet);

// What stands after the last '/' of a path, without endings that tell the format.
std::string NameOfFile(std::string_view path);

}  // namespace vesta::cli
