#include "bench/oracle/compare_tables.h"

#include <gelf.h>

#include <algorithm>

#include "src/base/byte_source.h"
#include "src/object/elf_file.h"
#include "src/object/unwind_table.h"

namespace vesta::oracle {

base::Result<FileTables> CompareTablesOf(const char* path, uint64_t functions_max) {
  ASSIGN_OR_RETURN(const auto source, base::FileSource::Open(path));
  ASSIGN_OR_RETURN(const object::ElfFile elf, object::ElfFile::Parse(*source));
  ASSIGN_OR_RETURN(const object::UnwindTable table, object::BuildUnwindTable(elf, *source));
  FileTables result;
  result.function_count = test::FunctionStarts(elf, *source).size();
  result.damaged_count = table.stats.fde_damaged_count;
  elf_version(EV_CURRENT);
  Elf* const elf_of_oracle = elf_begin(source->fd(), ELF_C_READ_MMAP, nullptr);
  if (elf_of_oracle == nullptr) {
    return base::Error(base::ErrorCode::kUnsupported, "elfutils does not take the file");
  }
  const uint64_t stride = std::max<uint64_t>(1, result.function_count / functions_max);
  result.comparison = test::CompareTable(elf_of_oracle, elf, *source, table.words, stride);
  elf_end(elf_of_oracle);
  return result;
}

}  // namespace vesta::oracle
