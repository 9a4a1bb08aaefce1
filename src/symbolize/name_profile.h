// Gives names to the addresses of a profile that came without them, such as a perf.data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/byte_source.h"
#include "src/profile/profile.h"
#include "src/symbolize/kernel_symbolizer.h"

namespace vesta::symbolize {

// Where names come from.
struct NameSources {
  // The file of that path; null when there is none.
  std::function<std::unique_ptr<base::ByteSource>(const std::string& path)> open;
  std::shared_ptr<const KernelSymbolizer> kernel;  // null = kernel addresses stay without names
  std::string kernel_build_id;                     // hex
  uint64_t kernel_start = 0;                       // where its code starts since it was booted
};

// The files and the kernel of this machine, as far as they can be read.
NameSources NameSourcesOfThisMachine();

struct NamingCounts {
  uint64_t without_name = 0;  // locations that came without one and have a mapping
  uint64_t named = 0;         // of these
};

// Whether a location without lines has a mapping whose build id is known.
bool MayBeNamed(const profile::Profile& profile);

// A copy of the profile, with the same ids, whose locations without lines have those that symbol
// tables (and Go's table) give.
// Shape:  a file is used only when its build id is the mapping's, and so is the file of stripped
//         symbols below /usr/lib/debug/.build-id; the kernel only when it also
//         starts where the mapping says, which means the same boot or a kernel that is not moved;
//         a module by its name in it. An address is looked up as it stands: callers' addresses must
//         lie in the call. Mappings count process addresses from memory_start.
// Cost:   the copy, and one pass over the symbol tables of each file.
profile::Profile NameProfile(const profile::Profile& profile, const NameSources& sources,
                             NamingCounts* counts);

// Lower-case hex of the GNU build id among ELF notes, as /sys/kernel/notes has them; "" when there
// is none.
std::string BuildIdOfNotes(std::string_view notes);

// Where the kernel starts, from the text of /proc/kallsyms; 0 when it does not tell.
uint64_t KernelStartOf(std::string_view kallsyms);

}  // namespace vesta::symbolize
