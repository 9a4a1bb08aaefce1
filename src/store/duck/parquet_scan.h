// The table function that reads Parquet files, as text of SQL.
#pragma once

#include <span>
#include <string>

#include "src/store/duck/duck_handles.h"

namespace vesta::store::duck {

// Columns are those of the files alone: DuckDB would take a folder named `type=prod` above them for
// a partition, and give 'prod' as the column `type`.
inline std::string ScanParquet(std::span<const std::string> paths) {
  std::string files;
  for (const std::string& path : paths) {
    if (!files.empty()) files += ", ";
    files += SqlReadPath(path);
  }
  return "read_parquet([" + files + "], hive_partitioning = false, union_by_name = false)";
}
inline std::string ScanParquet(const std::string& path) { return ScanParquet({&path, 1}); }

}  // namespace vesta::store::duck
