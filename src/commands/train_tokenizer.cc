#include "commands/train_tokenizer.h"

#include "base/atomic_directory.h"
#include "base/file.h"
#include "base/progress.h"
#include "commands/document.h"
#include "text/corpus/text_file.h"
#include "text/tokenizer/bpe_train.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_json.h"

namespace ghost {
namespace {

constexpr const char* kEndOfText = "<|endoftext|>";

bool IsJsonFile(const std::string& output) { return output.ends_with(".json"); }

void Save(const TrainTokenizerOptions& options, const BpeVocabulary& vocabulary, const std::string& json) {
  if (IsJsonFile(options.output)) {
    AtomicFile file(options.output, options.force);
    file.Write(json);
    file.Commit();
    return;
  }
  AtomicDirectory directory(options.output, options.force);
  WriteFileAtomically(directory.path() + "/tokenizer.json", json);
  WriteFileAtomically(directory.path() + "/tokenizer_config.json", MakeTokenizerConfigJson(vocabulary));
  directory.Commit();
}

}  // namespace

OrderedJson TrainTokenizer(const TrainTokenizerOptions& options) {
  const Timer timer;
  if (IsJsonFile(options.output)) {
    (void)AtomicFile(options.output, options.force);  // refuses now what it would refuse at the end
  } else {
    CheckNewDirectory(options.output, options.force);
  }
  CheckBpeVocabSize(options.vocab_size);
  const std::vector<WordCount> words = CountWords(LoadTextFile(options.corpus), kEndOfText);
  Progress progress("training", "tokens");
  const BpeVocabulary vocabulary =
      TrainBpe(words, kEndOfText, options.vocab_size,
               [&](int64_t done, int64_t total) { progress.Update(done, total); });
  const std::string json = MakeTokenizerJson(vocabulary);
  // Read back before it is written: what we could not read is no result.
  (void)Tokenizer(ParseTokenizerJson(json, options.output));
  int64_t word_count = 0, bytes = 0;
  for (const WordCount& word : words) {
    word_count += word.count;
    bytes += word.count * static_cast<int64_t>(word.word.size());
  }
  const int64_t tokens = vocabulary.corpus_tokens;
  Save(options, vocabulary, json);
  OrderedJson document = MakeDocument("ghost.train-tokenizer/1", nullptr, EchoOptions(options));
  document["output"] = options.output;
  document["vocab_size"] = vocabulary.tokens.size();
  document["merges"] = vocabulary.merges.size();
  document["corpus_bytes"] = bytes;
  document["corpus_words"] = word_count;
  document["corpus_distinct_words"] = words.size();
  document["corpus_tokens"] = tokens;
  document["bytes_per_token"] = tokens == 0
                                    ? OrderedJson(nullptr)
                                    : OrderedJson(static_cast<double>(bytes) / static_cast<double>(tokens));
  FinishDocument(document, timer);
  return document;
}

}  // namespace ghost
