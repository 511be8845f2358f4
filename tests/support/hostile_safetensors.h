// safetensors files that must be refused: one per rule of docs/formats.md.
#pragma once

#include <string>
#include <vector>

#include "tests/support/hostile_file.h"

namespace ghost {

// Length, the given header text, then `data`.
std::string SafetensorsBytes(const std::string& header, const std::string& data);

// A small valid file: "a" F32 (2), "b" F16 (2, 2), metadata.
std::string ValidSafetensors();

std::vector<HostileFile> HostileSafetensors();
// Broken indices and shards; `open` is the index.
std::vector<HostileFile> HostileSafetensorsIndices();

}  // namespace ghost
