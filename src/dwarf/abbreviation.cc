#include "src/dwarf/abbreviation.h"

#include <algorithm>

#include "src/dwarf/constants.h"

namespace vesta::dwarf {

namespace {

constexpr size_t kStepsHeldMax = size_t{1} << 19;  // 8 MB
constexpr uint64_t kParsedTimesMax = 64;
constexpr uint64_t kParsedBytesFree = uint64_t{64} << 20;
constexpr uint16_t kFormUnknown = 0xffff;
constexpr int kIndirectionsMax = 4;

// Bytes of a form that always has as many; -1 for others.
int FixedBytes(uint16_t form, const FormSizes& sizes) {
  switch (form) {
    case kFormFlagPresent:
    case kFormImplicitConst:
      return 0;
    case kFormData1:
    case kFormRef1:
    case kFormFlag:
    case kFormStrx1:
    case kFormAddrx1:
      return 1;
    case kFormData2:
    case kFormRef2:
    case kFormStrx2:
    case kFormAddrx2:
      return 2;
    case kFormStrx3:
    case kFormAddrx3:
      return 3;
    case kFormData4:
    case kFormRef4:
    case kFormStrx4:
    case kFormAddrx4:
    case kFormRefSup4:
      return 4;
    case kFormData8:
    case kFormRef8:
    case kFormRefSig8:
    case kFormRefSup8:
      return 8;
    case kFormData16:
      return 16;
    case kFormAddr:
      return sizes.address;
    case kFormRefAddr:
      return sizes.ref_addr;
    case kFormStrp:
    case kFormSecOffset:
    case kFormLineStrp:
    case kFormStrpSup:
    case kFormGnuRefAlt:
    case kFormGnuStrpAlt:
      return sizes.offset;
    default:
      return -1;
  }
}

uint64_t ReadFixed(base::ByteReader& reader, int bytes) {
  switch (bytes) {
    case 0:
      return 1;  // DW_FORM_flag_present
    case 1:
      return reader.Read<uint8_t>();
    case 2:
      return reader.Read<uint16_t>();
    case 3: {
      const uint64_t low = reader.Read<uint16_t>();
      return low | uint64_t{reader.Read<uint8_t>()} << 16;
    }
    case 4:
      return reader.Read<uint32_t>();
    case 8:
      return reader.Read<uint64_t>();
    default:
      reader.Skip(static_cast<size_t>(bytes));
      return 0;
  }
}

uint64_t ReadVariable(base::ByteReader& reader, uint16_t form) {
  switch (form) {
    case kFormUdata:
    case kFormRefUdata:
    case kFormStrx:
    case kFormAddrx:
    case kFormLoclistx:
    case kFormRnglistx:
    case kFormGnuAddrIndex:
    case kFormGnuStrIndex:
      return reader.ReadUleb128();
    case kFormSdata:
      return static_cast<uint64_t>(reader.ReadSleb128());
    case kFormString: {
      const uint64_t start = reader.position();
      reader.ReadCString();
      return start;
    }
    case kFormBlock1:
      reader.Skip(reader.Read<uint8_t>());
      return 0;
    case kFormBlock2:
      reader.Skip(reader.Read<uint16_t>());
      return 0;
    case kFormBlock4:
      reader.Skip(reader.Read<uint32_t>());
      return 0;
    case kFormBlock:
    case kFormExprloc:
      reader.Skip(reader.ReadUleb128());
      return 0;
    default:
      reader.Fail();
      return 0;
  }
}

EntryKind KindOf(uint16_t tag) {
  switch (tag) {
    case kTagCompileUnit:
    case kTagPartialUnit:
    case kTagTypeUnit:
    case kTagSkeletonUnit:
      return EntryKind::kUnit;
    case kTagSubprogram:
      return EntryKind::kFunction;
    case kTagInlinedSubroutine:
      return EntryKind::kInlined;
    case kTagArrayType:
    case kTagEnumerationType:
    case kTagSubroutineType:
    case kTagCallSite:
    case kTagGnuCallSite:
      return EntryKind::kCodeless;
    default:
      return EntryKind::kOther;
  }
}

Slot FunctionSlot(uint16_t attribute) {
  switch (attribute) {
    case kAtName:
      return Slot::kName;
    case kAtLinkageName:
    case kAtMipsLinkageName:
      return Slot::kLinkageName;
    case kAtLowPc:
      return Slot::kLowPc;
    case kAtHighPc:
      return Slot::kHighPc;
    case kAtRanges:
      return Slot::kRanges;
    case kAtAbstractOrigin:
      return Slot::kAbstractOrigin;
    case kAtSpecification:
      return Slot::kSpecification;
    case kAtDeclFile:
      return Slot::kDeclFile;
    case kAtDeclLine:
      return Slot::kDeclLine;
    case kAtCallFile:
      return Slot::kCallFile;
    case kAtCallLine:
      return Slot::kCallLine;
    default:
      return Slot::kUnused;
  }
}

Slot UnitSlot(uint16_t attribute) {
  switch (attribute) {
    case kAtName:
      return Slot::kName;
    case kAtLowPc:
      return Slot::kLowPc;
    case kAtStmtList:
      return Slot::kStmtList;
    case kAtCompDir:
      return Slot::kCompDir;
    case kAtLanguage:
      return Slot::kLanguage;
    case kAtStrOffsetsBase:
      return Slot::kStrOffsetsBase;
    case kAtAddrBase:
    case kAtGnuAddrBase:
      return Slot::kAddrBase;
    case kAtRnglistsBase:
      return Slot::kRnglistsBase;
    case kAtGnuRangesBase:
      return Slot::kGnuRangesBase;
    case kAtDwoName:
    case kAtGnuDwoName:
      return Slot::kDwoName;
    case kAtGnuDwoId:
      return Slot::kDwoId;
    default:
      return Slot::kUnused;
  }
}

Slot SlotOf(EntryKind kind, uint16_t attribute) {
  switch (kind) {
    case EntryKind::kUnit:
      return UnitSlot(attribute);
    case EntryKind::kFunction:
    case EntryKind::kInlined:
      return FunctionSlot(attribute);
    case EntryKind::kCodeless:
      return attribute == kAtSibling ? Slot::kSibling : Slot::kUnused;
    case EntryKind::kOther:
      break;
  }
  return Slot::kUnused;
}

}  // namespace

Value ReadForm(base::ByteReader& reader, uint16_t form, const FormSizes& sizes) {
  for (int i = 0; form == kFormIndirect && i < kIndirectionsMax; ++i) {
    const uint64_t inner = reader.ReadUleb128();
    // An implicit constant lies in the abbreviation, where an indirect form has none.
    form = inner < kFormUnknown && inner != kFormImplicitConst ? static_cast<uint16_t>(inner)
                                                               : kFormUnknown;
  }
  const int fixed = FixedBytes(form, sizes);
  return {form, fixed >= 0 ? ReadFixed(reader, fixed) : ReadVariable(reader, form)};
}

void AbbreviationTable::AddStep(Abbreviation& abbreviation, uint16_t attribute, uint16_t form,
                                int64_t implicit_const) {
  const Slot slot = SlotOf(abbreviation.kind, attribute);
  const int fixed = FixedBytes(form, sizes_);
  const bool ends_in_skip = abbreviation.step_count > 0 && steps_.back().form == kFormNone;
  if (slot == Slot::kUnused && fixed >= 0) {
    if (ends_in_skip) {
      steps_.back().skip_bytes += static_cast<uint32_t>(fixed);
    } else if (fixed > 0) {
      steps_.push_back({static_cast<uint32_t>(fixed), kFormNone, Slot::kUnused, 0});
      ++abbreviation.step_count;
    }
    return;
  }
  if (ends_in_skip) {
    steps_.back().form = form;
    steps_.back().slot = slot;
    steps_.back().implicit_const = implicit_const;
    return;
  }
  steps_.push_back({0, form, slot, implicit_const});
  ++abbreviation.step_count;
}

base::Result<AbbreviationTable> AbbreviationTable::Parse(Bytes abbrev, uint64_t offset,
                                                         const FormSizes& sizes,
                                                         uint64_t& bytes_read) {
  using base::Error;
  using base::ErrorCode;
  if (offset > abbrev.size()) {
    return Error(ErrorCode::kCorrupt, "abbreviations lie outside of their section");
  }
  AbbreviationTable table;
  table.sizes_ = sizes;
  base::ByteReader reader(abbrev.subspan(offset));
  size_t attribute_count = 0;
  while (const uint64_t code = reader.ReadUleb128()) {
    Abbreviation abbreviation;
    abbreviation.code = code;
    const uint64_t tag = reader.ReadUleb128();
    abbreviation.tag = static_cast<uint16_t>(tag <= 0xffff ? tag : 0);
    abbreviation.kind = KindOf(abbreviation.tag);
    abbreviation.has_children = reader.Read<uint8_t>() != 0;
    abbreviation.step_first = static_cast<uint32_t>(table.steps_.size());
    while (reader.ok()) {
      const uint64_t attribute = reader.ReadUleb128();
      const uint64_t form = reader.ReadUleb128();
      if (attribute == 0 && form == 0) break;
      const int64_t constant = form == kFormImplicitConst ? reader.ReadSleb128() : 0;
      if (++attribute_count > kAttributesMax) reader.Fail();
      table.AddStep(
          abbreviation, static_cast<uint16_t>(attribute <= 0xffff ? attribute : 0),
          form != kFormNone && form < kFormUnknown ? static_cast<uint16_t>(form) : kFormUnknown,
          constant);
    }
    if (++attribute_count > kAttributesMax) reader.Fail();
    if (!reader.ok()) break;
    table.abbreviations_.push_back(abbreviation);
  }
  bytes_read += reader.position();
  if (attribute_count > kAttributesMax) {
    return Error(ErrorCode::kExhausted, "too many attributes in one abbreviation table");
  }
  if (!reader.ok()) return Error(ErrorCode::kCorrupt, "an abbreviation table is cut off");
  const auto by_code = [](const Abbreviation& a, const Abbreviation& b) { return a.code < b.code; };
  auto& all = table.abbreviations_;
  if (!std::is_sorted(all.begin(), all.end(), by_code)) std::sort(all.begin(), all.end(), by_code);
  const auto same = [](const Abbreviation& a, const Abbreviation& b) { return a.code == b.code; };
  if (std::adjacent_find(all.begin(), all.end(), same) != all.end()) {
    return Error(ErrorCode::kCorrupt, "an abbreviation code is there twice");
  }
  return table;
}

const Abbreviation* AbbreviationTable::FindSparse(uint64_t code) const {
  const auto found = std::lower_bound(
      abbreviations_.begin(), abbreviations_.end(), code,
      [](const Abbreviation& abbreviation, uint64_t wanted) { return abbreviation.code < wanted; });
  return found != abbreviations_.end() && found->code == code ? &*found : nullptr;
}

void AbbreviationTable::ReadEntry(base::ByteReader& reader, const Abbreviation& abbreviation,
                                  EntryValues& values) const {
  values.Clear();
  const Step* step = steps_.data() + abbreviation.step_first;
  const Step* const end = step + abbreviation.step_count;
  for (; step != end; ++step) {
    reader.Skip(step->skip_bytes);
    if (step->form == kFormNone) continue;
    if (step->slot == Slot::kUnused) {
      ReadForm(reader, step->form, sizes_);
    } else if (step->form == kFormImplicitConst) {
      values.Set(step->slot, {kFormImplicitConst, static_cast<uint64_t>(step->implicit_const)});
    } else {
      values.Set(step->slot, ReadForm(reader, step->form, sizes_));
    }
  }
}

base::Result<std::shared_ptr<const AbbreviationTable>> AbbreviationCache::Get(
    Bytes abbrev, uint64_t offset, const FormSizes& sizes) {
  const Key key{abbrev.data(), offset, sizes};
  if (const auto found = tables_.find(key); found != tables_.end()) return found->second;
  if (sections_seen_.emplace(abbrev.data(), abbrev.size()).second) bytes_known_ += abbrev.size();
  if (bytes_parsed_ > kParsedBytesFree && bytes_parsed_ / kParsedTimesMax > bytes_known_) {
    return base::Error(base::ErrorCode::kExhausted, "abbreviations are read again and again");
  }
  auto parsed = AbbreviationTable::Parse(abbrev, offset, sizes, bytes_parsed_);
  if (!parsed.ok()) return parsed.error();
  auto table = std::make_shared<const AbbreviationTable>(std::move(parsed).value());
  if (steps_held_ + table->step_count() > kStepsHeldMax) {
    tables_.clear();
    steps_held_ = 0;
  }
  steps_held_ += table->step_count();
  tables_.emplace(key, table);
  return std::shared_ptr<const AbbreviationTable>(table);
}

void AbbreviationCache::Forget(Bytes abbrev) {
  for (auto entry = tables_.begin(); entry != tables_.end();) {
    if (entry->first.section == abbrev.data()) {
      steps_held_ -= entry->second->step_count();
      entry = tables_.erase(entry);
    } else {
      ++entry;
    }
  }
  sections_seen_.erase(abbrev.data());
}

}  // namespace vesta::dwarf
