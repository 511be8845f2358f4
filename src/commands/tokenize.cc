#include "commands/tokenize.h"

#include <charconv>
#include <optional>
#include <sstream>
#include <vector>

#include "base/decompress.h"
#include "base/error.h"
#include "base/file.h"
#include "commands/model_source.h"

namespace ghost {
namespace {

Tokenizer ChooseTokenizer(const TokenizeOptions& options, std::optional<ModelIdentity>& model) {
  if (!options.tokenizer.empty()) return LoadTokenizer(options.tokenizer);
  if (options.model.empty()) {
    throw Error(ErrorKind::kUsage, "no tokenizer given", {.hint = "say --tokenizer PATH, or name a MODEL"});
  }
  const std::string path = ResolveModelPath(options.model);
  // A directory that only holds a tokenizer is fine here.
  if (DirectoryExists(path) && FileExists(path + "/tokenizer.json")) return LoadTokenizer(path);
  const Checkpoint checkpoint = OpenCheckpoint(path);
  model = IdentifyModel(checkpoint);
  return LoadTokenizerFor(checkpoint, "");
}

std::vector<int32_t> ParseIds(const std::string& text) {
  std::vector<int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    if (*at == ' ' || *at == ',' || *at == '\n' || *at == '\t' || *at == '\r' || *at == '[' || *at == ']') {
      ++at;
      continue;
    }
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc{}) {
      throw Error(ErrorKind::kUsage, "not a list of token ids",
                  {.expected = "whole numbers", .actual = std::string(at, std::min<size_t>(20, end - at))});
    }
    ids.push_back(id);
    at = next;
  }
  return ids;
}

// One line of a --jsonl file, with messages that name it.
std::string ConvertLine(const Tokenizer& tokenizer, const TokenizeOptions& options, const std::string& line,
                        int64_t number) {
  const std::string place = options.jsonl + ":" + std::to_string(number);
  const Json object = ParseJson(line, place);
  const char* key = options.decode ? "ids" : "text";
  if (!object.is_object() || !object.contains(key)) {
    throw Error(ErrorKind::kCorrupt, "line has no such field", {.file = place, .tensor = key});
  }
  OrderedJson out;
  if (options.decode) {
    std::vector<int32_t> ids;
    if (!object[key].is_array()) throw Error(ErrorKind::kCorrupt, "ids must be an array", {.file = place});
    for (const Json& id : object[key]) {
      if (!id.is_number_integer()) throw Error(ErrorKind::kCorrupt, "ids must be integers", {.file = place});
      ids.push_back(id.get<int32_t>());
    }
    out["text"] = tokenizer.Decode(ids);
  } else {
    out["ids"] = tokenizer.Encode(JsonString(object, key, "", place), options.add_special);
  }
  return out.dump();
}

int64_t ConvertLines(const Tokenizer& tokenizer, const TokenizeOptions& options,
                     const std::function<void(const std::string&)>& emit_line) {
  std::istringstream lines(ReadDecompressed(options.jsonl));
  int64_t number = 0, converted = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line == "\r") continue;
    emit_line(ConvertLine(tokenizer, options, line, number));
    ++converted;
  }
  return converted;
}

}  // namespace

TokenizeResult Tokenize(const TokenizeOptions& options, bool has_text,
                        const std::function<void(const std::string&)>& emit_line) {
  const Timer timer;
  if (int{has_text} + int{!options.file.empty()} + int{!options.jsonl.empty()} != 1) {
    throw Error(ErrorKind::kUsage, "give exactly one of --text, --file and --jsonl");
  }
  TokenizeResult r{.options = options};
  r.run.schema = "ghost.tokenize/1";
  const Tokenizer tokenizer = ChooseTokenizer(options, r.run.model);
  if (!options.jsonl.empty()) {
    r.lines = ConvertLines(tokenizer, options, emit_line);
  } else {
    const std::string input = options.file.empty() ? options.text : ReadDecompressed(options.file);
    r.ids = options.decode ? ParseIds(input) : tokenizer.Encode(input, options.add_special);
    r.text = options.decode ? tokenizer.Decode(r.ids) : input;
  }
  FinishRun(timer, r.run);
  return r;
}

OrderedJson ToJson(const TokenizeResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  if (r.lines) {
    d["lines"] = *r.lines;
  } else {
    d["ids"] = r.ids;
    d["text"] = r.text;
  }
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
