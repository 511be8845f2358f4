// The files of a checkpoint directory that are neither weights nor configuration.
#pragma once

#include <string>
#include <vector>

namespace ghost {

// tokenizer.json, its companions and generation_config.json, where they exist, copied byte for byte. Gives
// their names.
std::vector<std::string> CopyTokenizerFiles(const std::string& from, const std::string& to);

}  // namespace ghost
