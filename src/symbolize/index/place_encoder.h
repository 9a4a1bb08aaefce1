// Packs places into pages, so that a look-up reads one page only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/symbolize/index/address_runs.h"
#include "src/symbolize/index/index_format.h"

namespace vesta::symbolize {

class PlaceEncoder {
 public:
  // Gives the function of a node: its file and first line are what places are told from.
  using FunctionOf = std::function<FunctionRecord(uint32_t node)>;
  // Takes packed bytes, page by page.
  using Sink = std::function<void(IndexBytes)>;

  PlaceEncoder(uint32_t page_shift, uint32_t span_bytes, FunctionOf function_of, Sink sink);

  // In rising order and without overlaps, below span_bytes.
  void Add(uint32_t start, uint32_t end, const Place& place);

  // The page table; ends the use of the object. Empty when 32 bits do not reach.
  std::vector<uint32_t> Finish();

 private:
  void Change(uint32_t offset, const Place& place);
  void ClosePagesBefore(uint32_t page);
  void Append(uint32_t offset, const Place& place);

  const uint32_t page_shift_;
  const uint32_t span_bytes_;
  FunctionOf function_of_;
  Sink sink_;
  std::vector<uint32_t> pages_;    // where each one begins, the open one last
  std::vector<std::byte> packed_;  // of the open page
  uint64_t bytes_before_ = 0;      // of the open page
  uint32_t page_offset_ = 0;       // of the last change in the open page, or its start
  uint32_t page_node_ = 0;
  uint32_t page_line_ = 0;
  FunctionRecord node_function_;  // of page_node_
  Place place_;                   // that holds now
  uint32_t end_ = 0;              // of what was added
};

}  // namespace vesta::symbolize
