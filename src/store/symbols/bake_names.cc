#include "src/store/symbols/bake_names.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace vesta::store::symbols {
namespace {

using index::Dictionary;
using index::DictionaryRows;
using index::Table;

constexpr uint32_t kRowsAtOnce = 16'384;

// The hash of each image that the view knows; nothing for others.
struct ConcernedImages {
  std::vector<Hash128> hashes;
  std::vector<uint8_t> is_concerned;
  bool any = false;
};

base::Result<ConcernedImages> FindConcerned(const Names& names, uint32_t image_count,
                                            uint64_t after, const SymbolView& view) {
  ConcernedImages images;
  images.hashes.resize(image_count);
  images.is_concerned.resize(image_count);
  for (uint32_t id = 1; id < image_count; ++id) {
    ASSIGN_OR_RETURN(const ImageView image, names.image(id));
    images.hashes[id] = HashOf(SymbolImageOf(image.path, image.build_id));
    images.is_concerned[id] = view.Knows(images.hashes[id], after) ? 1 : 0;
    images.any = images.any || images.is_concerned[id] != 0;
  }
  return images;
}

bool IsConcerned(const ConcernedImages& images, const FrameView& frame) {
  return !frame.is_folded && frame.image < images.is_concerned.size() &&
         images.is_concerned[frame.image] != 0;
}

base::Result<bool> SaysSame(const Names& names, std::span<const FrameLine> lines,
                            std::span<const FactLine> told) {
  if (lines.size() != told.size()) return false;
  for (size_t i = 0; i < lines.size(); ++i) {
    ASSIGN_OR_RETURN(const FunctionView f, names.function(lines[i].function));
    const FunctionText function = {f.name, f.system_name, f.file, f.start_line};
    if (lines[i].line != told[i].line || lines[i].column != told[i].column ||
        !(function == *told[i].function)) {
      return false;
    }
  }
  return true;
}

base::Result<void> CopyTable(const Dictionary& from, Table table, Dictionary* into) {
  const index::DictionaryMarks have = into->marks();
  const uint32_t end = from.marks().of(table);
  for (uint32_t first = have.of(table); first < end; first += kRowsAtOnce) {
    DictionaryRows rows;
    from.CopyRows(table, first, std::min(kRowsAtOnce, end - first), &rows);
    RETURN_IF_ERROR(into->Append(rows));
  }
  return {};
}

}  // namespace

base::Result<bool> HasLateNames(const Names& names, uint32_t image_count, uint32_t frame_count,
                                uint64_t after, SymbolView* view) {
  ASSIGN_OR_RETURN(const ConcernedImages images, FindConcerned(names, image_count, after, *view));
  if (!images.any) return false;
  for (uint32_t id = 0; id < frame_count; ++id) {
    ASSIGN_OR_RETURN(const FrameView frame, names.frame(id));
    if (!IsConcerned(images, frame)) continue;
    const auto fact = view->Find({images.hashes[frame.image], frame.address}, after);
    if (!fact) continue;
    ASSIGN_OR_RETURN(const bool is_same, SaysSame(names, frame.lines, fact->lines));
    if (!is_same) return true;
  }
  return false;
}

base::Result<Dictionary> BakeNames(const Dictionary& from, uint64_t after, SymbolView* view) {
  const index::DictionaryMarks marks = from.marks();
  ASSIGN_OR_RETURN(const ConcernedImages images, FindConcerned(from, marks.images, after, *view));
  Dictionary baked;
  for (const Table table : {Table::kStrings, Table::kImages, Table::kFunctions}) {
    RETURN_IF_ERROR(CopyTable(from, table, &baked));
  }
  std::vector<FrameLine> lines;
  for (uint32_t id = 0; id < marks.frames; ++id) {
    ASSIGN_OR_RETURN(const FrameView frame, from.frame(id));
    lines.assign(frame.lines.begin(), frame.lines.end());
    const auto fact = IsConcerned(images, frame)
                          ? view->Find({images.hashes[frame.image], frame.address}, after)
                          : std::nullopt;
    if (fact) {
      lines.clear();
      for (const FactLine& line : fact->lines) {
        const uint32_t function = baked.InternFunction(
            {baked.InternString(line.function->name),
             baked.InternString(line.function->system_name),
             baked.InternString(line.function->file), line.function->start_line});
        lines.push_back({function, line.line, line.column});
      }
    }
    baked.AddFrame(frame.image, frame.address, frame.is_folded, lines);
  }
  for (const Table table : {Table::kNodes, Table::kSeries, Table::kTypes, Table::kTasks}) {
    RETURN_IF_ERROR(CopyTable(from, table, &baked));
  }
  return baked;
}

}  // namespace vesta::store::symbols
