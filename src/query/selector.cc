#include "src/query/selector.h"

#include <algorithm>
#include <utility>

#include "src/base/utf8.h"
#include "src/query/matcher.h"
#include "src/store/label_alias.h"

namespace vesta::query {
namespace {

constexpr size_t kTextBytesMax = 64 << 10;
constexpr size_t kMatchersMax = 100;
constexpr std::string_view kTaskLabels[] = {"pid", "thread", "tid"};

bool IsBareCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '/';
}

bool IsBare(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsBareCharacter);
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string BareOrQuoted(std::string_view text) {
  return IsBare(text) ? std::string(text) : Quoted(text);
}

std::string_view OperatorText(MatchKind kind) {
  switch (kind) {
    case MatchKind::kEqual:
      return "=";
    case MatchKind::kNotEqual:
      return "!=";
    case MatchKind::kMatches:
      return "=~";
    case MatchKind::kMatchesNot:
      return "!~";
  }
  return {};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  base::Result<Selector> Run() {
    if (text_.size() > kTextBytesMax) return Error("a selector has at most 64 KiB");
    if (!base::IsUtf8(text_)) return Error("a selector is UTF-8");
    SkipSpace();
    if (AtName()) {
      ASSIGN_OR_RETURN(selector_.type, Name("the name of a type"));
      if (Take(':')) {
        ASSIGN_OR_RETURN(selector_.unit, Name("the unit behind ':'"));
      }
    }
    SkipSpace();
    if (Take('{')) RETURN_IF_ERROR(Matchers());
    SkipSpace();
    if (Take('@')) RETURN_IF_ERROR(Range());
    SkipSpace();
    if (At('=') || At('!')) return Error("labels stand in braces, as in {service=\"shop\"}");
    if (at_ != text_.size())
      return Error(selector_.range ? "expected the end" : "expected " + What());
    return std::move(selector_);
  }

 private:
  std::string What() const {
    if (at_ == 0) return "the name of a type, '{' or '@'";
    const bool in_braces = text_.find('{') < at_;
    return in_braces ? "'@' or the end" : "'{', '@' or the end";
  }

  base::Error Error(const std::string& what) const {
    return base::Error(base::ErrorCode::kInvalidInput,
                       "position " + std::to_string(at_ + 1) + ": " + what);
  }

  void SkipSpace() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool At(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool Take(char c) {
    if (!At(c)) return false;
    ++at_;
    return true;
  }
  bool AtQuote() const { return At('"') || At('`'); }
  bool AtName() const { return AtQuote() || (at_ < text_.size() && IsBareCharacter(text_[at_])); }

  base::Result<std::string> Name(const std::string& what) {
    if (AtQuote()) {
      const size_t start = at_;
      ASSIGN_OR_RETURN(std::string name, Value());
      if (!name.empty()) return name;
      at_ = start;
      return Error("expected " + what + ", which is not empty");
    }
    const size_t start = at_;
    while (at_ < text_.size() && IsBareCharacter(text_[at_])) ++at_;
    if (at_ == start) return Error("expected " + what);
    return std::string(text_.substr(start, at_ - start));
  }

  // "..." or `...`
  base::Result<std::string> Value() {
    const size_t start = at_;
    if (!AtQuote()) {
      return Error(
          "expected a value in quotes; a shell takes them away unless the whole stands in "
          "single quotes");
    }
    const char quote = text_[at_++];
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (quote == '"' && c == '\\') {
        if (at_ == text_.size()) break;
        const std::string_view from = "\\\"nrt", to = "\\\"\n\r\t";
        const size_t escape = from.find(text_[at_]);
        if (escape == std::string_view::npos)
          return Error("expected \\\\, \\\", \\n, \\r or \\t; a pattern's \\d is written \\\\d");
        c = to[escape];
        ++at_;
      }
      value += c;
    }
    if (!Take(quote)) {
      at_ = start;
      return Error("expected the quote that ends what begins here");
    }
    return value;
  }

  base::Result<MatchKind> Operator() {
    const std::string_view rest = text_.substr(at_);
    for (const MatchKind kind :
         {MatchKind::kMatches, MatchKind::kMatchesNot, MatchKind::kNotEqual, MatchKind::kEqual}) {
      const std::string_view text = OperatorText(kind);
      if (!rest.starts_with(text)) continue;
      at_ += text.size();
      return kind;
    }
    return Error("expected =, !=, =~ or !~");
  }

  base::Result<void> Matchers() {
    SkipSpace();
    if (Take('}')) return {};
    while (true) {
      SkipSpace();
      ASSIGN_OR_RETURN(const std::string name, Name("the name of a label"));
      SkipSpace();
      ASSIGN_OR_RETURN(const MatchKind kind, Operator());
      SkipSpace();
      const size_t start = at_;
      ASSIGN_OR_RETURN(std::string value, Value());
      if (kind == MatchKind::kMatches || kind == MatchKind::kMatchesNot) {
        const auto pattern = Pattern::Compile(value);
        if (!pattern.ok()) {
          at_ = start;
          return Error(pattern.error().message());
        }
      }
      if (selector_.matchers.size() == kMatchersMax) return Error("expected at most 100 matchers");
      selector_.matchers.push_back({StoredLabelName(name), kind, std::move(value)});
      SkipSpace();
      if (Take('}')) return {};
      if (!Take(',')) return Error("expected ',' or '}'");
      SkipSpace();
      if (Take('}')) return {};
    }
  }

  base::Result<void> Range() {
    const std::string_view rest = text_.substr(at_);
    const size_t dots = rest.find("..");
    const auto trimmed = [](std::string_view text) {
      while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
      while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
      return text;
    };
    TimePointRange range;
    for (const bool is_from : {true, false}) {
      if (!is_from && dots == std::string_view::npos) break;
      const auto time = ParseTime(trimmed(is_from ? rest.substr(0, dots) : rest.substr(dots + 2)));
      if (!time.ok()) {
        if (!is_from) at_ += dots + 2;
        return Error(time.error().message());
      }
      (is_from ? range.from : range.to) = *time;
    }
    at_ = text_.size();
    selector_.range = range;
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  Selector selector_;
};

}  // namespace

std::string StoredLabelName(std::string_view name) {
  return std::string(store::ResolveLabelAlias(name));
}

bool IsTaskLabel(std::string_view stored_name) {
  return std::ranges::find(kTaskLabels, stored_name) != std::end(kTaskLabels);
}

base::Result<Selector> ParseSelector(std::string_view text) { return Parser(text).Run(); }

std::string SelectorText(const Selector& selector) {
  std::string text;
  if (!selector.type.empty()) text = BareOrQuoted(selector.type);
  if (!selector.unit.empty()) text += ':' + BareOrQuoted(selector.unit);
  if (!selector.matchers.empty() || text.empty()) {
    text += '{';
    for (const Matcher& matcher : selector.matchers) {
      if (text.back() != '{') text += ',';
      text += BareOrQuoted(matcher.name) + std::string(OperatorText(matcher.kind)) +
              Quoted(matcher.value);
    }
    text += '}';
  }
  if (selector.range)
    text += '@' + TimePointText(selector.range->from) + ".." + TimePointText(selector.range->to);
  return text;
}

}  // namespace vesta::query
