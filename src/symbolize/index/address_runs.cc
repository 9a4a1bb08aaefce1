#include "src/symbolize/index/address_runs.h"

#include <algorithm>

namespace vesta::symbolize {

namespace {

constexpr uint32_t kKnowledgeShift = 60;  // above the unit

}  // namespace

void AddressRuns::Add(uint32_t start, uint32_t end, Knowledge knowledge, const Place& place) {
  const uint64_t rank = (static_cast<uint64_t>(knowledge) << kKnowledgeShift) | unit_;
  if (!open_ || runs_.back().end != start || runs_.back().rank != rank) {
    runs_.push_back({start, start, rank, bytes_.size()});
    last_ = Place();
    open_ = true;
  }
  runs_.back().end = end;
  AppendUnsigned(bytes_, end - start);
  AppendDifference(bytes_, place.node - last_.node);
  AppendDifference(bytes_, place.file - last_.file);
  AppendDifference(bytes_, place.line - last_.line);
  last_ = place;
  ++piece_count_;
}

// Unpacks the pieces of a run, forward only.
class AddressRuns::Cursor {
 public:
  Cursor(const Run& run, IndexBytes bytes)
      : reader_(bytes.subspan(run.bytes_at)), run_(&run), piece_end_(run.start) {}

  const Run& run() const { return *run_; }

  // Gives what lies in [start, end), a part of the run.
  template <typename Give>
  void Pieces(uint32_t start, uint32_t end, const Give& give) {
    while (start < end) {
      while (piece_end_ <= start) Step();
      const uint32_t until = std::min(piece_end_, end);
      give(start, until, place_);
      start = until;
    }
  }

 private:
  void Step() {
    piece_end_ += reader_.Unsigned();
    place_.node += reader_.Difference();
    place_.file += reader_.Difference();
    place_.line += reader_.Difference();
  }

  NumberReader reader_;
  const Run* run_;
  uint32_t piece_end_;
  Place place_;
};

void AddressRuns::Merge(const std::function<void(uint32_t, uint32_t, const Place&)>& give) {
  std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
    return a.start != b.start ? a.start < b.start : a.rank < b.rank;
  });
  const auto ranks_below = [](const Cursor& a, const Cursor& b) {
    return a.run().rank > b.run().rank;
  };
  std::vector<Cursor> open;  // a heap; the one that holds is first
  uint32_t position = 0;
  for (size_t next = 0; next < runs_.size() || !open.empty();) {
    if (open.empty()) position = std::max(position, runs_[next].start);
    for (; next < runs_.size() && runs_[next].start <= position; ++next) {
      open.emplace_back(runs_[next], bytes_);
      std::push_heap(open.begin(), open.end(), ranks_below);
    }
    while (!open.empty() && open.front().run().end <= position) {
      std::pop_heap(open.begin(), open.end(), ranks_below);
      open.pop_back();
    }
    if (open.empty()) continue;
    uint32_t end = open.front().run().end;
    if (next < runs_.size()) end = std::min(end, runs_[next].start);
    open.front().Pieces(position, end, give);
    position = end;
  }
}

}  // namespace vesta::symbolize
