// `vesta diff`: two profiles side by side, as a table, a page or a picture.

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "src/base/printable.h"
#include "src/cli/output.h"
#include "src/cli/profile_input.h"
#include "src/cli/profile_output.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/settings/values.h"
#include "src/cli/store_access.h"
#include "src/cli/store_question.h"
#include "src/cli/top_view.h"
#include "src/flame/diff_render.h"
#include "src/flame/diff_table.h"
#include "src/flame/stack_tree.h"
#include "src/wire/profile_decoder.h"
#include "src/wire/profile_file.h"

namespace vesta::cli {
namespace {

// One that cannot be looked at is taken for a file, too, so that reading it says why.
bool IsFile(const std::string& side) {
  return side == "-" || ::access(side.c_str(), F_OK) == 0 || errno != ENOENT;
}

// Reads sides; the store is opened with the first query.
class SideReader {
 public:
  explicit SideReader(const DiffOptions& options) : options_(options) {}

  base::Result<profile::Profile> Read(const std::string& side) {
    if (IsFile(side)) return ReadInput(side, options_);
    auto profile = Ask(side);
    if (profile.ok()) return profile;
    return profile.error().Context("there is no file " + side + ", and as a query");
  }

 private:
  base::Result<profile::Profile> Ask(const std::string& query) {
    if (access_ == nullptr) {
      ASSIGN_OR_RETURN(access_, OpenStoreAccess(options_, StoreUse::kRead));
    }
    StoreQuestion question = QuestionOf("profile", query, options_);
    question.parameters.emplace_back("by", ByParameter(options_.by));
    question.parameters.emplace_back("format", "pprof");
    ASSIGN_OR_RETURN(const StoreAnswer answer, access_->Ask(question));
    RETURN_IF_ERROR(CheckFound(answer, query));
    SayNotes("diff", answer);
    auto profile = wire::DecodeProfile(answer.body, "the answer");
    // It has the time that was asked for, which tells nothing of how long was recorded.
    if (profile.ok()) profile->header().duration_ns = 0;
    return profile;
  }

  const DiffOptions& options_;
  std::unique_ptr<StoreAccess> access_;
};

// A query stays as it is, of a file what stands behind the last '/'.
std::string ShortName(const std::string& side) {
  return IsFile(side) ? side.substr(side.rfind('/') + 1) : side;
}

// A picture has room for the files' names; the whole paths stand where those are equal.
void ShortenSideNames(flame::StackTree& tree) {
  std::vector<std::string> names;
  for (const auto& side : tree.sides) names.push_back(ShortName(side.name));
  if (names.front() == names.back()) return;
  for (size_t i = 0; i < names.size(); ++i) tree.sides[i].name = names[i];
}

std::string TitleOf(const std::string& side) { return IsFile(side) ? NameOfFile(side) : side; }

// A word of --from that is no format is the start of queries, and of no use to files.
base::Result<void> CheckFrom(const DiffOptions& options) {
  if (options.time_from == "auto" || !IsFile(options.before) || !IsFile(options.after)) return {};
  return base::Error(base::ErrorCode::kInvalidInput,
                     "--from " + options.time_from +
                         ": both sides are files, which have no format of that name, and whose "
                         "time is all that they hold");
}

// The tree with the wanted sample type in front.
base::Result<flame::StackTree> MakeTree(const DiffOptions& options) {
  Progress progress(options.quiet);
  SideReader reader(options);
  progress.Say("reading " + base::Printable(options.before));
  ASSIGN_OR_RETURN(const profile::Profile before, reader.Read(options.before));
  progress.Say("reading " + base::Printable(options.after));
  ASSIGN_OR_RETURN(const profile::Profile after, reader.Read(options.after));
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
                     ? TitleOf(options.before) + " and " + TitleOf(options.after)
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
  RETURN_IF_ERROR(CheckFrom(options));
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
