// Writes the two files of a trained vocabulary (bpe_train.h), by hand: our JSON objects that keep the order
// of keys have linear look-up, too slow for a vocabulary.
#include "base/json.h"
#include "text/tokenizer/bpe_train.h"

namespace ghost {
namespace {

constexpr const char* kByteLevel =
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";

std::string Quoted(const std::string& text) { return Json(text).dump(); }

}  // namespace

std::string MakeTokenizerJson(const BpeVocabulary& vocabulary) {
  std::string out = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n";
  out +=
      "  \"added_tokens\": [{\"id\":0,\"content\":" + Quoted(vocabulary.tokens.front()) +
      ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true}],\n";
  out += "  \"normalizer\": {\"type\":\"NFC\"},\n";
  for (const char* part : {"pre_tokenizer", "post_processor", "decoder"}) {
    out += std::string("  \"") + part + "\": " + kByteLevel + ",\n";
  }
  out +=
      "  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n"
      "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \"fuse_unk\": "
      "false,\n"
      "    \"byte_fallback\": false,\n    \"vocab\": {";
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    out += (id == 0 ? "\n      " : ",\n      ") + Quoted(vocabulary.tokens[id]) + ": " + std::to_string(id);
  }
  out += "\n    },\n    \"merges\": [";
  const char* comma = "";
  for (const auto& [left, right] : vocabulary.merges) {
    // Stand-ins contain no space, so one space always separates the two.
    out += std::string(comma) + "\n      " + Quoted(vocabulary.tokens[left] + " " + vocabulary.tokens[right]);
    comma = ",";
  }
  return out + "\n    ]\n  }\n}\n";
}

std::string MakeTokenizerConfigJson(const BpeVocabulary& vocabulary) {
  const std::string& special = vocabulary.tokens.front();
  const OrderedJson config = {{"add_prefix_space", false},
                              {"bos_token", special},
                              {"clean_up_tokenization_spaces", false},
                              {"eos_token", special},
                              {"tokenizer_class", "PreTrainedTokenizerFast"}};
  return config.dump(2) + "\n";
}

}  // namespace ghost
