// What became of all rows, as it is kept on disk. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/json.h"
#include "src/base/json_reader.h"
#include "src/base/result.h"
#include "src/store/batch.h"

namespace vesta::store {

// Shape: outcome.rows_kept == rows that can be read + rows_expired + rows_quarantined.
struct Book {
  AppendOutcome outcome;
  uint64_t rows_expired = 0;
  uint64_t rows_quarantined = 0;

  void Add(const AppendOutcome& more);
  void Add(const Book& more);
  bool empty() const {
    return outcome.rows_received == 0 && rows_expired == 0 && rows_quarantined == 0;
  }

  void WriteJson(base::JsonWriter& json) const;
  // Errors: Corrupt when a number is missing.
  static base::Result<Book> FromJson(const base::JsonValue& value);
  static base::Result<Book> Decode(std::string_view json);
};

}  // namespace vesta::store
