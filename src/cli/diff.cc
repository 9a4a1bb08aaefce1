// `vesta diff`: two profiles side by side, as a table, a page or a picture.

#include <string>
#include <vector>

#include "src/base/printable.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/profile_input.h"
#include "src/cli/profile_output.h"
#include "src/cli/progress.h"
#include "src/cli/top_view.h"
#include "src/cli/values.h"
#include "src/flame/diff_render.h"
#include "src/flame/diff_table.h"
#include "src/flame/stack_tree.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {
namespace {

// A side is a file; a missing one may be a word that its user took for something else.
base::Result<profile::Profile> ReadSide(const std::string& path, const Settings& settings) {
  auto profile = ReadInput(path, settings);
  if (!profile.ok() && profile.error().code() == base::ErrorCode::kNotFound) {
    return base::Error(base::ErrorCode::kNotFound,
                       "there is no file " + path + ", and each side of a difference is a file");
  }
  return profile;
}

// A picture has room for the files' names; the whole paths stand where those are equal.
void ShortenSideNames(flame::StackTree& tree) {
  std::vector<std::string> names;
  for (const auto& side : tree.sides) names.push_back(side.name.substr(side.name.rfind('/') + 1));
  if (names.front() == names.back()) return;
  for (size_t i = 0; i < names.size(); ++i) tree.sides[i].name = names[i];
}

// The tree with the wanted sample type in front.
base::Result<flame::StackTree> MakeTree(const DiffOptions& options) {
  Progress progress(options.quiet);
  progress.Say("reading " + base::Printable(options.before));
  ASSIGN_OR_RETURN(const profile::Profile before, ReadSide(options.before, options));
  progress.Say("reading " + base::Printable(options.after));
  ASSIGN_OR_RETURN(const profile::Profile after, ReadSide(options.after, options));
  progress.Say("comparing");
  const flame::TreeInput sides[] = {{&before, options.before}, {&after, options.after}};
  ASSIGN_OR_RETURN(flame::StackTree tree,
                   flame::MakeStackTree(sides, {.root_labels = FirstFrameLabels(options.by)}));
  if (options.type == "auto") return tree;
  std::string known;
  for (size_t i = 0; i < tree.value_types.size(); ++i) {
    if (tree.value_types[i].type == options.type) {
      tree.value_type = i;
      return tree;
    }
    known += (i == 0 ? "" : ", ") + tree.value_types[i].type;
  }
  return base::Error(
      base::ErrorCode::kInvalidInput,
      "the profiles do not both have the sample type '" + options.type + "': give " + known);
}

base::Result<std::string> Encode(const std::string& path, const flame::StackTree& tree,
                                 const flame::DiffTable& table, const DiffOptions& options) {
  OutputOptions output;
  output.title = options.title == "auto"
                     ? NameOfFile(options.before) + " and " + NameOfFile(options.after)
                     : options.title;
  output.normalize = options.normalize;
  ASSIGN_OR_RETURN(const DiffFormat format, ParseDiffFormat(path));
  switch (format) {
    case DiffFormat::kHtml:
      return HtmlOfTree(tree, output);
    case DiffFormat::kSvg:
      return SvgOfTree(tree, output);
    case DiffFormat::kJson:
      break;
  }
  return flame::RenderDiffJson(table, {.rows_max = 0});
}

// Files first: when one cannot be written, nothing is printed.
base::Result<int> Diff(const DiffOptions& options) {
  for (const std::string& path : options.outputs) RETURN_IF_ERROR(wire::CheckOutputPath(path));
  ASSIGN_OR_RETURN(flame::StackTree tree, MakeTree(options));
  const flame::DiffTable table = flame::MakeDiffTable(
      tree, tree.value_type,
      {.order = options.sort == SortBy::kTotal ? flame::DiffOrder::kTotal : flame::DiffOrder::kSelf,
       .normalize = options.normalize});
  ShortenSideNames(tree);
  for (const std::string& path : options.outputs) {
    ASSIGN_OR_RETURN(const std::string bytes, Encode(path, tree, table, options));
    RETURN_IF_ERROR(wire::WriteWholeFile(path, bytes));
    SayWritten(path, "", options.quiet);
  }
  const flame::TopRenderOptions render = RenderOptionsOf(options);
  return PrintOut(options.format == Format::kJson ? flame::RenderDiffJson(table, render)
                                                  : flame::RenderDiffText(table, render));
}

}  // namespace

int RunDiff(const DiffOptions& options) {
  const auto status = Diff(options);
  return status.ok() ? *status : ReportFailure("diff", status.error());
}

}  // namespace vesta::cli
