#include "src/flame/top_render.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <span>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/flame/table_text.h"
#include "src/flame/units.h"

namespace vesta::flame {
namespace {

using base::Printable;

constexpr size_t kValueColumns = 10;
constexpr size_t kPercentColumns = 7;

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80; }

std::string Columns(const std::string& self, const std::string& self_percent,
                    const std::string& total, const std::string& total_percent) {
  return PadLeft(self, kValueColumns) + ' ' + PadLeft(self_percent, kPercentColumns) + ' ' +
         PadLeft(total, kValueColumns) + ' ' + PadLeft(total_percent, kPercentColumns) + "  ";
}

std::string Heading(const TopTable& table) {
  const bool is_samples = table.type == "samples" && table.unit == "count";
  std::string text = is_samples ? SamplesText(table.sum)
                                : (table.type.empty() ? "values" : Printable(table.type)) + ": " +
                                      SumText(table.sum, table.unit);
  if (table.duration_ns > 0) {
    text += " over " + ScaledText(table.duration_ns, "nanoseconds");
    const int64_t unit_ns = TimeUnitNs(table.unit);
    if (table.type == "cpu" && unit_ns != 0) {
      const double cpus = static_cast<double>(table.sum) * static_cast<double>(unit_ns) /
                          static_cast<double>(table.duration_ns);
      std::array<char, 40> buffer;
      std::snprintf(buffer.data(), buffer.size(), " (%.2f ", cpus);
      text += buffer.data();
      if (table.cpu_count != 0) text += "of " + std::to_string(table.cpu_count) + ' ';
      text += "CPUs)";
    }
  }
  if (!is_samples) text += ", " + SamplesText(table.sample_count);
  return text;
}

// One unit for all shown values: the rule is ValueFormat's, the values are those of the rows.
ValueFormat FormatFor(const TopTable& table, std::span<const TopRow> shown) {
  int64_t least = 0;
  for (const TopRow& row : shown) {
    const int64_t value = row.self != 0 ? row.self : row.total;
    const int64_t magnitude =
        value < 0 ? -std::max(value, -std::numeric_limits<int64_t>::max()) : value;
    if (magnitude != 0 && (least == 0 || magnitude < least)) least = magnitude;
  }
  return ValueFormat(table.unit, least == 0 ? table.sum : least, table.sum);
}

std::span<const TopRow> ShownRows(const TopTable& table, const TopRenderOptions& options) {
  const size_t count =
      options.rows_max == 0 ? table.rows.size() : std::min(options.rows_max, table.rows.size());
  return std::span(table.rows).first(count);
}

std::string RestLine(const TopTable& table, size_t shown, const ValueFormat& format) {
  int64_t self = 0;
  for (size_t i = shown; i < table.rows.size(); ++i)
    self = profile::AddSaturating(self, table.rows[i].self);
  const size_t count = table.rows.size() - shown;
  return "... " + std::to_string(count) + (count == 1 ? " more function: " : " more functions: ") +
         format.Text(self) + " (" + PercentText(self, table.sum) + ") self\n";
}

}  // namespace

std::string ShortenMiddle(std::string_view name, size_t columns) {
  const size_t characters = CountCharacters(name);
  if (characters <= columns) return std::string(name);
  if (columns <= 1) return columns == 0 ? "" : "…";
  // The end tells more than the start: namespaces and packages stand in front.
  const size_t tail = columns / 2;
  const size_t head = columns - 1 - tail;
  const auto position = [&](size_t character) {
    size_t at = 0;
    for (size_t seen = 0; at < name.size(); ++at) {
      if (StartsCharacter(name[at]) && seen++ == character) break;
    }
    return at;
  };
  return std::string(name.substr(0, position(head))) + "…" +
         std::string(name.substr(position(characters - tail)));
}

std::string RenderTopText(const TopTable& table, const TopRenderOptions& options) {
  const auto shown = ShownRows(table, options);
  const ValueFormat format = FormatFor(table, shown);
  std::string out = Heading(table) + '\n';
  for (const std::string& note : options.notes) out += Printable(note) + '\n';
  if (shown.empty()) return out;
  const std::string titles = Columns("self", "self%", "total", "total%");
  out += '\n' + titles + "function [binary]\n";
  for (const TopRow& row : shown) {
    const std::string binary = BinaryText(row.image, row.file);
    const std::string name =
        FitName(NameText(row.name, row.unnamed_address_count), options.width_columns,
                titles.size() + CountCharacters(binary));
    out += Columns(format.Text(row.self), PercentText(row.self, table.sum), format.Text(row.total),
                   PercentText(row.total, table.sum));
    out += name + binary + '\n';
  }
  if (shown.size() < table.rows.size()) out += RestLine(table, shown.size(), format);
  return out;
}

std::string RenderTopJson(const TopTable& table, const TopRenderOptions& options) {
  base::JsonWriter json;
  json.BeginObject();
  json.Key("sample_type").BeginObject();
  json.Key("type").String(table.type).Key("unit").String(table.unit).EndObject();
  json.Key("total").Int(table.sum).Key("samples").Int(table.sample_count);
  json.Key("duration_ns").Int(table.duration_ns).Key("time_unix_ns").Int(table.time_unix_ns);
  json.Key("cpu_count").Uint(table.cpu_count).Key("notes").BeginArray();
  for (const std::string& note : options.notes) json.String(note);
  json.EndArray();
  json.Key("function_count").Uint(table.rows.size());
  json.Key("functions").BeginArray();
  for (const TopRow& row : ShownRows(table, options)) {
    json.BeginObject().Key("name");
    if (row.name.empty()) {
      json.Null().Key("unnamed_addresses").Uint(row.unnamed_address_count);
    } else {
      json.String(row.name);
    }
    json.Key("binary").String(row.image).Key("file").String(row.file);
    json.Key("self").Int(row.self).Key("total").Int(row.total).EndObject();
  }
  json.EndArray().EndObject();
  return json.Take() + '\n';
}

}  // namespace vesta::flame
