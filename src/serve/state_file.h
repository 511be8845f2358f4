// Saved prefix states: one file per entry of the prefix cache, for the next start of the server. The format
// is in docs/formats.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "serve/prefix_cache.h"

namespace ghost {

// Written whole or not at all; replaces a file of that name.
void WriteStateFile(const std::string& path, const std::string& fingerprint, const PrefixEntry& entry);

// Reads a state of a model with this configuration. `fingerprint` says which weights the model has; a file of
// other weights gives nothing. Anything else that is wrong is Error(kCorrupt): sizes are checked against the
// file's length before memory is allocated, and a checksum covers all of it.
std::optional<PrefixEntry> ReadStateFile(const std::string& path, const std::string& fingerprint,
                                         const ModelConfig& config);

// Writes the cache's entries to `directory` and removes the files of entries that are gone; only files that
// name this fingerprint are ever removed. Returns how many were written.
size_t SaveStates(const std::string& directory, const std::string& fingerprint, const PrefixCache& cache);
// Fills the cache; files that cannot be used are reported in `warnings` and left as they are.
size_t LoadStates(const std::string& directory, const std::string& fingerprint, const ModelConfig& config,
                  PrefixCache& cache, std::vector<std::string>& warnings);

}  // namespace ghost
