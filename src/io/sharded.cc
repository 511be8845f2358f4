#include "io/sharded.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "io/name_check.h"

namespace ghost {
namespace {

// Tensor names by shard file name.
using ShardMap = std::map<std::string, std::vector<std::string>>;

// File names are untrusted: one with a folder in it could point anywhere on the disk.
ShardMap ParseIndex(const std::string& index_path) {
  const Json index = LoadJson(index_path);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object()) {
    throw Error(ErrorKind::kCorrupt, "index has no weight_map",
                {.file = index_path, .expected = R"({"weight_map": {tensor name: file name}})"});
  }
  ShardMap shards;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !IsPlainFileName(file.get_ref<const std::string&>())) {
      throw Error(ErrorKind::kCorrupt, "shard name is not a plain file name",
                  {.file = index_path,
                   .tensor = tensor,
                   .expected = "the name of a file beside the index",
                   .actual = file.dump()});
    }
    shards[file.get<std::string>()].push_back(tensor);
  }
  if (shards.empty()) throw Error(ErrorKind::kCorrupt, "weight_map is empty", {.file = index_path});
  return shards;
}

}  // namespace

TensorSet ReadSharded(const std::string& index_path,
                      const std::function<TensorSet(const std::string& path)>& read_file) {
  const ShardMap shards = ParseIndex(index_path);
  const std::filesystem::path folder = std::filesystem::path(index_path).parent_path();

  // Reports all missing files at once, so that a user does not discover them one by one.
  std::vector<std::string> missing_files;
  for (const auto& [file, names] : shards) {
    if (!FileExists((folder / file).string())) missing_files.push_back(file);
  }
  if (!missing_files.empty()) {
    throw Error(ErrorKind::kNotFound, "shards of the checkpoint are missing",
                {.file = index_path,
                 .expected = fmt::format("{}", fmt::join(missing_files, ", ")),
                 .hint = "the index names them; download them into the same folder"});
  }

  TensorSet all;
  std::vector<std::string> missing_tensors;
  for (const auto& [file, names] : shards) {
    TensorSet shard = read_file((folder / file).string());
    all.metadata.merge(shard.metadata);
    for (const std::string& name : names) {
      auto node = shard.tensors.extract(name);  // moves; tensors left in the shard are discarded with it
      if (node.empty()) {
        missing_tensors.push_back(fmt::format("{} ({})", name, file));
      } else {
        all.tensors.insert(std::move(node));
      }
    }
  }
  if (!missing_tensors.empty()) {
    throw Error(ErrorKind::kCorrupt, "shards lack tensors that the index lists",
                {.file = index_path, .expected = fmt::format("{}", fmt::join(missing_tensors, ", "))});
  }
  return all;
}

}  // namespace ghost
