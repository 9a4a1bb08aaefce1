// Profiles in files: format by content on the way in, by name on the way out. The codecs beside
// this file stay pure; only here are files touched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"

namespace vesta::wire {

enum class ProfileFormat { kPprofGzip, kPprof, kFolded };

// The format that a name asks for: .pb.gz, .pprof, .prof = pprof with gzip; .pb = pprof without;
// .folded = folded lines; "-" and names below /dev/ = pprof with gzip.
// Errors: InvalidInput with the list of endings.
base::Result<ProfileFormat> FormatOfName(std::string_view path);

// Reads pprof (gzip or plain) or folded lines (gzip or plain), whatever the file is called.
// "-" = standard input; pipes are read to their end.
// Errors: as open(2) and read(2); Corrupt with the path and, for well-known other formats, what the
//         file is; Exhausted when the file, or what gzip makes of it, is larger than
//         size_bytes_max.
base::Result<profile::Profile> ReadProfileFile(const std::string& path,
                                               uint64_t size_bytes_max = uint64_t{4} << 30);

// The same from bytes in memory; `name` is for messages.
base::Result<profile::Profile> DecodeProfile(std::string_view bytes, const std::string& name,
                                             uint64_t size_bytes_max = uint64_t{4} << 30);

// Whether WriteProfileFile could write there as far as can be told now: before a long recording,
// not after it. Errors: InvalidInput for an unknown ending; NotFound, Permission for the folder.
base::Result<void> CheckProfilePath(const std::string& path);

// Writes a profile in the format of the file's name. A regular file is written beside its target
// and renamed, so that there is either the old file or the whole new one; pipes, devices and "-"
// (standard output) are written directly. A link is followed, mode and owner of an old file stay.
// Errors: InvalidInput for an unknown ending; else as open(2), write(2), rename(2), with the path,
//         the size that was needed and what became of an old file. The profile is untouched: the
//         caller can write it elsewhere.
base::Result<void> WriteProfileFile(const std::string& path, const profile::Profile& profile);

}  // namespace vesta::wire
