// One running DuckDB: the memory, threads and folder for spills that a store's files share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/result.h"

namespace vesta::store::duck {

struct DuckSettings {
  // For what does not fit into memory; made when it is needed, inside a folder that is there.
  // "" = such work is refused as Exhausted.
  std::string temporary_folder;
  uint64_t memory_bytes_max = uint64_t{128} << 20;
  uint32_t threads = 2;
};

// Keeps DuckDB's header out of the headers that others include.
class DuckState;

// Threads: any number may use it at once; each operation has a connection of its own.
class DuckDb {
 public:
  // Loads libduckdb.so, the first time in a process, and starts an empty instance without access to
  // any network and without extensions beyond those built in.
  // Errors: Unsupported without the library or with another version of it, saying what to do.
  static base::Result<std::unique_ptr<DuckDb>> Open(const DuckSettings& settings);
  ~DuckDb();

  // How much may lie in the temporary folder from now on; work that needs more is refused as
  // Exhausted. Before the first call: 90 % of what is free on the disk.
  base::Result<void> LimitSpill(uint64_t bytes_max);

  // For the other files of this folder.
  DuckState& state() const { return *state_; }

 private:
  explicit DuckDb(std::unique_ptr<DuckState> state);
  std::unique_ptr<DuckState> state_;
};

}  // namespace vesta::store::duck
