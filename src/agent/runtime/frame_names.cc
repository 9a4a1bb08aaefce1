#include "src/agent/runtime/frame_names.h"

#include <utility>

namespace vesta::agent::runtime {
namespace {

bool SameName(const symbolize::Symbol& a, const symbolize::Symbol& b) {
  if (a.lines.size() != b.lines.size()) return false;
  for (size_t i = 0; i < a.lines.size(); ++i) {
    if (a.lines[i].name != b.lines[i].name || a.lines[i].file != b.lines[i].file ||
        a.lines[i].line != b.lines[i].line) {
      return false;
    }
  }
  return true;
}

}  // namespace

void AppendEra(FrameEra era, FrameNames& names) {
  if (!names.empty() && SameName(names.back().symbol, era.symbol)) return;
  names.push_back(std::move(era));
}

FrameNames WithEarlier(FrameNames names, const FrameNames& earlier, uint64_t until_mono_ns) {
  const FrameEra* last = nullptr;
  for (const FrameEra& era : earlier) {
    if (last != nullptr && era.from_mono_ns > until_mono_ns) break;
    last = &era;
  }
  if (last == nullptr || last->symbol.lines.empty()) return names;
  if (!names.empty() && names.front().from_mono_ns == 0) return names;
  FrameNames merged = {{0, last->symbol}};
  for (FrameEra& era : names) AppendEra(std::move(era), merged);
  return merged;
}

}  // namespace vesta::agent::runtime
