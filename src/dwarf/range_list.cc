#include "src/dwarf/range_list.h"

#include "src/dwarf/constants.h"

namespace vesta::dwarf {

namespace {

class Appender {
 public:
  Appender(uint8_t address_bytes, size_t range_count_max, std::vector<Range>& out)
      : address_bytes_(address_bytes), range_count_max_(range_count_max), out_(out) {}

  bool full() const { return out_.size() >= range_count_max_; }

  void Add(uint64_t start, uint64_t end) {
    if (IsTombstone(start, address_bytes_) || end <= start) return;
    out_.push_back({start, end});
  }

 private:
  uint8_t address_bytes_;
  size_t range_count_max_;
  std::vector<Range>& out_;
};

uint64_t ReadAddress(base::ByteReader& reader, uint8_t bytes) {
  return bytes == 8 ? reader.Read<uint64_t>() : reader.Read<uint32_t>();
}

bool AppendOld(const UnitContext& unit, const Value& ranges, uint64_t& budget_bytes,
               size_t range_count_max, std::vector<Range>& out) {
  const uint8_t address_bytes = unit.header().sizes.address;
  const uint64_t last = address_bytes == 8 ? ~uint64_t{0} : 0xffffffffu;
  // Only a .dwo counts from the base; its skeleton's own list does not.
  const UnitContext* skeleton = unit.skeleton();
  const uint64_t base_offset = skeleton == nullptr ? 0 : unit.gnu_ranges_base();
  base::ByteReader reader(skeleton == nullptr ? unit.sections().ranges
                                              : skeleton->sections().ranges);
  if (ranges.number > reader.remaining() || base_offset > reader.remaining() - ranges.number) {
    return false;
  }
  reader.Seek(base_offset + ranges.number);
  uint64_t base = unit.low_pc();
  bool base_removed = false;
  Appender appender(address_bytes, range_count_max, out);
  while (true) {
    const uint64_t start = ReadAddress(reader, address_bytes);
    const uint64_t end = ReadAddress(reader, address_bytes);
    if (!reader.ok() || budget_bytes < 2u * address_bytes || appender.full()) return false;
    budget_bytes -= 2u * address_bytes;
    if (start == 0 && end == 0) return true;
    if (start == last) {
      base = end;
      base_removed = end >= last - 1;
    } else if (start < last - 1 && start != end && !base_removed) {
      appender.Add(base + start, base + end);
    }
  }
}

bool AppendNew(const UnitContext& unit, const Value& ranges, uint64_t& budget_bytes,
               size_t range_count_max, std::vector<Range>& out) {
  const FormSizes& sizes = unit.header().sizes;
  const Bytes section = unit.sections().rnglists;
  base::ByteReader reader(section);
  uint64_t offset = ranges.number;
  if (ranges.form == kFormRnglistx) {
    const uint64_t table = unit.rnglists_base();
    if (table > section.size() || ranges.number >= (section.size() - table) / sizes.offset) {
      return false;
    }
    reader.Seek(table + ranges.number * sizes.offset);
    offset = sizes.offset == 8 ? reader.Read<uint64_t>() : reader.Read<uint32_t>();
    if (offset > section.size() - table) return false;
    offset += table;
  }
  reader.Seek(offset);
  uint64_t base = unit.low_pc();
  bool base_removed = false;
  Appender appender(sizes.address, range_count_max, out);
  while (reader.ok()) {
    const size_t entry = reader.position();
    const auto kind = reader.Read<uint8_t>();
    std::optional<uint64_t> start = 0;
    std::optional<uint64_t> end = 0;
    switch (kind) {
      case kRangeEndOfList:
        return reader.ok();
      case kRangeBaseAddressx:
      case kRangeBaseAddress: {
        start = kind == kRangeBaseAddressx ? unit.AddressAt(reader.ReadUleb128())
                                           : ReadAddress(reader, sizes.address);
        base = start.value_or(0);
        base_removed = IsTombstone(base, sizes.address);
        end = start;
        break;
      }
      case kRangeStartxEndx:
        start = unit.AddressAt(reader.ReadUleb128());
        end = unit.AddressAt(reader.ReadUleb128());
        break;
      case kRangeStartxLength:
        start = unit.AddressAt(reader.ReadUleb128());
        end = start.value_or(0) + reader.ReadUleb128();
        break;
      case kRangeOffsetPair:
        start = base + reader.ReadUleb128();
        end = base + reader.ReadUleb128();
        if (base_removed) end = start;
        break;
      case kRangeStartEnd:
        start = ReadAddress(reader, sizes.address);
        end = ReadAddress(reader, sizes.address);
        break;
      case kRangeStartLength:
        start = ReadAddress(reader, sizes.address);
        end = *start + reader.ReadUleb128();
        break;
      default:
        return false;
    }
    const size_t entry_bytes = reader.position() - entry;
    if (!reader.ok() || !start || !end || budget_bytes < entry_bytes || appender.full()) {
      return false;
    }
    budget_bytes -= entry_bytes;
    appender.Add(*start, *end);
  }
  return false;
}

}  // namespace

bool AppendRangeList(const UnitContext& unit, const Value& ranges, uint64_t& budget_bytes,
                     size_t range_count_max, std::vector<Range>& out) {
  return unit.header().version >= 5 ? AppendNew(unit, ranges, budget_bytes, range_count_max, out)
                                    : AppendOld(unit, ranges, budget_bytes, range_count_max, out);
}

}  // namespace vesta::dwarf
