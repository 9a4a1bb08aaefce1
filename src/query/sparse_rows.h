// Rows by number where few of very many numbers come, most of them near each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace vesta::query {

// Shape: a row that was not written is T().
// Cost:  as an array, but memory and time to clear are those of the pages that were touched.
template <typename T>
class SparseRows {
 public:
  T& At(uint32_t row) {
    const size_t page = row / kPageRows;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page] == nullptr) {
      pages_[page] = std::make_unique<Page>();
      ++page_count_;
    }
    return (*pages_[page])[row % kPageRows];
  }
  void Clear() {
    pages_.clear();
    page_count_ = 0;
  }
  size_t memory_bytes() const {
    return pages_.size() * sizeof(pages_[0]) + page_count_ * sizeof(Page);
  }

 private:
  static constexpr size_t kPageRows = 256;
  using Page = std::array<T, kPageRows>;

  std::vector<std::unique_ptr<Page>> pages_;
  size_t page_count_ = 0;
};

}  // namespace vesta::query
