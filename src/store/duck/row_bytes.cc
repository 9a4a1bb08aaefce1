#include "src/store/duck/row_bytes.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "src/base/check.h"

namespace vesta::store::duck {

namespace {

constexpr uint8_t kElements = 0;
constexpr uint8_t kRuns = 1;
// Distances from the least one in so many bytes: kDistances + 1, 2 or 4.
constexpr uint8_t kDistances = 1;

template <typename T>
void PutAll(std::span<const T> values, std::vector<uint8_t>* bytes) {
  const auto* from = reinterpret_cast<const uint8_t*>(values.data());
  bytes->insert(bytes->end(), from, from + values.size_bytes());
}

// Whether two elements are the same bits: -0 is not 0, and NaN is NaN.
template <typename T>
bool IsSame(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <typename Narrow, typename T>
void PutDistances(std::span<const T> values, T least, std::vector<uint8_t>* bytes) {
  using Unsigned = std::make_unsigned_t<T>;
  bytes->push_back(kDistances + sizeof(Narrow));
  PutAll<T>({&least, 1}, bytes);
  const size_t before = bytes->size();
  bytes->resize(before + values.size() * sizeof(Narrow));
  uint8_t* to = bytes->data() + before;
  for (const T value : values) {
    const auto distance =
        static_cast<Narrow>(static_cast<Unsigned>(value) - static_cast<Unsigned>(least));
    std::memcpy(to, &distance, sizeof(Narrow));
    to += sizeof(Narrow);
  }
}

// Integers that lie near each other.
template <typename T>
bool PutNarrow(std::span<const T> values, std::vector<uint8_t>* bytes) {
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  const auto range =
      static_cast<std::make_unsigned_t<T>>(static_cast<std::make_unsigned_t<T>>(*greatest) -
                                           static_cast<std::make_unsigned_t<T>>(*least));
  if (range <= UINT8_MAX) {
    PutDistances<uint8_t>(values, *least, bytes);
  } else if (range <= UINT16_MAX) {
    PutDistances<uint16_t>(values, *least, bytes);
  } else if (sizeof(T) > sizeof(uint32_t) && range <= UINT32_MAX) {
    PutDistances<uint32_t>(values, *least, bytes);
  } else {
    return false;
  }
  return true;
}

template <typename T>
void PutColumn(std::span<const T> values, size_t row_count, std::vector<uint8_t>* bytes) {
  CHECK(values.size() == row_count);
  // Runs pay while they are a quarter as many bytes.
  const size_t runs_max = row_count * sizeof(T) / (4 * (sizeof(T) + sizeof(uint32_t)));
  std::vector<T> elements;
  std::vector<uint32_t> lengths;
  for (size_t i = 0; i < row_count && elements.size() <= runs_max; ++i) {
    if (elements.empty() || !IsSame(elements.back(), values[i])) {
      elements.push_back(values[i]);
      lengths.push_back(0);
    }
    ++lengths.back();
  }
  if (elements.size() > runs_max) {
    if constexpr (std::is_integral_v<T>) {
      if (PutNarrow(values, bytes)) return;
    }
    bytes->push_back(kElements);
    PutAll(values, bytes);
    return;
  }
  bytes->push_back(kRuns);
  const auto runs = static_cast<uint32_t>(elements.size());
  PutAll<uint32_t>({&runs, 1}, bytes);
  PutAll<T>(elements, bytes);
  PutAll<uint32_t>(lengths, bytes);
}

// Reads what PutColumn wrote; false at the first thing that cannot be.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : left_(bytes) {}

  template <typename T>
  bool Take(T* values, size_t count) {
    if (left_.size() / sizeof(T) < count) return false;
    if (count > 0) std::memcpy(values, left_.data(), count * sizeof(T));
    left_ = left_.subspan(count * sizeof(T));
    return true;
  }

  template <typename T>
  bool TakeColumn(size_t row_count, std::vector<T>* values) {
    values->clear();
    uint8_t kind = 0;
    if (!Take(&kind, 1)) return false;
    if (kind == kElements) {
      if (left_.size() / sizeof(T) < row_count) return false;
      values->resize(row_count);
      return Take(values->data(), row_count);
    }
    if constexpr (std::is_integral_v<T>) {
      if (kind == kDistances + 1) return TakeDistances<uint8_t>(row_count, values);
      if (kind == kDistances + 2) return TakeDistances<uint16_t>(row_count, values);
      if (kind == kDistances + 4) return TakeDistances<uint32_t>(row_count, values);
    }
    return kind == kRuns && TakeRuns(row_count, values);
  }

  bool is_at_end() const { return left_.empty(); }

 private:
  template <typename Narrow, typename T>
  bool TakeDistances(size_t row_count, std::vector<T>* values) {
    using Unsigned = std::make_unsigned_t<T>;
    T least = 0;
    if (!Take(&least, 1) || left_.size() / sizeof(Narrow) < row_count) return false;
    values->resize(row_count);
    for (T& value : *values) {
      Narrow distance = 0;
      Take(&distance, 1);
      // Damaged ones wrap around.
      value = static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(least) + distance));
    }
    return true;
  }

  template <typename T>
  bool TakeRuns(size_t row_count, std::vector<T>* values) {
    uint32_t runs = 0;
    if (!Take(&runs, 1) || left_.size() / (sizeof(T) + sizeof(uint32_t)) < runs) return false;
    std::vector<T> elements(runs);
    std::vector<uint32_t> lengths(runs);
    if (!Take(elements.data(), runs) || !Take(lengths.data(), runs)) return false;
    for (size_t i = 0; i < runs; ++i) {
      if (lengths[i] > row_count - values->size()) return false;
      values->insert(values->end(), lengths[i], elements[i]);
    }
    return values->size() == row_count;
  }

  std::span<const uint8_t> left_;
};

}  // namespace

void EncodeRows(const RowColumns& rows, std::vector<uint8_t>* bytes) {
  CHECK(rows.row_count > 0 && rows.row_count <= kRowsOfValueMax);
  const auto count = static_cast<uint32_t>(rows.row_count);
  bytes->clear();
  PutAll<uint32_t>({&count, 1}, bytes);
  PutColumn(rows.time_unix_ms, count, bytes);
  PutColumn(rows.value, count, bytes);
  PutColumn(rows.count, count, bytes);
  PutColumn(rows.type, count, bytes);
  PutColumn(rows.series, count, bytes);
  PutColumn(rows.task, count, bytes);
  PutColumn(rows.stack, count, bytes);
  PutColumn(rows.weight, count, bytes);
}

base::Result<void> DecodedRows::Decode(std::span<const uint8_t> bytes, const std::string& subject) {
  Reader reader(bytes);
  uint32_t count = 0;
  if (!reader.Take(&count, 1) || count > kRowsOfValueMax) count = 0;
  const bool is_whole = count > 0 && reader.TakeColumn(count, &time_unix_ms_) &&
                        reader.TakeColumn(count, &value_) && reader.TakeColumn(count, &count_) &&
                        reader.TakeColumn(count, &type_) && reader.TakeColumn(count, &series_) &&
                        reader.TakeColumn(count, &task_) && reader.TakeColumn(count, &stack_) &&
                        reader.TakeColumn(count, &weight_) && reader.is_at_end();
  if (!is_whole) {
    return base::Error(base::ErrorCode::kCorrupt, subject + ": " + std::to_string(bytes.size()) +
                                                      " bytes that are no whole rows");
  }
  return {};
}

RowColumns DecodedRows::View() const {
  return {.row_count = value_.size(),
          .type = type_,
          .series = series_,
          .task = task_,
          .stack = stack_,
          .time_unix_ms = time_unix_ms_,
          .value = value_,
          .count = count_,
          .weight = weight_};
}

}  // namespace vesta::store::duck
