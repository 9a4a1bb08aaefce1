#include "src/wire/jfr_chunk.h"

#include <cstring>
#include <limits>

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr char kMagic[] = {'F', 'L', 'R', '\0'};
constexpr size_t kHeaderBytes = 68;
constexpr unsigned kMajorVersion = 2;
constexpr unsigned kCompressedIntegers = 1;
constexpr uint64_t kMetadataEvent = 0;
constexpr uint64_t kCheckpointEvent = 1;
constexpr unsigned kObjectDepthMax = 16;

Error Corrupt(const std::string& what, uint64_t offset) {
  return Error(ErrorCode::kCorrupt, what + " at byte " + std::to_string(offset));
}

int64_t Clamped(uint64_t value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(value < kMax ? value : kMax);
}

}  // namespace

Result<JfrChunkHeader> ReadJfrChunkHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(kMagic) || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return Error(ErrorCode::kCorrupt, "it does not start with FLR");
  if (bytes.size() < kHeaderBytes) return Error(ErrorCode::kCorrupt, "its header is cut off");
  JfrReader reader(bytes);
  reader.Skip(sizeof(kMagic));
  const uint64_t version = reader.ReadBigEndian(2);
  if (version != kMajorVersion)
    return Error(ErrorCode::kUnsupported, "it is of version " + std::to_string(version) +
                                              "; vesta reads version 2, of Java 9 and later");
  reader.Skip(2);
  JfrChunkHeader header;
  header.size_bytes = reader.ReadBigEndian(8);
  reader.Skip(8);  // the last checkpoint
  header.metadata_offset = reader.ReadBigEndian(8);
  header.start_unix_ns = Clamped(reader.ReadBigEndian(8));
  header.duration_ns = Clamped(reader.ReadBigEndian(8));
  reader.Skip(8);  // ticks at the start
  header.ticks_per_second = reader.ReadBigEndian(8);
  reader.Skip(2);
  const uint64_t features = reader.ReadBigEndian(2);
  if (header.size_bytes == 0)
    return Error(ErrorCode::kUnavailable,
                 "its JVM is still writing it: `jcmd PID JFR.dump filename=FILE` makes a finished "
                 "copy");
  if ((features & kCompressedIntegers) == 0)
    return Error(ErrorCode::kUnsupported, "its integers are not compressed");
  if (header.size_bytes < kHeaderBytes || header.metadata_offset < kHeaderBytes ||
      header.ticks_per_second == 0)
    return Error(ErrorCode::kCorrupt, "its header has impossible sizes");
  if (header.size_bytes > bytes.size())
    return Error(ErrorCode::kCorrupt, "it should have " + std::to_string(header.size_bytes) +
                                          " bytes, " + std::to_string(bytes.size()) +
                                          " are there: the file is cut off");
  return header;
}

Result<JfrChunk> JfrChunk::Read(std::span<const std::byte> chunk, const JfrChunkHeader& header) {
  JfrChunk result;
  // Far more than a file can need that spends a byte on each value.
  result.values_left_ = uint64_t{16} * chunk.size();
  ASSIGN_OR_RETURN(result.types_, ReadJfrTypes(chunk, header.metadata_offset));
  for (size_t i = 0; i < result.types_.size(); ++i)
    result.type_of_id_.emplace(result.types_[i].id, static_cast<uint32_t>(i));
  RETURN_IF_ERROR(result.IndexEvents(chunk));
  return result;
}

Result<void> JfrChunk::IndexEvents(std::span<const std::byte> chunk) {
  std::vector<bool> is_wanted;
  for (const JfrType& type : types_) {
    bool wanted = type.name == "jdk.ActiveSetting";
    for (const JfrField& field : type.fields) wanted |= field.role == JfrRole::kStackTrace;
    is_wanted.push_back(wanted);
  }
  size_t offset = kHeaderBytes;
  while (offset < chunk.size()) {
    JfrReader reader(chunk.subspan(offset));
    const uint64_t size_bytes = reader.ReadCompressed();
    const uint64_t type_id = reader.ReadCompressed();
    if (!reader.ok() || size_bytes < reader.position() || size_bytes > chunk.size() - offset)
      return Corrupt("an event of an impossible size", offset);
    const auto event = chunk.subspan(offset, size_bytes);
    if (type_id == kCheckpointEvent) {
      RETURN_IF_ERROR(ReadCheckpoint(event.subspan(reader.position()), offset));
    } else if (type_id != kMetadataEvent) {
      const auto type = type_of_id_.find(type_id);
      if (type == type_of_id_.end()) return Corrupt("an event of an unknown type", offset);
      if (is_wanted[type->second])
        events_.push_back({type->second, event.subspan(reader.position())});
    }
    offset += size_bytes;
  }
  return {};
}

Result<void> JfrChunk::ReadCheckpoint(std::span<const std::byte> event, size_t offset) {
  JfrReader reader(event);
  for (int i = 0; i < 3; ++i) reader.ReadCompressed();  // start, duration, way to the one before
  reader.Skip(1);                                       // kind of checkpoint
  for (size_t pools = reader.ReadCount(); pools > 0 && reader.ok(); --pools) {
    const auto found = type_of_id_.find(reader.ReadCompressed());
    if (found == type_of_id_.end()) return Corrupt("a checkpoint of an unknown type", offset);
    const JfrType& type = types_[found->second];
    for (size_t left = reader.ReadCount(); left > 0 && reader.ok(); --left) {
      const uint64_t key = reader.ReadCompressed();
      ReadConstant(reader, type, key);
    }
  }
  if (!reader.ok()) return Corrupt("a checkpoint that ends early", offset);
  return {};
}

void JfrChunk::ReadConstant(JfrReader& reader, const JfrType& type, uint64_t key) {
  // The one field of `role` of a constant that has only one of interest.
  const auto text = [&](JfrRole role) {
    JfrString string;
    for (const JfrField& field : type.fields) {
      if (field.role == role)
        string = ReadString(reader, field);
      else
        Skip(reader, field);
    }
    return string;
  };
  switch (type.pool) {
    case JfrPool::kNone:
      return SkipObject(reader, type, 0);
    case JfrPool::kString:
      constants_.strings[key] = reader.ReadString();
      return;
    case JfrPool::kSymbol:
      constants_.symbols[key] = text(JfrRole::kString);
      return;
    case JfrPool::kFrameType:
      constants_.frame_types[key] = text(JfrRole::kDescription);
      return;
    case JfrPool::kState:
      constants_.states[key] = text(JfrRole::kName);
      return;
    case JfrPool::kClass:
      for (const JfrField& field : type.fields) {
        if (field.role == JfrRole::kName)
          constants_.class_names[key] = static_cast<uint64_t>(ReadNumber(reader, field));
        else
          Skip(reader, field);
      }
      return;
    case JfrPool::kThread:
      return ReadThread(reader, type, key);
    case JfrPool::kMethod:
      return ReadMethod(reader, type, key);
    case JfrPool::kStackTrace:
      return ReadStackTrace(reader, type, key);
  }
}

void JfrChunk::ReadThread(JfrReader& reader, const JfrType& type, uint64_t key) {
  JfrThread thread;
  for (const JfrField& field : type.fields) {
    switch (field.role) {
      case JfrRole::kJavaName:
        thread.java_name = ReadString(reader, field);
        break;
      case JfrRole::kOsName:
        thread.os_name = ReadString(reader, field);
        break;
      case JfrRole::kOsThreadId:
        thread.tid = ReadNumber(reader, field);
        break;
      default:
        Skip(reader, field);
    }
  }
  constants_.threads[key] = std::move(thread);
}

void JfrChunk::ReadMethod(JfrReader& reader, const JfrType& type, uint64_t key) {
  JfrMethod method;
  for (const JfrField& field : type.fields) {
    switch (field.role) {
      case JfrRole::kType:
        method.type = static_cast<uint64_t>(ReadNumber(reader, field));
        break;
      case JfrRole::kName:
        method.name = static_cast<uint64_t>(ReadNumber(reader, field));
        break;
      case JfrRole::kDescriptor:
        method.descriptor = static_cast<uint64_t>(ReadNumber(reader, field));
        break;
      default:
        Skip(reader, field);
    }
  }
  constants_.methods[key] = method;
}

void JfrChunk::ReadStackTrace(JfrReader& reader, const JfrType& type, uint64_t key) {
  JfrStackTrace trace;
  trace.frames_begin = constants_.frames.size();
  for (const JfrField& field : type.fields) {
    if (field.role == JfrRole::kTruncated) {
      trace.is_truncated = ReadNumber(reader, field) != 0;
    } else if (field.role == JfrRole::kFrames && field.is_array && !field.is_reference) {
      for (size_t left = reader.ReadCount(); left > 0 && reader.ok(); --left)
        ReadFrame(reader, types_[field.type]);
    } else {
      Skip(reader, field);
    }
  }
  trace.frame_count = constants_.frames.size() - trace.frames_begin;
  constants_.stack_traces[key] = trace;
}

void JfrChunk::ReadFrame(JfrReader& reader, const JfrType& type) {
  if (values_left_ == 0) return reader.Fail();
  --values_left_;
  JfrFrame frame;
  for (const JfrField& field : type.fields) {
    switch (field.role) {
      case JfrRole::kMethod:
        frame.method = static_cast<uint64_t>(ReadNumber(reader, field));
        break;
      case JfrRole::kType:
        frame.type = static_cast<uint64_t>(ReadNumber(reader, field));
        break;
      case JfrRole::kLineNumber:
        frame.line = ReadNumber(reader, field);
        break;
      default:
        Skip(reader, field);
    }
  }
  constants_.frames.push_back(frame);
}

int64_t JfrChunk::ReadNumber(JfrReader& reader, const JfrField& field) {
  const JfrType& type = types_[field.type];
  if (!field.is_array && field.is_reference) return static_cast<int64_t>(reader.ReadCompressed());
  const bool is_byte = type.kind == JfrKind::kFixed && type.size_bytes == 1;
  if (field.is_array || (type.kind != JfrKind::kInteger && !is_byte)) {
    Skip(reader, field);
    return 0;
  }
  if (is_byte) return static_cast<int64_t>(reader.ReadBigEndian(1));
  const uint64_t value = reader.ReadCompressed();
  // Negative numbers are written as wide as they are in memory.
  if (type.size_bytes == 4) return static_cast<int32_t>(value);
  if (type.size_bytes == 2) return static_cast<int16_t>(value);
  return static_cast<int64_t>(value);
}

JfrString JfrChunk::ReadString(JfrReader& reader, const JfrField& field) {
  if (field.is_array || types_[field.type].kind != JfrKind::kString) {
    Skip(reader, field);
    return {};
  }
  if (!field.is_reference) return reader.ReadString();
  return {{}, reader.ReadCompressed(), true};
}

const std::string& JfrChunk::Text(const JfrString& string) const {
  static const std::string kNone;
  if (!string.is_reference) return string.text;
  const auto found = constants_.strings.find(string.key);
  return found == constants_.strings.end() ? kNone : found->second.text;
}

void JfrChunk::SkipObject(JfrReader& reader, const JfrType& type, unsigned depth) {
  if (values_left_ == 0 || depth > kObjectDepthMax) return reader.Fail();
  --values_left_;
  switch (type.kind) {
    case JfrKind::kInteger:
      reader.ReadCompressed();
      return;
    case JfrKind::kFixed:
      return reader.Skip(type.size_bytes);
    case JfrKind::kString:
      return reader.SkipString();
    case JfrKind::kObject:
      for (const JfrField& field : type.fields) {
        if (!reader.ok()) return;
        SkipField(reader, field, depth + 1);
      }
  }
}

void JfrChunk::SkipField(JfrReader& reader, const JfrField& field, unsigned depth) {
  for (size_t left = field.is_array ? reader.ReadCount() : 1; left > 0 && reader.ok(); --left) {
    if (field.is_reference)
      reader.ReadCompressed();
    else
      SkipObject(reader, types_[field.type], depth);
  }
}

}  // namespace vesta::wire
