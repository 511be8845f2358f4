// GGUF files that must be refused: one per rule of docs/formats.md.
#pragma once

#include <string>
#include <vector>

#include "tests/support/hostile_file.h"

namespace ghost {

// A small valid file: keys of several types, "a" F32 {2, 3}, "b" F16 {5}, "q" Q8_0 {32}.
std::string ValidGguf();

// Where ValidGguf()'s last tensor ends; the rest is padding, which may be missing.
size_t ValidGgufEnd();

std::vector<HostileFile> HostileGguf();

}  // namespace ghost
