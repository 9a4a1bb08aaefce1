#include "src/server/senders.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace vesta::server {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr size_t kBodiesOfAgentMax = 2;  // the last one's answer may have been lost
constexpr int64_t kActiveMs = 600'000;
constexpr size_t kLayoutsMax = 1024;

void WriteRows(const SenderBook& rows, base::JsonWriter& json) {
  json.BeginObject();
  json.Key("batches").Uint(rows.batches);
  json.Key("received").Uint(rows.received);
  json.Key("kept").Uint(rows.kept);
  json.Key("overflowed").Uint(rows.overflowed);
  json.Key("duplicate").Uint(rows.duplicate);
  json.Key("empty").Uint(rows.empty);
  json.Key("rejected").Uint(rows.rejected);
  json.Key("too_old").Uint(rows.too_old);
  json.Key("too_new").Uint(rows.too_new);
  json.EndObject();
}

uint64_t DetailOf(const book::Book& book, std::string_view name) {
  for (const auto& [key, value] : book.details) {
    if (key == name) return value;
  }
  return 0;
}

void WriteDelivered(const Sender& sender, base::JsonWriter& json) {
  const SenderBook& first = sender.first.rows;
  const SenderBook& newest = sender.newest.rows;
  json.BeginObject();
  json.Key("acknowledged").Uint(sender.newest.acknowledged - sender.first.acknowledged);
  json.Key("taken").Uint(newest.kept + newest.empty - first.kept - first.empty);
  json.Key("taken_again").Uint(newest.duplicate - first.duplicate);
  json.Key("waiting").Uint(DetailOf(*sender.book, "spool_waiting"));
  json.EndObject();
}

}  // namespace

void SenderBook::Add(const SenderBook& other) {
  batches += other.batches;
  received += other.received;
  kept += other.kept;
  overflowed += other.overflowed;
  duplicate += other.duplicate;
  empty += other.empty;
  rejected += other.rejected;
  too_old += other.too_old;
  too_new += other.too_new;
}

SenderBook BookOf(const store::AppendOutcome& outcome, uint64_t empty, uint64_t rejected) {
  SenderBook book;
  book.batches = 1;
  book.received = outcome.rows_received + empty + rejected;
  book.kept = outcome.rows_kept;
  book.overflowed = outcome.rows_overflowed;
  book.duplicate = outcome.rows_duplicate;
  book.empty = empty;
  book.rejected = rejected;
  book.too_old = outcome.rows_too_old;
  book.too_new = outcome.rows_too_new;
  return book;
}

std::string BatchIdText(const store::BatchId& id) {
  return id.agent + "/" + id.boot + "/" + std::to_string(id.sequence);
}

Sender& Senders::SenderOf(const std::string& agent, int64_t now_unix_ms) {
  const auto known = senders_.find(agent);
  if (known != senders_.end()) return known->second;
  if (!agent.empty() && senders_.size() >= limits_.senders_max) {
    const auto silent = std::ranges::min_element(senders_, {}, [](const auto& sender) {
      return std::pair(sender.first.empty(), sender.second.last_seen_unix_ms);
    });
    const SenderBook rows = silent->second.rows;
    senders_.erase(silent);
    SenderOf("", now_unix_ms).rows.Add(rows);
  }
  Sender& added = senders_[agent];
  added.agent = agent;
  added.first_seen_unix_ms = now_unix_ms;
  return added;
}

void Senders::Note(const Received& received) {
  std::optional<book::Book> book;
  if (received.id && !received.facts.book.empty() &&
      received.facts.book.size() <= limits_.book_bytes_max) {
    // A book that is damaged is none: the batch counts all the same.
    if (auto parsed = book::BookFromJson(received.facts.book); parsed.ok()) {
      book = std::move(parsed).value();
    }
  }
  const std::lock_guard lock(mutex_);
  Sender& sender = SenderOf(received.id ? received.id->agent : "", received.now_unix_ms);
  sender.last_seen_unix_ms = std::max(sender.last_seen_unix_ms, received.now_unix_ms);
  const SenderBook rows_before = sender.rows;
  sender.rows.Add(received.rows);
  if (!received.id) return;
  // What comes out of a spool is older than what was said before, perhaps of an earlier life.
  const auto& clock = received.facts.clock;
  const int64_t said_unix_ns = clock ? clock->unix_ns : received.now_unix_ms * kNsPerMs;
  if (said_unix_ns < sender.said_unix_ns) return;
  sender.said_unix_ns = said_unix_ns;
  if (clock) sender.clock_ahead_ms = clock->unix_ns / kNsPerMs - received.now_unix_ms;
  sender.version = received.facts.scope_version;
  const bool is_new_life = sender.boot != received.id->boot;
  sender.boot = received.id->boot;
  if (!book) return;
  sender.newest = {DetailOf(*book, "spool_acknowledged"), rows_before};
  if (is_new_life || !sender.book) sender.first = sender.newest;
  sender.book = std::move(book);
}

std::vector<Sender> Senders::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<Sender> list;
  for (const auto& [agent, sender] : senders_) list.push_back(sender);
  return list;
}

std::shared_ptr<const std::string> Senders::BodyOf(const std::string& batch_id) {
  const std::lock_guard lock(mutex_);
  const auto found = body_of_.find(batch_id);
  if (found == body_of_.end()) return nullptr;
  bodies_.splice(bodies_.end(), bodies_, found->second);
  return found->second->plain;
}

void Senders::DropBody(std::list<Body>::iterator body) {
  bodies_bytes_ -= body->plain->size();
  body_of_.erase(body->batch_id);
  bodies_.erase(body);
}

size_t Senders::KeepBody(const store::BatchId& id, std::string plain, int64_t now_unix_ms) {
  const std::string batch_id = BatchIdText(id);
  const std::lock_guard lock(mutex_);
  const auto active = std::ranges::count_if(senders_, [&](const auto& sender) {
    return sender.second.last_seen_unix_ms >= now_unix_ms - kActiveMs;
  });
  const size_t bodies_max = kBodiesOfAgentMax * static_cast<size_t>(std::max<int64_t>(active, 1));
  const size_t bytes_max = std::min(limits_.body_bytes_max, limits_.bodies_bytes_max / bodies_max);
  // One that comes again may be written in another way.
  const auto known = body_of_.find(batch_id);
  if (known != body_of_.end()) DropBody(known->second);
  if (plain.size() > bytes_max) return bytes_max;
  const auto is_of_agent = [&](const Body& body) { return body.agent == id.agent; };
  if (static_cast<size_t>(std::ranges::count_if(bodies_, is_of_agent)) >= kBodiesOfAgentMax) {
    DropBody(std::ranges::find_if(bodies_, is_of_agent));
  }
  while (bodies_bytes_ + plain.size() > limits_.bodies_bytes_max) DropBody(bodies_.begin());
  bodies_bytes_ += plain.size();
  bodies_.push_back({id.agent, batch_id, std::make_shared<const std::string>(std::move(plain))});
  body_of_[batch_id] = std::prev(bodies_.end());
  return bytes_max;
}

std::optional<wire::OtlpLayout> Senders::LayoutOf(const std::string& peer) const {
  const std::lock_guard lock(mutex_);
  const auto found = layouts_.find(peer);
  if (found == layouts_.end()) return std::nullopt;
  return found->second;
}

void Senders::NoteLayout(const std::string& peer, wire::OtlpLayout layout) {
  const std::lock_guard lock(mutex_);
  if (layouts_.size() >= kLayoutsMax && layouts_.count(peer) == 0) layouts_.clear();
  layouts_[peer] = layout;
}

std::string SendersJson(const std::vector<Sender>& senders) {
  base::JsonWriter json;
  json.BeginObject().Key("agents").BeginArray();
  for (const Sender& sender : senders) {
    json.BeginObject();
    json.Key("agent").String(sender.agent);
    json.Key("boot").String(sender.boot);
    json.Key("version").String(sender.version);
    json.Key("first_seen_unix_ms").Int(sender.first_seen_unix_ms);
    json.Key("last_seen_unix_ms").Int(sender.last_seen_unix_ms);
    json.Key("clock_ahead_ms");
    if (sender.clock_ahead_ms) {
      json.Int(*sender.clock_ahead_ms);
    } else {
      json.Null();
    }
    json.Key("rows");
    WriteRows(sender.rows, json);
    json.Key("book");
    if (sender.book) {
      book::WriteBook(*sender.book, json);
      json.Key("delivered");
      WriteDelivered(sender, json);
    } else {
      json.Null().Key("delivered").Null();
    }
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

}  // namespace vesta::server
