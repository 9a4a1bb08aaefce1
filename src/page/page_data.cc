#include "src/page/page_data.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>

#include "src/base/json.h"

namespace vesta::page {
namespace {

using flame::StackTree;

constexpr uint32_t kVersion = 1;
constexpr size_t kValueTypesMax = 1000;
constexpr uint64_t kExactMax = uint64_t{1} << 53;  // what a number of the page can count to

void AppendU32(uint32_t value, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

void AppendF64(double value, std::string& out) {
  const auto bits = std::bit_cast<uint64_t>(value);
  AppendU32(static_cast<uint32_t>(bits), out);
  AppendU32(static_cast<uint32_t>(bits >> 32), out);
}

void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// How a column's values are written: divided by the factor.
struct Scale {
  uint64_t divisor = 1;
  int shift = 0;  // bits that are rounded away behind the division

  explicit Scale(std::initializer_list<std::span<const int64_t>> columns) {
    uint64_t common = 0;
    uint64_t most = 0;
    for (const auto& column : columns) {
      for (const int64_t value : column) {
        const auto unsigned_value = static_cast<uint64_t>(value);
        if (common != 1) common = std::gcd(common, unsigned_value);
        most = std::max(most, unsigned_value);
      }
    }
    divisor = std::max<uint64_t>(common, 1);
    while (Apply(static_cast<int64_t>(most)) > kExactMax) ++shift;
  }
  uint64_t Apply(int64_t value) const {
    const uint64_t exact = static_cast<uint64_t>(value) / divisor;
    return shift == 0 ? exact : (exact + (uint64_t{1} << (shift - 1))) >> shift;
  }
  double factor() const {
    return static_cast<double>(divisor) * static_cast<double>(uint64_t{1} << shift);
  }
};

class Encoder {
 public:
  Encoder(const StackTree& tree, const PageMeta& meta) : tree_(tree), meta_(meta) {}

  base::Result<std::string> Run() {
    const size_t types = tree_.value_types.size();
    if (types == 0 || types > kValueTypesMax) {
      return base::Error(base::ErrorCode::kInvalidInput,
                         "a page holds 1 to 1000 sample types, not " + std::to_string(types));
    }
    out_ = "VSTP";
    AppendU32(kVersion, out_);
    KeepShallow();
    AddSection("META", MetaJson());
    AddSection("STRS", Strings());
    AddSection("FUNC", Functions());
    AddSection("TREE", Shape());
    for (size_t type = 0; type < types; ++type) {
      for (size_t side = 0; side < tree_.sides.size(); ++side) AddSelf(type, side);
    }
    if (!tree_.lines.empty()) AddSection("LINE", Lines());
    if (!fits_) {
      return base::Error(base::ErrorCode::kExhausted,
                         "a page cannot hold more than 4 GiB of names or nodes");
    }
    return std::move(out_);
  }

 private:
  void AddSection(std::string_view tag, std::string_view payload) {
    if (payload.size() > std::numeric_limits<uint32_t>::max()) {
      fits_ = false;
      return;
    }
    out_ += tag;
    AppendU32(static_cast<uint32_t>(payload.size()), out_);
    out_ += payload;
  }

  void KeepShallow() {
    const auto& depth = tree_.depth;
    deep_count_ = static_cast<size_t>(
        std::ranges::count_if(depth, [](uint32_t d) { return d > kPageDepthMax; }));
    for (size_t node = 0; node < depth.size() && deep_count_ != 0; ++node)
      if (depth[node] <= kPageDepthMax) shallow_.push_back(node);
  }

  // Calls use(node, index behind its last deep descendant) for each node that is kept.
  template <typename Use>
  void ForEachNode(const Use& use) const {
    if (deep_count_ == 0) {
      for (size_t node = 0; node < tree_.node_count(); ++node) use(node, node + 1);
      return;
    }
    for (size_t i = 0; i < shallow_.size(); ++i)
      use(shallow_[i], i + 1 < shallow_.size() ? shallow_[i + 1] : tree_.node_count());
  }

  std::string MetaJson() const {
    base::JsonWriter json;
    json.BeginObject().Key("title").String(meta_.title);
    json.Key("value_types").BeginArray();
    for (const flame::TreeValueType& type : tree_.value_types) {
      // One figure for both sides: the coarser one, so that noise is never called a change.
      const double per_sample = std::ranges::max(type.per_sample);
      json.BeginObject().Key("type").String(type.type).Key("unit").String(type.unit);
      json.Key("per_sample").Double(per_sample).EndObject();
    }
    json.EndArray().Key("value_type").Uint(tree_.value_type);
    json.Key("sides").BeginArray();
    for (const flame::TreeSide& side : tree_.sides) {
      json.BeginObject().Key("name").String(side.name);
      json.Key("time_unix_ms").Int(side.time_unix_ns / 1'000'000);
      json.Key("duration_ms").Double(static_cast<double>(side.duration_ns) / 1e6).EndObject();
    }
    json.EndArray().Key("notes").BeginArray();
    for (const std::string& note : meta_.notes) json.String(note);
    if (deep_count_ != 0) {
      json.String(std::to_string(deep_count_) + " calls deeper than " +
                  std::to_string(kPageDepthMax) + " frames are counted in the frame there");
    }
    json.EndArray();
    if (meta_.inverted) json.Key("inverted").Bool(true);
    json.EndObject();
    return json.Take();
  }

  std::string Strings() const {
    std::string payload;
    AppendVarint(tree_.strings.size(), payload);
    for (const std::string& text : tree_.strings) AppendVarint(text.size(), payload);
    for (const std::string& text : tree_.strings) payload += text;
    return payload;
  }

  std::string Functions() const {
    std::string payload;
    const auto functions = std::span(tree_.functions).subspan(1);
    AppendVarint(functions.size(), payload);
    for (const auto& row : functions) AppendVarint(row.name, payload);
    for (const auto& row : functions) AppendVarint(row.image, payload);
    for (const auto& row : functions) AppendVarint(row.file, payload);
    for (const auto& row : functions) AppendVarint(row.start_line, payload);
    for (const auto& row : functions) {
      const auto flags = static_cast<unsigned>(row.kind) | static_cast<unsigned>(row.inlined) << 3;
      AppendVarint(flags, payload);
    }
    return payload;
  }

  std::string Shape() const {
    std::string payload;
    payload.reserve(tree_.node_count() * 4 + 16);
    AppendVarint(tree_.node_count() - deep_count_ - 1, payload);
    uint32_t last = 0;
    ForEachNode([&](size_t node, size_t) {
      if (node == 0) return;
      AppendVarint(1 + last - tree_.depth[node], payload);
      last = tree_.depth[node];
    });
    ForEachNode([&](size_t node, size_t) {
      if (node != 0) AppendVarint(tree_.function[node], payload);
    });
    return payload;
  }

  void AddSelf(size_t type, size_t side) {
    const size_t column = tree_.column(type, side);
    std::vector<int64_t> folded;
    if (deep_count_ != 0) {
      ForEachNode([&](size_t node, size_t end) {
        int64_t sum = 0;
        for (; node < end; ++node) sum = profile::AddSaturating(sum, tree_.self[column][node]);
        folded.push_back(sum);
      });
    }
    const std::span<const int64_t> values = deep_count_ == 0 ? tree_.self[column] : folded;
    Scale scale{values};
    if (!tree_.lines.empty())
      scale = Scale{values, tree_.line_self[column], tree_.line_total[column]};
    std::string payload;
    payload.reserve(values.size() * 2 + 32);
    AppendVarint(type, payload);
    AppendVarint(side, payload);
    AppendF64(scale.factor(), payload);
    for (size_t i = 0; i < values.size();) {
      const uint64_t value = scale.Apply(values[i]);
      AppendVarint(value, payload);
      const size_t first = i++;
      if (value != 0) continue;
      while (i < values.size() && scale.Apply(values[i]) == 0) ++i;
      AppendVarint(i - first - 1, payload);
    }
    scales_.push_back(scale);
    AddSection("SELF", payload);
  }

  std::string Lines() const {
    std::string payload;
    AppendVarint(tree_.lines.size(), payload);
    uint32_t last = 0;
    for (const flame::TreeLine& row : tree_.lines) {
      AppendVarint(row.function - last, payload);
      last = row.function;
    }
    for (const flame::TreeLine& row : tree_.lines) AppendVarint(row.line, payload);
    for (size_t column = 0; column < scales_.size(); ++column) {
      for (const int64_t value : tree_.line_self[column])
        AppendVarint(scales_[column].Apply(value), payload);
      for (const int64_t value : tree_.line_total[column])
        AppendVarint(scales_[column].Apply(value), payload);
    }
    return payload;
  }

  const StackTree& tree_;
  const PageMeta& meta_;
  std::string out_;
  bool fits_ = true;
  size_t deep_count_ = 0;
  std::vector<size_t> shallow_;  // nodes that are kept, where some are not
  std::vector<Scale> scales_;    // by column
};

}  // namespace

base::Result<std::string> EncodePageData(const StackTree& tree, const PageMeta& meta) {
  return Encoder(tree, meta).Run();
}

}  // namespace vesta::page
