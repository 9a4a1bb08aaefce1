#include "src/flame/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

#include "src/base/printable.h"
#include "src/base/utf8.h"
#include "src/flame/diff_table.h"
#include "src/flame/svg_layout.h"
#include "src/flame/table_text.h"
#include "src/flame/top_render.h"
#include "src/flame/units.h"

namespace vesta::flame {
namespace {

constexpr double kRowPx = 17;
constexpr double kFontPx = 11;
constexpr double kCharacterPx = 6.7;  // of the monospaced font; wide enough for its kin
constexpr double kMarginPx = 10;
constexpr size_t kLabelColumnsMin = 6;  // a name that is cut to less tells nothing
constexpr size_t kLegendMax = 12;

// Text of XML: what may not stand there, escaped or not, becomes '?'.
std::string Escape(std::string_view text) {
  std::string out = base::EscapeMarkup(base::Printable(base::ToUtf8(text)));
  // U+FFFE and U+FFFF are no characters of XML.
  for (const std::string_view bad : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (size_t at = out.find(bad); at != std::string::npos; at = out.find(bad, at))
      out.replace(at, bad.size(), "?");
  }
  return out;
}

std::string Print(const char* format, double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string Px(double value) { return Print("%.2f", value); }

// FNV-1a, so that a binary has the same colour in every picture.
uint32_t HashOf(std::string_view text) {
  uint32_t hash = 0x811c9dc5;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  return hash ^ hash >> 15;
}

std::string Hsl(double hue, double saturation, double lightness) {
  return "hsl(" + Print("%.0f", hue) + ',' + Print("%.0f", saturation) + "%," +
         Print("%.0f", lightness) + "%)";
}

std::string_view ShortName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Blue for less, orange for more, which the colour-blind tell apart; grey within noise.
std::string ChangeColour(const DiffFigure& figure) {
  const auto before = static_cast<double>(figure.before);
  const auto after = static_cast<double>(figure.after);
  const double most = std::max(before, after);
  const double change = most > 0 ? (after - before) / most : 0;
  if (figure.within_noise || std::abs(change) < 0.01) return "#dddddd";
  // The root of the share lets a change of a tenth be seen beside one of the whole.
  const double strength = std::sqrt(std::abs(change));
  return change < 0 ? Hsl(212, 75, 88 - 30 * strength) : Hsl(30, 90, 88 - 30 * strength);
}

class Picture {
 public:
  Picture(const StackTree& tree, size_t value_type, const SvgOptions& options)
      : tree_(tree), type_(tree.value_types[value_type]), options_(options) {
    for (size_t side = 0; side < tree.sides.size(); ++side) {
      columns_.push_back(tree.column(value_type, side));
      totals_.push_back(NodeTotals(tree, columns_.back()));
    }
    noise_.before_per_sample = type_.per_sample[0];
    noise_.after_per_sample = type_.per_sample.back();
    const auto before = static_cast<double>(totals_[0][0]);
    const auto after = static_cast<double>(totals_.back()[0]);
    if (options.normalize && before > 0 && after > 0) noise_.after_scale = before / after;
  }

  std::string Run() {
    Place();
    for (const SvgBox& box : boxes_) rows_ = std::max<size_t>(rows_, box.row + 1);
    AddHead();
    for (const SvgBox& box : boxes_) AddBox(box);
    AddRestLine();
    if (is_two_sided()) {
      AddScale();
    } else {
      AddLegend();
    }
    for (const std::string& note : options_.notes) AddLine(note);
    // The height is known only now.
    const std::string height = Px(y_ + kMarginPx);
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
           "width=\"" +
           Px(full_width()) + "\" height=\"" + height + "\" viewBox=\"0 0 " + Px(full_width()) +
           ' ' + height + "\" font-family=\"monospace\" font-size=\"" + Px(kFontPx) + "\">\n" +
           out_ + "</svg>\n";
  }

 private:
  bool is_two_sided() const { return totals_.size() == 2; }
  double full_width() const { return options_.width_px + 2 * kMarginPx; }

  void Place() {
    for (double narrowest = std::max(options_.narrowest_px, 0.01);; narrowest *= 2) {
      boxes_ = LayOut(tree_, totals_, options_.width_px, narrowest, options_.rows_max);
      if (boxes_.size() <= std::max<size_t>(options_.boxes_max, 2)) break;
      if (narrowest > options_.width_px) break;
    }
  }

  std::string Value(int64_t value, int64_t whole) const {
    return SumText(value, type_.unit) + " (" + PercentText(value, whole) + ')';
  }

  // Per side, e.g. "before 1.23s (12.30%), after 2.00s (20.00%)".
  template <typename ValueOf>
  std::string Values(const ValueOf& value_of) const {
    if (!is_two_sided()) return Value(value_of(0), totals_[0][0]);
    return "before " + Value(value_of(0), totals_[0][0]) + ", after " +
           Value(value_of(1), totals_[1][0]);
  }

  void AddHead() {
    y_ = kMarginPx;
    out_ += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    std::string title = options_.title;
    if (!title.empty()) title += ": ";
    title += (type_.type.empty() ? "values" : type_.type) + ", ";
    title += is_two_sided() ? SumText(totals_[0][0], type_.unit) + " before, " +
                                  SumText(totals_[1][0], type_.unit) + " after"
                            : SumText(totals_[0][0], type_.unit);
    AddLine(title);
    if (is_two_sided()) {
      for (const TreeSide& side : tree_.sides) {
        if (!side.name.empty() && side.name != "before" && side.name != "after")
          AddLine((&side == &tree_.sides[0] ? "before: " : "after: ") + side.name);
      }
    }
    top_ = y_ + kMarginPx / 2;
    y_ = top_ + static_cast<double>(rows_) * kRowPx + kMarginPx / 2;
  }

  void AddLine(std::string_view text) {
    y_ += kRowPx;
    out_ += "<text x=\"" + Px(kMarginPx) + "\" y=\"" + Px(y_) + "\" fill=\"#222222\">" +
            Escape(text) + "</text>\n";
  }

  void AddBox(const SvgBox& box) {
    const size_t row = options_.root_below ? rows_ - 1 - box.row : box.row;
    const double y = top_ + static_cast<double>(row) * kRowPx;
    const bool is_rest = box.node == SvgBox::kRest;
    std::string label =
        is_rest ? std::to_string(box.rest_count) + " more" : tree_.name(tree_.function[box.node]);
    out_ += "<g><title>" + (is_rest ? RestTitle(box) : NodeTitle(box.node)) + "</title><rect x=\"" +
            Px(kMarginPx + box.x) + "\" y=\"" + Px(y) + "\" width=\"" + Px(box.width) +
            "\" height=\"" + Px(kRowPx - 1) + "\" fill=\"" +
            (is_rest ? std::string("#c8c8c8") : ColourOf(box.node)) +
            "\" stroke=\"#ffffff\" stroke-width=\"" + (box.width > 2 ? "0.5" : "0") + "\"/>";
    const auto columns = static_cast<size_t>(std::max(0.0, (box.width - 4) / kCharacterPx));
    if (columns >= std::min(kLabelColumnsMin, CountCharacters(label))) {
      label = ShortenMiddle(base::Printable(label), columns);
      out_ += "<text x=\"" + Px(kMarginPx + box.x + 3) + "\" y=\"" + Px(y + 12) +
              "\" fill=\"#111111\">" + Escape(label) + "</text>";
    }
    out_ += "</g>\n";
  }

  std::string NodeTitle(uint32_t node) const {
    const TreeFunction& function = tree_.functions[tree_.function[node]];
    std::string text = tree_.strings[function.name];
    text += BinaryText(ShortName(tree_.strings[function.image]), "");
    if (function.file != 0) {
      text += ", " + tree_.strings[function.file];
      if (function.start_line != 0) text += ':' + std::to_string(function.start_line);
    }
    text = Escape(text);
    text += "\n" + Escape(Values([&](size_t side) { return totals_[side][node]; }));
    text +=
        "\nself: " + Escape(Values([&](size_t side) { return tree_.self[columns_[side]][node]; }));
    return text;
  }

  std::string RestTitle(const SvgBox& box) const {
    return std::to_string(box.rest_count) + (box.rest_count == 1 ? " call" : " calls") +
           " too small to show\n" + Escape(Values([&](size_t side) { return box.rest[side]; }));
  }

  std::string ColourOf(uint32_t node) const {
    if (is_two_sided()) return ChangeColour(noise_.Figure(totals_[0][node], totals_[1][node]));
    const TreeFunction& function = tree_.functions[tree_.function[node]];
    if (node == 0 || function.kind == FunctionKind::kProcess) return "#dddddd";
    // Neighbours of one binary can be told apart.
    const double shade = HashOf(tree_.strings[function.name]) % 4 * 2.0;
    return BinaryColour(tree_.strings[function.image], shade);
  }

  static std::string BinaryColour(std::string_view path, double shade) {
    if (path.empty()) return Hsl(48, 30, 80 - shade);
    return Hsl(HashOf(ShortName(path)) % 360, 62, 80 - shade);
  }

  // What the picture has no boxes for.
  void AddRestLine() {
    std::vector<int64_t> sums(totals_.size());
    uint64_t count = 0;
    for (const SvgBox& box : boxes_) {
      if (box.node != SvgBox::kRest) continue;
      count += box.rest_count;
      for (size_t side = 0; side < sums.size(); ++side)
        sums[side] = profile::AddSaturating(sums[side], box.rest[side]);
    }
    if (count == 0) return;
    AddLine(std::to_string(count) + (count == 1 ? " call" : " calls") +
            " too small to show (grey): " + Values([&](size_t side) { return sums[side]; }));
  }

  void AddSwatches(const std::vector<std::pair<std::string, std::string>>& colours_and_texts) {
    y_ += kRowPx;
    double x = kMarginPx;
    for (const auto& [colour, text] : colours_and_texts) {
      const std::string label = ShortenMiddle(base::Printable(text), 40);
      const double width = 18 + kCharacterPx * static_cast<double>(CountCharacters(label)) + 12;
      if (x > kMarginPx && x + width > full_width()) {
        x = kMarginPx;
        y_ += kRowPx;
      }
      out_ += "<rect x=\"" + Px(x) + "\" y=\"" + Px(y_ - 10) +
              "\" width=\"12\" height=\"12\" fill=\"" + colour + "\"/><text x=\"" + Px(x + 18) +
              "\" y=\"" + Px(y_) + "\" fill=\"#222222\">" + Escape(label) + "</text>\n";
      x += width;
    }
  }

  // The binaries that most self value went to.
  void AddLegend() {
    std::map<std::string_view, int64_t> sums;  // by path
    for (size_t node = 1; node < tree_.node_count(); ++node) {
      const int64_t self = tree_.self[columns_[0]][node];
      if (self == 0) continue;
      int64_t& sum = sums[tree_.image(tree_.function[node])];
      sum = profile::AddSaturating(sum, self);
    }
    std::vector<std::pair<std::string_view, int64_t>> order(sums.begin(), sums.end());
    std::ranges::stable_sort(order,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::pair<std::string, std::string>> entries;
    for (const auto& [path, self] : order) {
      if (entries.size() == kLegendMax) {
        const size_t count = order.size() - kLegendMax;
        entries.emplace_back("#ffffff", "and " + std::to_string(count) + " more");
        break;
      }
      const std::string name(path.empty() ? "no binary" : ShortName(path));
      entries.emplace_back(BinaryColour(path, 2), name + ' ' + PercentText(self, totals_[0][0]));
    }
    AddSwatches(entries);
  }

  void AddScale() {
    AddSwatches({{ChangeColour({100, 0, false}), "gone"},
                 {ChangeColour({100, 50, false}), "half"},
                 {ChangeColour({100, 100, false}), noise_.known() ? "within noise" : "the same"},
                 {ChangeColour({50, 100, false}), "twice"},
                 {ChangeColour({0, 100, false}), "new"}});
    if (noise_.after_scale != 1) AddLine("colours compare shares of each side's sum");
  }

  const StackTree& tree_;
  const TreeValueType& type_;
  const SvgOptions& options_;
  std::vector<size_t> columns_;  // by side
  std::vector<std::vector<int64_t>> totals_;
  NoiseRule noise_;
  std::vector<SvgBox> boxes_;
  size_t rows_ = 0;
  double top_ = 0;  // px, of the uppermost row
  double y_ = 0;    // px, the lowest line so far
  std::string out_;
};

}  // namespace

std::string RenderSvg(const StackTree& tree, size_t value_type, const SvgOptions& options) {
  CHECK(value_type < tree.value_types.size());
  return Picture(tree, value_type, options).Run();
}

}  // namespace vesta::flame
