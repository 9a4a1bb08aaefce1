// Profiles in files: reading whole files and writing whole files, or none. What the bytes mean is
// the business of the codecs beside this file, which stay pure; only here are files touched.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"
#include "src/wire/profile_decoder.h"

namespace vesta::wire {

// Reads a profile, whatever the file is called; "-" = standard input; pipes are read to their end.
// Errors: as open(2) and read(2); else as DecodeProfile, with the path.
base::Result<profile::Profile> ReadProfileFile(const std::string& path,
                                               const DecodeOptions& options = {});

// Only the bytes, for who also needs them as they are; DecodeProfile understands them.
// Errors: as open(2) and read(2); Unsupported for what begins like no profile; Exhausted above the
//         limit.
base::Result<std::string> ReadWholeFile(const std::string& path, const DecodeOptions& options = {});

// The path, or "standard input".
std::string NameForMessages(const std::string& path);

// Whether WriteWholeFile could write there as far as can be told now: before a long recording, not
// after it. Errors: NotFound, Permission for the folder; InvalidInput for a folder.
base::Result<void> CheckOutputPath(const std::string& path);

// A regular file is written beside its target and renamed, so that there is either the old file or
// the whole new one; pipes, devices and "-" (standard output) are written directly. A link is
// followed, mode and owner of an old file stay.
// Errors: as open(2), write(2), rename(2), with the path, the size that was needed and what became
//         of an old file. The bytes are the caller's, who can write them elsewhere.
base::Result<void> WriteWholeFile(const std::string& path, std::string_view bytes);

}  // namespace vesta::wire
