// safetensors files that must be refused: one per rule of docs/formats.md.
#pragma once

#include <string>
#include <vector>

#include "tests/support/hostile_file.h"

namespace ghost {

// Length, header text as it is, then `data`.
std::string SafetensorsBytes(const std::string& header, const std::string& data);

// A small file with nothing wrong: "a" F32 (2), "b" F16 (2, 2), metadata.
std::string ValidSafetensors();

std::vector<HostileFile> HostileSafetensors();
// Broken indices and shards; `open` is the index.
std::vector<HostileFile> HostileSafetensorsIndices();

}  // namespace ghost
