#include "src/book/flow.h"

#include <algorithm>
#include <string_view>

namespace vesta::book {
namespace {

constexpr size_t kStepColumns = 18;

const Stage* FindStage(const Book& book, std::string_view name) {
  const auto found = std::ranges::find(book.stages, name, &Stage::name);
  return found == book.stages.end() ? nullptr : &*found;
}

uint64_t Detail(const Book& book, std::string_view name) {
  for (const auto& [key, value] : book.details) {
    if (key == name) return value;
  }
  return 0;
}

std::string CountNote(uint64_t count, const std::string& what) {
  return count == 0 ? "" : std::to_string(count) + " " + what;
}

uint64_t AccountedOf(const Stage& stage) {
  uint64_t sum = stage.kept;
  for (const Reasons* reasons : {&stage.excluded, &stage.dropped}) {
    for (const auto& [reason, count] : *reasons) sum += count;
  }
  return sum;
}

// What lies between a stage and the next one; nothing where the book does not have both.
std::vector<FlowLine> LinksOf(const Book& book, const Stage& stage) {
  std::vector<FlowLine> links;
  const auto link = [&](std::string_view from, std::string_view to, uint64_t on_the_way,
                        uint64_t found, const std::string& note) {
    const Stage* next = FindStage(book, to);
    if (stage.name != from || next == nullptr) return;
    links.push_back({std::string(from) + " > " + std::string(to), stage.kept + found,
                     next->received + on_the_way, note});
  };
  const uint64_t in_ring = Detail(book, "ring_waiting");
  const uint64_t in_queue = Detail(book, "queue_waiting");
  const uint64_t found = Detail(book, "spool_found");
  link("kernel", "agent", in_ring, 0, CountNote(in_ring, "in the ring"));
  link("agent", "queue", 0, 0, "");
  link("queue", "spool", in_queue, found,
       CountNote(in_queue, "in the queue") + (in_queue != 0 && found != 0 ? ", " : "") +
           CountNote(found, "found on disk at the start"));
  if (stage.name == "spool") {
    const uint64_t waiting = Detail(book, "spool_waiting");
    links.push_back({"spool > server", stage.kept, Detail(book, "spool_acknowledged") + waiting,
                     CountNote(waiting, "wait")});
  }
  return links;
}

}  // namespace

std::vector<FlowLine> FlowOfAgent(const Book& book) {
  std::vector<FlowLine> flow;
  for (const Stage& stage : book.stages) {
    flow.push_back({stage.name, stage.received, AccountedOf(stage)});
    for (FlowLine& link : LinksOf(book, stage)) flow.push_back(std::move(link));
  }
  return flow;
}

std::vector<FlowLine> FlowOfServer(const ServerCounts& counts) {
  std::vector<FlowLine> flow;
  if (counts.is_compared) {
    // A batch whose answer was lost is taken and still waits; sent again, it is a duplicate.
    const uint64_t least = counts.taken - std::min(counts.taken, counts.waiting);
    const uint64_t most = counts.taken + counts.taken_again;
    FlowLine line{"agent > server", counts.acknowledged,
                  std::clamp(counts.acknowledged, least, most)};
    line.note = "since both know each other";
    if (const std::string again = CountNote(counts.taken_again, "came twice"); !again.empty()) {
      line.note += ", " + again;
    }
    flow.push_back(line);
  }
  flow.push_back({"server", counts.received,
                  counts.kept + counts.duplicate + counts.empty + counts.dropped,
                  CountNote(counts.dropped, "dropped")});
  flow.push_back({"store", counts.store_received,
                  counts.store_kept + counts.store_duplicate + counts.store_dropped,
                  "of all senders"});
  flow.push_back({"store > files", counts.store_kept,
                  counts.store_rows + counts.store_expired + counts.store_quarantined,
                  CountNote(counts.store_expired, "expired")});
  return flow;
}

void WriteFlow(const std::vector<FlowLine>& flow, base::JsonWriter& writer) {
  writer.BeginArray();
  for (const FlowLine& line : flow) {
    writer.BeginObject().Key("step").String(line.step);
    writer.Key("came").Uint(line.came).Key("accounted").Uint(line.accounted);
    writer.Key("balances").Bool(line.Balances()).Key("note").String(line.note).EndObject();
  }
  writer.EndArray();
}

std::string FlowText(const std::vector<FlowLine>& flow) {
  std::string text;
  for (const FlowLine& line : flow) {
    std::string step = line.step;
    step.resize(std::max(step.size() + 1, kStepColumns), ' ');
    text += "  " + step + std::to_string(line.came);
    if (line.Balances()) {
      text += "  balances";
    } else {
      const bool is_less = line.accounted < line.came;
      text += "  DOES NOT BALANCE: " +
              std::to_string(is_less ? line.came - line.accounted : line.accounted - line.came) +
              (is_less ? " missing" : " too many") + ", please report this";
    }
    text += (line.note.empty() ? "" : " (" + line.note + ")") + "\n";
  }
  return text;
}

}  // namespace vesta::book
