#include "src/symbolize/index/place_encoder.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace vesta::symbolize {

PlaceEncoder::PlaceEncoder(uint32_t page_shift, uint32_t span_bytes, FunctionOf function_of,
                           Sink sink)
    : page_shift_(page_shift),
      span_bytes_(span_bytes),
      function_of_(std::move(function_of)),
      sink_(std::move(sink)),
      pages_(1, 0) {}

void PlaceEncoder::Add(uint32_t start, uint32_t end, const Place& place) {
  if (start > end_) Change(end_, Place());
  Change(start, place);
  end_ = end;
}

std::vector<uint32_t> PlaceEncoder::Finish() {
  if (end_ < span_bytes_) Change(end_, Place());
  // The last page may be cut by the end of the code.
  if (span_bytes_ != 0) ClosePagesBefore(((span_bytes_ - 1) >> page_shift_) + 1);
  if (bytes_before_ > std::numeric_limits<uint32_t>::max()) pages_.clear();
  return std::move(pages_);
}

void PlaceEncoder::Change(uint32_t offset, const Place& place) {
  const uint32_t page = offset >> page_shift_;
  ClosePagesBefore(page);
  if (place == place_) return;
  // A page says itself what holds at its start, unless that changes at once.
  if (packed_.empty() && place_ != Place() && offset > page << page_shift_) {
    Append(page << page_shift_, place_);
  }
  place_ = place;
  Append(offset, place);
}

void PlaceEncoder::ClosePagesBefore(uint32_t page) {
  while (pages_.size() <= page) {
    if (packed_.empty() && place_ != Place()) {
      Append(static_cast<uint32_t>(pages_.size() - 1) << page_shift_, place_);
    }
    sink_(packed_);
    bytes_before_ += packed_.size();
    packed_.clear();
    page_offset_ = static_cast<uint32_t>(pages_.size()) << page_shift_;
    pages_.push_back(static_cast<uint32_t>(bytes_before_));
    page_node_ = 0;
    page_line_ = 0;
    node_function_ = FunctionRecord();
  }
}

void PlaceEncoder::Append(uint32_t offset, const Place& place) {
  const uint32_t distance = offset - page_offset_;
  const bool node_follows = place.node != page_node_;
  if (node_follows) {
    node_function_ = function_of_(place.node);
    page_line_ = node_function_.start_line;
  }
  const bool file_follows = place.file != node_function_.file;
  AppendByte(packed_, (node_follows ? kNodeFollows : 0u) | (file_follows ? kFileFollows : 0u) |
                          (std::min(distance, kDistanceFollows) << kDistanceShift));
  if (distance >= kDistanceFollows) AppendUnsigned(packed_, distance - kDistanceFollows);
  if (node_follows) AppendDifference(packed_, place.node - page_node_);
  if (file_follows) AppendUnsigned(packed_, place.file);
  AppendDifference(packed_, place.line - page_line_);
  page_offset_ = offset;
  page_node_ = place.node;
  page_line_ = place.line;
}

}  // namespace vesta::symbolize
