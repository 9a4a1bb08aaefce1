#include "src/cli/profile_output.h"

#include <unistd.h>

#include <cstdio>

#include "src/base/printable.h"
#include "src/cli/profile_input.h"
#include "src/flame/svg.h"
#include "src/page/tree_page.h"
#include "src/wire/firefox_encoder.h"
#include "src/wire/folded_encoder.h"
#include "src/wire/gzip.h"
#include "src/wire/losses.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/pprof_encoder.h"
#include "src/wire/profile_file.h"
#include "src/wire/speedscope_encoder.h"
#include "ui/ui_assets.h"

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using profile::Profile;
using wire::OutputFormat;
using wire::ProfileFormat;

// The tree that pictures are drawn from, with the wanted sample type in front.
Result<flame::StackTree> TreeOf(const Profile& profile, const OutputOptions& options) {
  const flame::TreeInput input{&profile, options.title};
  ASSIGN_OR_RETURN(flame::StackTree tree,
                   flame::MakeStackTree({&input, 1}, {.root_labels = options.first_frame_labels}));
  if (options.sample_type) tree.value_type = *options.sample_type;
  return tree;
}

Result<std::string> EncodePlain(const Profile& profile, ProfileFormat format,
                                const OutputOptions& options) {
  switch (format) {
    case ProfileFormat::kOtlp:
      return wire::EncodeOtlpProfile(profile);
    case ProfileFormat::kFolded: {
      wire::FoldedEncodeOptions folded;
      folded.first_frame_labels = options.first_frame_labels;
      folded.sample_type = options.sample_type;
      return wire::EncodeFolded(profile, folded);
    }
    case ProfileFormat::kSpeedscope: {
      wire::SpeedscopeEncodeOptions speedscope;
      speedscope.name = options.title;
      speedscope.first_frame_labels = options.first_frame_labels;
      speedscope.sample_type = options.sample_type;
      return wire::EncodeSpeedscope(profile, speedscope);
    }
    case ProfileFormat::kFirefox:
      return wire::EncodeFirefox(profile,
                                 {.sample_type = options.sample_type, .product = options.title});
    case ProfileFormat::kHtml: {
      ASSIGN_OR_RETURN(const flame::StackTree tree, TreeOf(profile, options));
      return HtmlOfTree(tree, options);
    }
    case ProfileFormat::kSvg: {
      ASSIGN_OR_RETURN(const flame::StackTree tree, TreeOf(profile, options));
      return SvgOfTree(tree, options);
    }
    default:
      return Error(ErrorCode::kUnsupported,
                   "vesta does not write " + std::string(wire::SpecOf(format).title));
  }
}

std::string Gzip(std::string_view bytes) {
  wire::GzipWriter writer(1);
  writer.Write(bytes);
  return writer.Finish();
}

}  // namespace

Result<std::string> HtmlOfTree(const flame::StackTree& tree, const OutputOptions& options) {
  return page::RenderTreePage(tree, {options.title, options.notes},
                              {ui::FlamePageScript(), ui::FlamePageStyle()});
}

std::string SvgOfTree(const flame::StackTree& tree, const OutputOptions& options) {
  flame::SvgOptions svg;
  svg.title = options.title;
  svg.notes = options.notes;
  svg.normalize = options.normalize;
  return flame::RenderSvg(tree, tree.value_type, svg);
}

std::vector<std::string> FirstFrameLabels(const std::string& by) {
  if (by == "none") return {};
  // A thread is told together with its process.
  std::vector<std::string> labels;
  if (by == profile::kLabelPid || by == profile::kLabelTid || by == profile::kLabelThread)
    labels.emplace_back(profile::kLabelProcess);
  labels.push_back(by);
  return labels;
}

Result<OutputOptions> OutputOptionsOf(const Settings& settings, const Profile& profile,
                                      const std::string& name) {
  OutputOptions options;
  if (settings.type != "auto") {
    ASSIGN_OR_RETURN(options.sample_type, ChooseSampleType(profile, settings));
  }
  options.first_frame_labels = FirstFrameLabels(settings.by);
  options.title = settings.title == "auto" ? NameOfFile(name) : settings.title;
  for (const profile::StringId comment : profile.header().comments)
    options.notes.emplace_back(profile.String(comment));
  return options;
}

Result<std::string> EncodeOutput(const Profile& profile, OutputFormat format,
                                 const OutputOptions& options) {
  if (format.format == ProfileFormat::kPprof)
    return wire::EncodePprof(profile, {.gzip = format.gzip});
  auto plain = EncodePlain(profile, format.format, options);
  if (!plain.ok() || !format.gzip) return plain;
  return Gzip(*plain);
}

Result<void> CheckOutput(const std::string& path, OutputFormat format) {
  const bool is_binary = format.gzip || format.format == ProfileFormat::kPprof ||
                         format.format == ProfileFormat::kOtlp;
  if (path == "-" && is_binary && ::isatty(STDOUT_FILENO) == 1) {
    return Error(ErrorCode::kInvalidInput,
                 std::string(wire::SpecOf(format.format).title) +
                     " is no text and does not belong on a terminal: send it to a file or a pipe");
  }
  return wire::CheckOutputPath(path);
}

std::string LossesOfOutput(const Profile& profile, OutputFormat format,
                           const OutputOptions& options) {
  const size_t preferred = format.format == ProfileFormat::kFolded
                               ? wire::FoldedSampleTypeIndex(profile)
                               : profile.DefaultSampleTypeIndex();
  const wire::LossOptions losses = {options.sample_type.value_or(preferred),
                                    options.first_frame_labels};
  return wire::LossText(wire::LossesOf(profile, format.format, losses), format.format);
}

void SayWritten(const std::string& path, const std::string& losses, bool quiet) {
  if (!losses.empty()) std::fprintf(stderr, "%s\n", base::Printable(losses).c_str());
  if (!quiet && path != "-") std::fprintf(stderr, "wrote %s\n", base::Printable(path).c_str());
}

std::string NameOfFile(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "-") return "standard input";
  for (const std::string_view ending :
       {".gz", ".json", ".pb", ".pprof", ".prof", ".otlp", ".folded", ".speedscope", ".firefox",
        ".cpuprofile", ".jfr", ".html", ".svg"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return std::string(name);
}

}  // namespace vesta::cli
