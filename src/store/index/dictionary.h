// What the numbers of an open volume stand for: it grows with every batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/store/batch.h"
#include "src/store/index/chunked.h"
#include "src/store/index/dictionary_rows.h"
#include "src/store/index/node_source.h"
#include "src/store/store.h"

namespace vesta::store::index {

// Shape: ids of each table are dense, in order of first sight. String 0 is ""; image 0 is none;
//        node 0 is the root, a sample without frames; frames, functions and all else count from 0.
//        A frame has a callable for each of its lines, or one when it has no lines.
// Owner: one thread interns or applies deltas. Any number of others may call the const functions
//        at the same time, without a lock, with ids that they were given after they were made.
//        EncodeDelta is for the thread that interns.
// Cost:  a node is 8 bytes and 5 to 11 in its index, a frame 24 and 28 a line, a string its bytes
//        and 16 + 11. Nothing moves when it grows. Indexes are made by the first Intern.
class Dictionary final : public Names, public Callables, public NodeSource {
 public:
  Dictionary();
  ~Dictionary() override;
  Dictionary(Dictionary&&) noexcept;
  Dictionary& operator=(Dictionary&&) noexcept;

  // Each gives the id that equal content has already, or the next one.
  // Shape: ids inside of rows must exist (CHECK).
  uint32_t InternString(std::string_view text);
  uint32_t InternImage(const ImageRow& image);
  uint32_t InternFunction(const FunctionRow& function);
  uint32_t InternFrame(uint32_t image, uint64_t address, bool is_folded,
                       std::span<const FrameLine> lines);
  uint32_t InternNode(uint32_t parent, uint32_t frame);
  uint32_t InternSeries(const Labels& labels);
  uint32_t InternType(const ProfileType& type);
  uint32_t InternTask(const Task& task);

  // Adds a frame as the next one even when there is an equal one: for tables that were written so.
  void AddFrame(uint32_t image, uint64_t address, bool is_folded, std::span<const FrameLine> lines);

  // Errors of all: Corrupt when there is no such id.
  base::Result<FrameView> frame(uint32_t id) const override;
  base::Result<FunctionView> function(uint32_t id) const override;
  base::Result<ImageView> image(uint32_t id) const override;
  base::Result<CallableView> callable(uint32_t id) const override;
  base::Result<uint64_t> callable_hash(uint32_t id) const override;
  base::Result<std::span<const uint32_t>> frame_callables(uint32_t frame) const override;
  uint32_t node_count() const override { return nodes_.size(); }
  uint32_t callable_count() const override { return callables_.size(); }
  base::Result<NodePage> node_page(uint32_t page) const override;
  // Shape: ids below the counts of marks(), which the caller must respect (CHECK).
  Labels series(uint32_t id) const;
  ProfileType type(uint32_t id) const;
  Task task(uint32_t id) const;

  std::string_view string(uint32_t id) const;
  const ImageRow& image_row(uint32_t id) const { return images_[id]; }
  const FunctionRow& function_row(uint32_t id) const { return functions_[id]; }
  const CallableRow& callable_row(uint32_t id) const { return callables_[id]; }
  const FrameRow& frame_row(uint32_t id) const { return frames_[id]; }
  const TrieNode& node(uint32_t id) const { return nodes_[id]; }

  DictionaryMarks marks() const;
  size_t memory_bytes() const;
  // What finding equal content takes goes, a third of the memory; the next Intern makes it again.
  // Owner: for the thread that interns.
  void DropIndexes();

  // The rows [first, first + count) of a table, added to the (empty) table of `rows`.
  void CopyRows(Table table, uint32_t first, uint32_t count, DictionaryRows* rows) const;
  // Rows that come behind those that are there.
  // Errors: Corrupt, naming the table and the row, for an id that does not exist. Nothing has
  //         changed then.
  base::Result<void> Append(const DictionaryRows& rows);

  // All rows from `since` on, so that a dictionary that has just those before can catch up.
  // Cost: proportional to what is new; empty when nothing is.
  std::vector<uint8_t> EncodeDelta(const DictionaryMarks& since) const {
    return EncodeDelta(since, marks());
  }
  // Up to `until`, which is not beyond marks(); for any thread that has seen them.
  std::vector<uint8_t> EncodeDelta(const DictionaryMarks& since,
                                   const DictionaryMarks& until) const;
  // Errors: Corrupt, naming the table: a wrong checksum, a delta that does not begin where this
  //         dictionary ends, an id that does not exist. Nothing has changed then.
  base::Result<void> ApplyDelta(std::span<const uint8_t> delta);

 private:
  friend class BatchInterner;
  struct StringRef {
    const char* text;
    uint32_t bytes;
  };
  struct Indexes;

  Indexes& MakeIndexes();  // takes in all rows that are not in yet
  const char* KeepText(std::string_view text);
  uint32_t FindString(Indexes& indexes, uint64_t hash, std::string_view text);
  uint32_t FindFunction(Indexes& indexes, uint64_t hash, const FunctionRow& function);
  uint32_t FindFrame(Indexes& indexes, uint64_t hash, uint32_t image, uint64_t address,
                     bool is_folded, std::span<const FrameLine> lines);
  void AddFrameRow(Indexes& indexes, uint32_t image, uint64_t address, bool is_folded,
                   std::span<const FrameLine> lines);
  uint32_t FindNode(Indexes& indexes, uint64_t hash, TrieNode node);
  uint32_t FindCallable(Indexes& indexes, uint32_t image, const FrameLine* line);
  bool IsFrame(uint32_t id, uint32_t image, uint64_t address, bool is_folded,
               std::span<const FrameLine> lines) const;
  std::span<const FrameLine> lines_of(const FrameRow& row) const {
    return lines_.Run(row.first_line, row.line_count);
  }
  uint32_t series_begin(uint32_t id) const { return id == 0 ? 0 : series_ends_[id - 1]; }

  Chunked<StringRef, 256> strings_;
  std::vector<std::unique_ptr<char[]>> text_chunks_;
  char* text_next_ = nullptr;
  size_t text_room_ = 0;
  size_t text_bytes_ = 0;

  Chunked<ImageRow, 64> images_;
  Chunked<FunctionRow, 256> functions_;
  Chunked<CallableRow, 256> callables_;
  Chunked<FrameRow, 256> frames_;
  Chunked<FrameLine, 256> lines_;
  Chunked<uint32_t, 256> line_callables_;  // as lines_
  Chunked<TrieNode, kNodePageRows> nodes_;
  Chunked<LabelRow, 64> labels_;
  Chunked<uint32_t, 64> series_ends_;  // series i = labels_[ends[i - 1], ends[i])
  Chunked<TypeRow, 16> types_;
  Chunked<TaskRow, 64> tasks_;
  std::unique_ptr<Indexes> indexes_;
};

// Moves ids of one dictionary into another.
struct IdMaps {
  std::vector<uint32_t> frames, nodes, callables, series, types, tasks;
};
// Interns all that `from` has into `into`; new id = map[old id].
// Cost: as interning; for volumes that are merged.
IdMaps MergeDictionary(const Dictionary& from, Dictionary* into);

}  // namespace vesta::store::index
