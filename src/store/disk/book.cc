#include "src/store/disk/book.h"

#include <array>
#include <string>
#include <string_view>

namespace vesta::store {

namespace {

struct Field {
  std::string_view name;
  uint64_t AppendOutcome::* member;
};
constexpr std::array<Field, 6> kOutcomeFields = {{
    {"rows_received", &AppendOutcome::rows_received},
    {"rows_kept", &AppendOutcome::rows_kept},
    {"rows_overflowed", &AppendOutcome::rows_overflowed},
    {"rows_duplicate", &AppendOutcome::rows_duplicate},
    {"rows_too_old", &AppendOutcome::rows_too_old},
    {"rows_too_new", &AppendOutcome::rows_too_new},
}};

base::Result<uint64_t> NumberOf(const base::JsonValue& value, std::string_view name) {
  const base::JsonValue* member = value.Find(name);
  const auto number = member == nullptr ? std::nullopt : member->AsUint();
  if (!number) return base::Error(base::ErrorCode::kCorrupt, "book: no " + std::string(name));
  return *number;
}

}  // namespace

void Book::Add(const AppendOutcome& more) {
  for (const Field& field : kOutcomeFields) outcome.*field.member += more.*field.member;
}

void Book::Add(const Book& more) {
  Add(more.outcome);
  rows_expired += more.rows_expired;
  rows_quarantined += more.rows_quarantined;
}

void Book::WriteJson(base::JsonWriter& json) const {
  json.BeginObject();
  for (const Field& field : kOutcomeFields) json.Key(field.name).Uint(outcome.*field.member);
  json.Key("rows_expired").Uint(rows_expired);
  json.Key("rows_quarantined").Uint(rows_quarantined);
  json.EndObject();
}

base::Result<Book> Book::FromJson(const base::JsonValue& value) {
  Book book;
  for (const Field& field : kOutcomeFields) {
    ASSIGN_OR_RETURN(book.outcome.*field.member, NumberOf(value, field.name));
  }
  ASSIGN_OR_RETURN(book.rows_expired, NumberOf(value, "rows_expired"));
  ASSIGN_OR_RETURN(book.rows_quarantined, NumberOf(value, "rows_quarantined"));
  return book;
}

base::Result<Book> Book::Decode(std::string_view json) {
  ASSIGN_OR_RETURN(const base::JsonValue value, base::ParseJson(json));
  return FromJson(value);
}

}  // namespace vesta::store
