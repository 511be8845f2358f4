// pytorch_model.bin files that must be refused: one per rule of docs/formats.md.
#pragma once

#include <string>
#include <vector>

#include "tests/support/hostile_file.h"
#include "tests/support/zip_builder.h"

namespace ghost {

// An archive "m/" of this pickle and storage "0": the floats 1 to 6.
std::vector<ZipItem> PytorchItems(const std::string& pickle);
std::string PytorchBytes(const std::string& pickle);

// A small valid file: OrderedDict of "w" (2, 3), its transpose "t", the tied "v".
std::string ValidPytorchPickle();
std::string ValidPytorch();

std::vector<HostileFile> HostileZips();
std::vector<HostileFile> HostilePickles();
std::vector<HostileFile> HostilePytorchTensors();

}  // namespace ghost
