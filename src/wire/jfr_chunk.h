// One chunk of a JFR file: where its events are, how its types are laid out, and the constants that
// events refer to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/result.h"
#include "src/wire/jfr_reader.h"

namespace vesta::wire {

// The fields that are read; all others are skipped.
enum class JfrRole : uint8_t {
  kOther,
  kAllocationSize,
  kDescription,
  kDescriptor,
  kDuration,
  kFrames,
  kId,
  kJavaName,
  kLineNumber,
  kMethod,
  kName,
  kOsName,
  kOsThreadId,
  kSamples,
  kStackTrace,
  kState,
  kString,
  kThread,  // eventThread or sampledThread
  kTimeSpan,
  kTlabSize,
  kTruncated,
  kType,
  kValue,
  kWeight,
};

// The constants that are kept, by the type that holds them.
enum class JfrPool : uint8_t {
  kNone,
  kClass,
  kFrameType,
  kMethod,
  kStackTrace,
  kState,
  kString,
  kSymbol,
  kThread,
};

enum class JfrKind : uint8_t { kObject, kInteger, kFixed, kString };

struct JfrField {
  uint32_t type = 0;  // index into the types of the chunk
  JfrRole role = JfrRole::kOther;
  bool is_reference = false;  // the value is a key of the constant pool of `type`
  bool is_array = false;
};

struct JfrType {
  uint64_t id = 0;
  std::string name;
  JfrPool pool = JfrPool::kNone;
  JfrKind kind = JfrKind::kObject;
  uint8_t size_bytes = 0;  // of kFixed; of kInteger: in memory
  std::vector<JfrField> fields;
};

struct JfrEvent {
  uint32_t type = 0;  // index into the types
  std::span<const std::byte> fields;
};

struct JfrChunkHeader {
  uint64_t size_bytes = 0;
  uint64_t metadata_offset = 0;
  int64_t start_unix_ns = 0;
  int64_t duration_ns = 0;
  uint64_t ticks_per_second = 1;
};

// A method, and what stands for it in a frame.
struct JfrMethod {
  uint64_t type = 0;  // key of java.lang.Class
  uint64_t name = 0;  // keys of jdk.types.Symbol
  uint64_t descriptor = 0;
};
struct JfrFrame {
  uint64_t method = 0;
  uint64_t type = 0;  // key of jdk.types.FrameType
  int64_t line = 0;
};
struct JfrStackTrace {
  size_t frames_begin = 0;  // into JfrConstants::frames
  size_t frame_count = 0;
  bool is_truncated = false;
};
struct JfrThread {
  JfrString java_name;
  JfrString os_name;
  int64_t tid = 0;
};

// Shape: by key, of all checkpoints of the chunk: an event may come before its constants.
struct JfrConstants {
  std::unordered_map<uint64_t, JfrString> strings;  // java.lang.String
  std::unordered_map<uint64_t, JfrString> symbols;
  std::unordered_map<uint64_t, uint64_t> class_names;  // key of a symbol
  std::unordered_map<uint64_t, JfrMethod> methods;
  std::unordered_map<uint64_t, JfrString> frame_types;
  std::unordered_map<uint64_t, JfrString> states;
  std::unordered_map<uint64_t, JfrThread> threads;
  std::unordered_map<uint64_t, JfrStackTrace> stack_traces;
  std::vector<JfrFrame> frames;
};

// The header at the start of `bytes`, which may hold more chunks behind it.
// Errors: Unavailable for a chunk that its JVM is still writing, Corrupt for one that is cut off,
//         Unsupported for another version.
base::Result<JfrChunkHeader> ReadJfrChunkHeader(std::span<const std::byte> bytes);

// The types of a chunk, from its metadata event.
// Errors: Corrupt, with the place.
base::Result<std::vector<JfrType>> ReadJfrTypes(std::span<const std::byte> chunk, uint64_t offset);

// Shape:  types and constants in the chunk's own numbers. Events but checkpoints and metadata, in
//         the order of the file; the spans point into the bytes given.
// Cost:   all constants of the kinds above are kept; events of a kind that the caller does not
//         ask for cost one look at their type.
// Errors: Corrupt, with the place, for what does not follow the format.
// Source: jdk.jfr.internal.consumer (ChunkHeader, ChunkParser, ParserFactory) of OpenJDK 17.
class JfrChunk {
 public:
  static base::Result<JfrChunk> Read(std::span<const std::byte> chunk,
                                     const JfrChunkHeader& header);

  std::span<const JfrType> types() const { return types_; }
  const JfrConstants& constants() const { return constants_; }
  // Events whose types have a stack trace or settings.
  std::span<const JfrEvent> events() const { return events_; }
  // Reads past one field, whatever it holds.
  void Skip(JfrReader& reader, const JfrField& field) { SkipField(reader, field, 0); }
  // A number or a key; 0 after skipping anything else.
  int64_t ReadNumber(JfrReader& reader, const JfrField& field);
  // Empty after skipping anything else.
  JfrString ReadString(JfrReader& reader, const JfrField& field);
  // "" for a reference to what is not there.
  const std::string& Text(const JfrString& string) const;

 private:
  base::Result<void> IndexEvents(std::span<const std::byte> chunk);
  base::Result<void> ReadCheckpoint(std::span<const std::byte> event, size_t offset);
  void ReadConstant(JfrReader& reader, const JfrType& type, uint64_t key);
  void ReadThread(JfrReader& reader, const JfrType& type, uint64_t key);
  void ReadMethod(JfrReader& reader, const JfrType& type, uint64_t key);
  void ReadStackTrace(JfrReader& reader, const JfrType& type, uint64_t key);
  void ReadFrame(JfrReader& reader, const JfrType& type);
  void SkipObject(JfrReader& reader, const JfrType& type, unsigned depth);
  void SkipField(JfrReader& reader, const JfrField& field, unsigned depth);

  std::vector<JfrType> types_;
  std::unordered_map<uint64_t, uint32_t> type_of_id_;
  JfrConstants constants_;
  std::vector<JfrEvent> events_;
  // Values that may still be read: values without bytes could be nested without end.
  uint64_t values_left_ = 0;
};

}  // namespace vesta::wire
