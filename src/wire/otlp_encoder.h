// Batches, late symbols and profiles -> OTLP Profiles, in the layout of v1.10 and later.
#pragma once

#include <string>

#include "src/batch/batch.h"
#include "src/batch/symbol_batch.h"
#include "src/profile/profile.h"
#include "src/wire/otlp_dictionary_writer.h"
#include "src/wire/otlp_facts.h"

namespace vesta::wire {

// The body of a request to /v1development/profiles, not compressed.
// Shape:  docs/formats/otlp.md. Only what the rows use is written. A batch without rows still gives
//         a valid message: one empty profile below its first series, so that the facts arrive.
//         The period of a type is the one of the profile's header, if that has one of its kind.
//         Times are of milliseconds, as in rows. Text that is no UTF-8 gets U+FFFD.
// Cost:   linear; about the result once more for what is being put together.
std::string EncodeOtlp(const batch::Batch& batch, const OtlpFacts& facts);

// The same behind tables that earlier messages to the same receiver began: what those had keeps its
// index, and packed against the one before (zstd.h) only what is new costs something.
// Shape: the message holds all of the tables, whether this batch uses it or not; `tables` grows.
std::string EncodeOtlp(const batch::Batch& batch, const OtlpFacts& facts,
                       otlp::DictionaryTables* tables);

// The body of a request to /api/v1/symbols: a message with a dictionary and no profiles, whose
// locations say what stands where. The id travels in its table of attributes.
std::string EncodeOtlpSymbols(const batch::SymbolBatch& symbols);

// A whole profile as a file: one OTLP profile per sample type, values without times, and what else
// a pprof file holds as attributes pprof.*; src/wire/losses.h says what is lost.
std::string EncodeOtlpProfile(const profile::Profile& profile);

}  // namespace vesta::wire
