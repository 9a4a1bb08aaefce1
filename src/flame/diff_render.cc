#include "src/flame/diff_render.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/flame/table_text.h"
#include "src/flame/units.h"

namespace vesta::flame {
namespace {

using base::Printable;

std::string Print(const char* format, double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string Sign(int64_t value) { return value > 0 ? "+" : value < 0 ? "-" : ""; }

// "+12.3%"; "" where there is nothing to compare with.
std::string ChangeText(const DiffFigure& figure) {
  if (figure.before == 0) return {};
  if (figure.difference() == 0) return "0%";
  const double share =
      static_cast<double>(figure.difference()) / static_cast<double>(figure.before);
  // Beyond that, times are easier to grasp.
  if (share >= 9.995) return "x" + Print("%.0f", share + 1);
  return Print("%+.1f%%", 100 * share);
}

// "new" and "gone" are said of functions: one that was only a caller before has grown.
std::string ChangeText(const DiffRow& row, const DiffFigure& shown) {
  if (row.is_new()) return "new";
  if (row.is_gone()) return "gone";
  return ChangeText(shown);
}

const DiffFigure& Shown(const DiffTable& table, const DiffRow& row) {
  return table.order == DiffOrder::kSelf ? row.self : row.total;
}

std::span<const DiffRow> FirstRows(std::span<const DiffRow> rows, const TopRenderOptions& options) {
  return rows.first(options.rows_max == 0 ? rows.size() : std::min(options.rows_max, rows.size()));
}

// They stand in front, since rows are in the order of their differences.
std::span<const DiffRow> ChangedRows(const DiffTable& table) {
  const auto is_changed = [](const DiffRow& row) {
    return row.self.difference() != 0 || row.total.difference() != 0;
  };
  const auto end = std::partition_point(table.rows.begin(), table.rows.end(), is_changed);
  return {table.rows.begin(), end};
}

// The sums as the rows have them.
DiffFigure ScaledSum(const DiffTable& table) {
  DiffFigure sum = table.sum;
  if (table.after_scale != 1) sum = {sum.before, sum.before, true};
  return sum;
}

ValueFormat FormatFor(const DiffTable& table, std::span<const DiffRow> shown) {
  const int64_t most = std::max(table.sum.before, table.sum.after);
  int64_t least = most;
  for (const DiffRow& row : shown) {
    const DiffFigure& figure = Shown(table, row);
    for (const int64_t value : {figure.before, figure.after, std::abs(figure.difference())}) {
      if (value != 0) least = std::min(least, value);
    }
  }
  // A difference of one sample may be tiny beside the rest: a thousandth of the whole is enough.
  return ValueFormat(table.unit, std::max(least, most / 1000), most);
}

class Text {
 public:
  Text(const DiffTable& table, const TopRenderOptions& options)
      : table_(table),
        options_(options),
        changed_(ChangedRows(table)),
        shown_(FirstRows(changed_, options)),
        format_(FormatFor(table, shown_)) {}

  std::string Run() {
    AddHeading();
    if (table_.rows.empty()) return std::move(out_);
    if (changed_.empty()) {
      out_ += "\nnothing changed: " + Functions(table_.rows.size()) + " of equal self and total\n";
      return std::move(out_);
    }
    const std::string titles = PadLeft("before", 10) + ' ' + PadLeft("after", 10) + ' ' +
                               PadLeft("difference", 11) + ' ' + PadLeft("change", 8) + "  " +
                               PadLeft("share", 16) + "  ";
    out_ += '\n' + titles + (table_.order == DiffOrder::kSelf ? "self" : "total") +
            " of function [binary]\n";
    for (const DiffRow& row : shown_) {
      const std::string binary = BinaryText(row.image, row.file);
      const std::string name = NameText(row.name, row.unnamed_address_count);
      const DiffFigure& figure = Shown(table_, row);
      out_ += Columns(figure, ChangeText(row, figure));
      out_ += FitName(name, options_.width_columns, titles.size() + CountCharacters(binary));
      out_ += binary + '\n';
    }
    AddRest();
    const DiffFigure sum = ScaledSum(table_);
    out_ += Columns(sum, ChangeText(sum)) + "all\n";
    return std::move(out_);
  }

 private:
  static std::string Functions(size_t count) {
    return std::to_string(count) + (count == 1 ? " function" : " functions");
  }

  std::string Signed(int64_t value) const { return Sign(value) + format_.Text(std::abs(value)); }

  std::string Columns(const DiffFigure& figure, const std::string& change) const {
    const bool is_noise = table_.noise_known && figure.within_noise && figure.difference() != 0;
    const DiffFigure sum = ScaledSum(table_);
    return PadLeft(format_.Text(figure.before), 10) + ' ' +
           PadLeft(format_.Text(figure.after), 10) + ' ' +
           PadLeft(Signed(figure.difference()), 11) + ' ' + PadLeft(change, 8) +
           (is_noise ? "~ " : "  ") + PadLeft(PercentText(figure.before, sum.before), 7) + "->" +
           PadLeft(PercentText(figure.after, sum.after), 7) + "  ";
  }

  void AddHeading() {
    const DiffFigure& sum = table_.sum;
    const int64_t difference = sum.difference();
    out_ += (table_.type.empty() ? "values" : Printable(table_.type)) + ": " +
            SumText(sum.before, table_.unit) + " -> " + SumText(sum.after, table_.unit) + ", " +
            Sign(difference) + SumText(std::abs(difference), table_.unit);
    if (sum.before != 0 && sum.after != 0 && difference != 0) out_ += " (" + ChangeText(sum) + ')';
    if (table_.noise_known && sum.within_noise && difference != 0) out_ += ", within noise";
    out_ += '\n';
    constexpr std::array<const char*, 2> kSides = {"before: ", "after: "};
    for (size_t side = 0; side < 2; ++side) {
      std::string facts = Printable(table_.sides[side].name);
      if (table_.sample_counts[side] > 0)
        facts += (facts.empty() ? "" : ", ") + SamplesText(table_.sample_counts[side]);
      if (table_.sides[side].duration_ns > 0)
        facts += " over " + ScaledText(table_.sides[side].duration_ns, "nanoseconds");
      if (!facts.empty()) out_ += kSides[side] + facts + '\n';
    }
    if (table_.normalized) {
      out_ += "normalized: values of after are times " + Print("%.4g", table_.after_scale) +
              ", so that both sums are equal\n";
    }
    for (const std::string& note : options_.notes) out_ += Printable(note) + '\n';
    out_ += table_.noise_known
                ? "~ = sampling alone shows such differences (2 standard deviations)\n"
                : "what one sample stands for is not known, so noise is not marked\n";
  }

  void AddRest() {
    if (shown_.size() < changed_.size()) {
      int64_t difference = 0;
      for (const DiffRow& row : changed_.subspan(shown_.size()))
        difference = profile::AddSaturating(difference, row.self.difference());
      const size_t count = changed_.size() - shown_.size();
      out_ += "... " + std::to_string(count) +
              (count == 1 ? " more function: " : " more functions: ") + Signed(difference) +
              " self\n";
    }
    if (changed_.size() < table_.rows.size()) {
      out_ += "... " + Functions(table_.rows.size() - changed_.size()) + " did not change\n";
    }
  }

  const DiffTable& table_;
  const TopRenderOptions& options_;
  const std::span<const DiffRow> changed_;
  const std::span<const DiffRow> shown_;
  const ValueFormat format_;
  std::string out_;
};

void WriteFigure(std::string_view key, const DiffFigure& figure, base::JsonWriter& json) {
  json.Key(key).BeginObject();
  json.Key("before").Int(figure.before).Key("after").Int(figure.after);
  json.Key("difference").Int(figure.difference());
  json.Key("within_noise").Bool(figure.within_noise).EndObject();
}

void WriteRow(const DiffRow& row, base::JsonWriter& json) {
  json.BeginObject().Key("name");
  if (row.name.empty()) {
    json.Null().Key("unnamed_addresses").Uint(row.unnamed_address_count);
  } else {
    json.String(row.name);
  }
  json.Key("binary").String(row.image).Key("file").String(row.file);
  json.Key("change").String(row.is_new() ? "new" : row.is_gone() ? "gone" : "both");
  WriteFigure("self", row.self, json);
  WriteFigure("total", row.total, json);
  json.EndObject();
}

}  // namespace

std::string RenderDiffText(const DiffTable& table, const TopRenderOptions& options) {
  return Text(table, options).Run();
}

std::string RenderDiffJson(const DiffTable& table, const TopRenderOptions& options) {
  base::JsonWriter json;
  json.BeginObject();
  json.Key("sample_type").BeginObject();
  json.Key("type").String(table.type).Key("unit").String(table.unit).EndObject();
  constexpr std::array<std::string_view, 2> kSides = {"before", "after"};
  for (size_t side = 0; side < 2; ++side) {
    json.Key(kSides[side]).BeginObject().Key("name").String(table.sides[side].name);
    json.Key("sum").Int(side == 0 ? table.sum.before : table.sum.after);
    json.Key("samples").Int(table.sample_counts[side]);
    json.Key("duration_ns").Int(table.sides[side].duration_ns);
    json.Key("time_unix_ns").Int(table.sides[side].time_unix_ns).EndObject();
  }
  json.Key("difference").Int(table.sum.difference());
  json.Key("within_noise").Bool(table.sum.within_noise);
  json.Key("normalized").Bool(table.normalized).Key("after_scale").Double(table.after_scale);
  json.Key("noise_known").Bool(table.noise_known);
  json.Key("notes").BeginArray();
  for (const std::string& note : options.notes) json.String(note);
  json.EndArray().Key("function_count").Uint(table.rows.size());
  json.Key("functions").BeginArray();
  for (const DiffRow& row : FirstRows(table.rows, options)) WriteRow(row, json);
  json.EndArray().EndObject();
  return json.Take() + '\n';
}

}  // namespace vesta::flame
