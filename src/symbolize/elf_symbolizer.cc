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

// As Go's own tools show it: with [...] for the types that a generic function was made for.
std::string GoNameForPeople(const std::string& name) {
  const size_t start = name.find('[');
  const size_t end = name.rfind(']');
  if (start == std::string::npos || end == std::string::npos || end < start) return name;
  return name.substr(0, start) + "[...]" + name.substr(end + 1);
}

void NameGoFunctions(const ElfFile& elf, const ByteSource& source,
                     std::span<const uint64_t> addresses, std::vector<Symbol>& symbols) {
  auto table = object::GoPclntab::Find(elf, source);
  if (!table.ok()) return;  // no Go program, or one whose symbols must do
  // Where they cannot be found, the functions that hold the code must do.
  static_cast<void>(table->FindInlineTrees(elf, source));
  for (size_t i = 0; i < addresses.size(); ++i) {
    for (object::GoCall& call : table->CallsAt(addresses[i])) {
      FunctionLine line;
      line.name = GoNameForPeople(call.function);
      line.system_name = std::move(call.function);
      line.file = std::move(call.file);
      line.line = call.line;
      line.start_line = call.start_line;
      symbols[i].lines.push_back(std::move(line));
    }
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
