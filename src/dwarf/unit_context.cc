#include "src/dwarf/unit_context.h"

#include <algorithm>

#include "src/dwarf/constants.h"

namespace vesta::dwarf {

namespace {

using base::Error;
using base::ErrorCode;

// A little-endian number of so many bytes; empty when it lies outside.
std::optional<uint64_t> NumberAt(Bytes section, uint64_t base, uint64_t index, size_t bytes) {
  if (base > section.size() || index >= (section.size() - base) / bytes) return std::nullopt;
  uint64_t value = 0;
  std::memcpy(&value, section.data() + base + index * bytes, bytes);
  return value;
}

bool IsSplit(const UnitHeader& header) {
  return header.unit_type == kUnitSplitCompile || header.unit_type == kUnitSplitType;
}

}  // namespace

bool IsTombstone(uint64_t address, uint8_t address_bytes) {
  const uint64_t last = address_bytes == 8 ? ~uint64_t{0} : 0xffffffffu;
  return address == 0 || address >= last - 1;
}

std::string_view StringAt(Bytes section, uint64_t offset) {
  if (offset >= section.size()) return {};
  const char* start = reinterpret_cast<const char*>(section.data()) + offset;
  const size_t room = std::min<size_t>(section.size() - offset, kNameBytesMax);
  const void* end = std::memchr(start, 0, room);
  return {start,
          end == nullptr ? room : static_cast<size_t>(static_cast<const char*>(end) - start)};
}

base::Result<void> ReadUnitHeader(Bytes info, uint64_t offset, UnitHeader& header) {
  header = {};
  header.offset = offset;
  base::ByteReader reader(info);
  reader.Seek(offset);
  uint64_t length = reader.Read<uint32_t>();
  header.sizes.offset = 4;
  if (length == 0xffffffff) {
    length = reader.Read<uint64_t>();
    header.sizes.offset = 8;
  } else if (length >= 0xfffffff0) {
    reader.Fail();
  }
  if (!reader.ok() || length > reader.remaining()) {
    return Error(ErrorCode::kCorrupt, "the length of a unit leads out of .debug_info");
  }
  header.end = reader.position() + length;
  base::ByteReader rest(info.first(header.end));
  rest.Seek(reader.position());
  const auto read_offset = [&]() -> uint64_t {
    return header.sizes.offset == 8 ? rest.Read<uint64_t>() : rest.Read<uint32_t>();
  };
  header.version = rest.Read<uint16_t>();
  if (header.version >= 5) {
    header.unit_type = rest.Read<uint8_t>();
    header.sizes.address = rest.Read<uint8_t>();
    header.abbrev_offset = read_offset();
    if (header.unit_type == kUnitSkeleton || header.unit_type == kUnitSplitCompile) {
      header.dwo_id = rest.Read<uint64_t>();
    } else if (header.unit_type == kUnitType || header.unit_type == kUnitSplitType) {
      rest.Skip(8);  // signature
      rest.Skip(header.sizes.offset);
    }
  } else {
    header.unit_type = kUnitCompile;
    header.abbrev_offset = read_offset();
    header.sizes.address = rest.Read<uint8_t>();
  }
  header.first_entry = rest.position();
  header.sizes.ref_addr = header.version == 2 ? header.sizes.address : header.sizes.offset;
  if (!rest.ok() || header.version < 2 || header.version > 5 || header.unit_type == 0 ||
      header.unit_type > kUnitSplitType ||
      (header.sizes.address != 4 && header.sizes.address != 8)) {
    return Error(ErrorCode::kUnsupported, "a unit's header is of no known kind");
  }
  return {};
}

base::Result<std::unique_ptr<UnitContext>> UnitContext::Open(const Sections& sections,
                                                             uint64_t offset,
                                                             AbbreviationCache& abbreviations) {
  std::unique_ptr<UnitContext> unit(new UnitContext());
  unit->sections_ = &sections;
  RETURN_IF_ERROR(ReadUnitHeader(sections.info, offset, unit->header_));
  ASSIGN_OR_RETURN(
      unit->abbreviations_,
      abbreviations.Get(sections.abbrev, unit->header_.abbrev_offset, unit->header_.sizes));
  RETURN_IF_ERROR(unit->ReadFirstEntry());
  return unit;
}

base::Result<void> UnitContext::ReadFirstEntry() {
  base::ByteReader reader = ReaderAt(header_.first_entry);
  const Abbreviation* abbreviation = abbreviations_->Find(reader.ReadUleb128());
  if (abbreviation == nullptr || abbreviation->kind != EntryKind::kUnit) {
    return Error(ErrorCode::kCorrupt, "a unit does not begin with the entry of one");
  }
  EntryValues values;
  abbreviations_->ReadEntry(reader, *abbreviation, values);
  if (!reader.ok()) return Error(ErrorCode::kCorrupt, "the first entry of a unit is damaged");
  tag_ = abbreviation->tag;
  has_children_ = abbreviation->has_children;
  children_ = reader.position();
  language_ = static_cast<uint16_t>(values.NumberOr(Slot::kLanguage, 0));

  // The tables that indices count in follow a header, which the bases are behind; the .dwo forms
  // do not say them, and GNU's extension of version 4 has no header.
  const bool is_v5 = header_.version >= 5;
  const uint64_t table_header = header_.sizes.offset == 8 ? 16 : 8;
  str_offsets_base_ = values.NumberOr(Slot::kStrOffsetsBase, is_v5 ? table_header : 0);
  addr_base_ = values.NumberOr(Slot::kAddrBase, is_v5 ? table_header : 0);
  rnglists_base_ =
      values.NumberOr(Slot::kRnglistsBase, is_v5 && IsSplit(header_) ? table_header + 4 : 0);
  gnu_ranges_base_ = values.NumberOr(Slot::kGnuRangesBase, 0);
  if (!is_v5) header_.dwo_id = values.NumberOr(Slot::kDwoId, 0);
  if (values.Has(Slot::kStmtList)) line_offset_ = values[Slot::kStmtList].number;
  if (values.Has(Slot::kLowPc)) low_pc_ = Address(values[Slot::kLowPc]).value_or(0);
  if (values.Has(Slot::kName)) name_ = String(values[Slot::kName]);
  if (values.Has(Slot::kCompDir)) comp_dir_ = String(values[Slot::kCompDir]);
  if (values.Has(Slot::kDwoName)) dwo_name_ = String(values[Slot::kDwoName]);
  return {};
}

void UnitContext::set_skeleton(const UnitContext* skeleton) {
  skeleton_ = skeleton;
  low_pc_ = skeleton->low_pc_;
  gnu_ranges_base_ = skeleton->gnu_ranges_base_;
}

base::ByteReader UnitContext::ReaderAt(uint64_t offset) const {
  base::ByteReader reader(sections_->info.first(header_.end));
  if (offset < header_.first_entry) {
    reader.Fail();
  } else {
    reader.Seek(offset);
  }
  return reader;
}

std::string_view UnitContext::String(const Value& value) const {
  switch (value.form) {
    case kFormString:
      return StringAt(sections_->info.first(header_.end), value.number);
    case kFormStrp:
      return StringAt(sections_->str, value.number);
    case kFormLineStrp:
      return StringAt(sections_->line_str, value.number);
    case kFormStrpSup:
    case kFormGnuStrpAlt:
      return sections_->alternate == nullptr ? std::string_view()
                                             : StringAt(sections_->alternate->str, value.number);
    case kFormStrx:
    case kFormStrx1:
    case kFormStrx2:
    case kFormStrx3:
    case kFormStrx4:
    case kFormGnuStrIndex: {
      const auto offset =
          NumberAt(sections_->str_offsets, str_offsets_base_, value.number, header_.sizes.offset);
      return offset ? StringAt(sections_->str, *offset) : std::string_view();
    }
    default:
      return {};
  }
}

std::optional<uint64_t> UnitContext::AddressAt(uint64_t index) const {
  const UnitContext& owner = skeleton_ == nullptr ? *this : *skeleton_;
  return NumberAt(owner.sections_->addr, owner.addr_base_, index, header_.sizes.address);
}

std::optional<uint64_t> UnitContext::Address(const Value& value) const {
  switch (value.form) {
    case kFormAddr:
      return value.number;
    case kFormAddrx:
    case kFormAddrx1:
    case kFormAddrx2:
    case kFormAddrx3:
    case kFormAddrx4:
    case kFormGnuAddrIndex:
      return AddressAt(value.number);
    default:
      return std::nullopt;
  }
}

std::optional<EntryPlace> UnitContext::Reference(const Value& value) const {
  switch (value.form) {
    case kFormRef1:
    case kFormRef2:
    case kFormRef4:
    case kFormRef8:
    case kFormRefUdata:
      if (value.number >= header_.end - header_.offset) return std::nullopt;
      return EntryPlace{sections_, header_.offset + value.number};
    case kFormRefAddr:
      return EntryPlace{sections_, value.number};
    case kFormGnuRefAlt:
    case kFormRefSup4:
    case kFormRefSup8:
      if (sections_->alternate == nullptr) return std::nullopt;
      return EntryPlace{sections_->alternate, value.number};
    default:
      return std::nullopt;
  }
}

bool UnitContext::IsConstant(const Value& value) {
  switch (value.form) {
    case kFormData1:
    case kFormData2:
    case kFormData4:
    case kFormData8:
    case kFormSdata:
    case kFormUdata:
    case kFormImplicitConst:
      return true;
    default:
      return false;
  }
}

}  // namespace vesta::dwarf
