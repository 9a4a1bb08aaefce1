// The metadata event of a JFR chunk: a tree of elements with attributes that describes all types.
#include <algorithm>
#include <array>
#include <utility>

#include "src/wire/jfr_chunk.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr unsigned kElementDepthMax = 16;

constexpr std::pair<std::string_view, JfrRole> kRoles[] = {
    {"allocationSize", JfrRole::kAllocationSize},
    {"description", JfrRole::kDescription},
    {"descriptor", JfrRole::kDescriptor},
    {"duration", JfrRole::kDuration},
    {"eventThread", JfrRole::kThread},
    {"frames", JfrRole::kFrames},
    {"id", JfrRole::kId},
    {"javaName", JfrRole::kJavaName},
    {"lineNumber", JfrRole::kLineNumber},
    {"method", JfrRole::kMethod},
    {"name", JfrRole::kName},
    {"osName", JfrRole::kOsName},
    {"osThreadId", JfrRole::kOsThreadId},
    {"sampledThread", JfrRole::kThread},
    {"samples", JfrRole::kSamples},
    {"stackTrace", JfrRole::kStackTrace},
    {"state", JfrRole::kState},
    {"string", JfrRole::kString},
    {"timeSpan", JfrRole::kTimeSpan},
    {"tlabSize", JfrRole::kTlabSize},
    {"truncated", JfrRole::kTruncated},
    {"type", JfrRole::kType},
    {"value", JfrRole::kValue},
    {"weight", JfrRole::kWeight},
};

constexpr std::pair<std::string_view, JfrPool> kPools[] = {
    {"java.lang.Class", JfrPool::kClass},   {"java.lang.String", JfrPool::kString},
    {"java.lang.Thread", JfrPool::kThread}, {"jdk.types.FrameType", JfrPool::kFrameType},
    {"jdk.types.Method", JfrPool::kMethod}, {"jdk.types.StackTrace", JfrPool::kStackTrace},
    {"jdk.types.Symbol", JfrPool::kSymbol}, {"jdk.types.ThreadState", JfrPool::kState},
};

struct Layout {
  std::string_view name;
  JfrKind kind;
  uint8_t size_bytes;
};
constexpr Layout kLayouts[] = {
    {"boolean", JfrKind::kFixed, 1},
    {"byte", JfrKind::kFixed, 1},
    {"char", JfrKind::kInteger, 2},
    {"double", JfrKind::kFixed, 8},
    {"float", JfrKind::kFixed, 4},
    {"int", JfrKind::kInteger, 4},
    {"long", JfrKind::kInteger, 8},
    {"short", JfrKind::kInteger, 2},
    {"java.lang.String", JfrKind::kString, 0},
};

template <typename Table>
auto Find(const Table& table, std::string_view name) {
  return std::find_if(std::begin(table), std::end(table),
                      [&](const auto& row) { return row.first == name; });
}

uint64_t NumberOf(std::string_view digits) {
  uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return 0;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

class MetadataReader {
 public:
  explicit MetadataReader(std::span<const std::byte> event) : reader_(event) {}

  Result<std::vector<JfrType>> Run() {
    reader_.ReadCompressed();  // size
    if (reader_.ReadCompressed() != 0) return Error(ErrorCode::kCorrupt, "it is none");
    for (int i = 0; i < 3; ++i) reader_.ReadCompressed();  // start, duration, id
    for (size_t left = reader_.ReadCount(); left > 0 && reader_.ok(); --left)
      strings_.push_back(reader_.ReadString().text);
    ReadElement(0, false);
    if (!reader_.ok())
      return Error(ErrorCode::kCorrupt, "it ends early or names what is not there");
    for (size_t i = 0; i < types_.size(); ++i) {
      if (!type_of_id_.emplace(types_[i].id, static_cast<uint32_t>(i)).second)
        return Error(ErrorCode::kCorrupt, "two types have the id " + std::to_string(types_[i].id));
    }
    size_t next = 0;
    for (JfrType& type : types_) {
      for (JfrField& field : type.fields) {
        const auto target = type_of_id_.find(field_type_ids_[next++]);
        if (target == type_of_id_.end())
          return Error(ErrorCode::kCorrupt, "a field of " + type.name + " has an unknown type");
        field.type = target->second;
      }
    }
    return std::move(types_);
  }

 private:
  std::string_view ReadText() {
    const uint64_t index = reader_.ReadCompressed();
    if (index >= strings_.size()) {
      reader_.Fail();
      return {};
    }
    return strings_[index];
  }

  void ReadElement(unsigned depth, bool in_type) {
    if (depth > kElementDepthMax) return reader_.Fail();
    const std::string_view name = ReadText();
    const bool is_type = name == "class";
    if (is_type) types_.emplace_back();
    const bool is_field = in_type && name == "field";
    if (is_field) {
      types_.back().fields.emplace_back();
      field_type_ids_.push_back(0);
    }
    for (size_t left = reader_.ReadCount(); left > 0 && reader_.ok(); --left) {
      const std::string_view key = ReadText();
      const std::string_view value = ReadText();
      if (is_type) SetTypeAttribute(key, value);
      if (is_field) SetFieldAttribute(key, value);
    }
    for (size_t left = reader_.ReadCount(); left > 0 && reader_.ok(); --left)
      ReadElement(depth + 1, is_type);
  }

  void SetTypeAttribute(std::string_view key, std::string_view value) {
    JfrType& type = types_.back();
    if (key == "id") type.id = NumberOf(value);
    if (key != "name") return;
    type.name = value;
    const auto pool = Find(kPools, value);
    if (pool != std::end(kPools)) type.pool = pool->second;
    for (const Layout& layout : kLayouts) {
      if (layout.name != value) continue;
      type.kind = layout.kind;
      type.size_bytes = layout.size_bytes;
    }
  }

  void SetFieldAttribute(std::string_view key, std::string_view value) {
    JfrField& field = types_.back().fields.back();
    if (key == "name") {
      const auto role = Find(kRoles, value);
      if (role != std::end(kRoles)) field.role = role->second;
    }
    if (key == "class") field_type_ids_.back() = NumberOf(value);
    if (key == "constantPool") field.is_reference = value == "true";
    if (key == "dimension") field.is_array = NumberOf(value) != 0;
  }

  JfrReader reader_;
  std::vector<std::string> strings_;
  std::vector<JfrType> types_;
  std::vector<uint64_t> field_type_ids_;  // of all fields, in order
  std::unordered_map<uint64_t, uint32_t> type_of_id_;
};

}  // namespace

Result<std::vector<JfrType>> ReadJfrTypes(std::span<const std::byte> chunk, uint64_t offset) {
  if (offset >= chunk.size()) return Error(ErrorCode::kCorrupt, "its metadata is behind its end");
  return MetadataReader(chunk.subspan(offset))
      .Run()
      .Context("metadata at byte " + std::to_string(offset));
}

}  // namespace vesta::wire
