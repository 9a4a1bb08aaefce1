// Adds rows to a table of sums, file by file.
#pragma once

#include <memory>
#include <utility>

#include "src/store/disk/sum_table.h"
#include "src/store/disk/volume_read.h"

namespace vesta::store {

// Shape: key_of(row) says which sum a row is added to.
// Owner: one read.
template <typename KeyOf>
class TableConsumer final : public RowConsumer {
 public:
  TableConsumer(ReadGuard* guard, ValueTable* sums, KeyOf key_of)
      : guard_(guard), sums_(sums), key_of_(std::move(key_of)), pending_(Fresh()) {}

  base::Result<void> Row(const SeenRow& row) override {
    const uint64_t key = key_of_(row);
    ASSIGN_OR_RETURN(ValueSum* const sum, pending_->At(key));
    sum->Add(row.value, row.count);
    return {};
  }
  base::Result<void> Keep() override {
    for (const ValueSum& sum : pending_->sums()) {
      ASSIGN_OR_RETURN(ValueSum* const into, sums_->At(sum.key));
      into->Add(sum.value, sum.count);
    }
    Discard();
    return {};
  }
  void Discard() override {
    if (!pending_->sums().empty()) pending_ = Fresh();
  }

 private:
  std::unique_ptr<ValueTable> Fresh() { return std::make_unique<ValueTable>(guard_); }

  ReadGuard* guard_;
  ValueTable* sums_;
  KeyOf key_of_;
  std::unique_ptr<ValueTable> pending_;
};

}  // namespace vesta::store
