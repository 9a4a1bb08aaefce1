#include "src/symbolize/elf_symbolizer.h"

#include <string>

#include "src/object/go_pclntab.h"
#include "src/symbolize/demangle.h"
#include "src/symbolize/plt_names.h"
#include "src/symbolize/symbol_scan.h"

namespace vesta::symbolize {
namespace {

using base::ByteSource;
using base::Result;
using object::ElfFile;

void NameGoFunctions(const ElfFile& elf, const ByteSource& source,
                     std::span<const uint64_t> addresses, std::vector<Symbol>& symbols) {
  auto table = object::GoPclntab::Find(elf, source);
  if (!table.ok()) return;  // no Go program, or one whose symbols must do
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto function = table->FunctionCovering(addresses[i]);
    if (!function) continue;
    FunctionLine line;
    line.name = table->NameOf(*function);
    if (line.name.empty()) continue;
    line.system_name = line.name;
    line.file = table->FileOf(*function, addresses[i]);
    line.line = table->LineOf(*function, addresses[i]);
    line.start_line = function->start_line;
    symbols[i].lines.push_back(std::move(line));
  }
}

// Asks `name` about the addresses that have no symbol yet.
template <typename Name>
Result<void> NameRest(const ElfFile& elf, const ByteSource& source,
                      std::span<const uint64_t> addresses, Name name, const char* suffix,
                      std::vector<Symbol>& symbols) {
  std::vector<uint64_t> rest;
  std::vector<size_t> index;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (!symbols[i].lines.empty()) continue;
    rest.push_back(addresses[i]);
    index.push_back(i);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, name(elf, source, rest));
  for (size_t i = 0; i < rest.size(); ++i) {
    if (names[i].empty()) continue;
    FunctionLine line;
    line.name = Demangle(names[i]) + suffix;
    line.system_name = names[i] + suffix;
    symbols[index[i]].lines.push_back(std::move(line));
  }
  return {};
}

}  // namespace

Result<std::vector<Symbol>> ResolveElfSymbols(const ElfFile& elf, const ByteSource& source,
                                              std::span<const uint64_t> addresses) {
  std::vector<Symbol> symbols(addresses.size());
  NameGoFunctions(elf, source, addresses, symbols);
  RETURN_IF_ERROR(NameRest(elf, source, addresses, ScanSymbolNames, "", symbols));
  RETURN_IF_ERROR(NameRest(elf, source, addresses, NamePltStubs, "@plt", symbols));
  return symbols;
}

}  // namespace vesta::symbolize
