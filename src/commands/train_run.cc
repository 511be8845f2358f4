#include "commands/train_run.h"

#include <fmt/format.h>

#include "checkpoint/family.h"

namespace ghost {
namespace {

OrderedJson ValueOf(const TrainingText& text) {
  OrderedJson json = {{"file", text.file}};
  if (text.tokens) json["tokens"] = *text.tokens;
  json["ids"] = text.ids;
  return json;
}

template <class Value>
OrderedJson ValueOf(const Value& value) {
  return value;
}

std::string TextOf(const TrainingText& text) {
  if (text.file.empty()) return "none";
  const std::string tokens = text.tokens ? fmt::format(", {} tokens", *text.tokens) : "";
  return fmt::format("{}{}, ids {}", text.file, tokens, text.ids);
}

std::string TextOf(const std::string& text) { return text.empty() ? "none" : text; }

template <class Value>
std::string TextOf(const Value& value) {
  return OrderedJson(value).dump();
}

}  // namespace

OrderedJson ToJson(const TrainingRun& run) {
  OrderedJson json = {{"config", MakeHuggingFaceConfig(run.config)}};
  run.ForEach([&](const char* name, const auto& value) { json[name] = ValueOf(value); });
  return json;
}

std::vector<std::pair<std::string, std::string>> CardSettings(const TrainingRun& run) {
  std::vector<std::pair<std::string, std::string>> rows;
  run.ForEach([&](const char* name, const auto& value) { rows.emplace_back(name, TextOf(value)); });
  return rows;
}

}  // namespace ghost
