#include "commands/train_tokenizer.h"

#include "base/atomic_directory.h"
#include "base/file.h"
#include "base/progress.h"
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

TrainTokenizerResult TrainTokenizer(const TrainTokenizerOptions& options) {
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
  Save(options, vocabulary, json);
  TrainTokenizerResult r{.options = options};
  r.run.schema = "ghost.train-tokenizer/1";
  r.vocab_size = vocabulary.tokens.size();
  r.merges = vocabulary.merges.size();
  for (const WordCount& word : words) {
    r.corpus_words += word.count;
    r.corpus_bytes += word.count * static_cast<int64_t>(word.word.size());
  }
  r.corpus_distinct_words = words.size();
  r.corpus_tokens = vocabulary.corpus_tokens;
  FinishRun(timer, r.run);
  return r;
}

std::optional<double> TrainTokenizerResult::bytes_per_token() const {
  if (corpus_tokens == 0) return std::nullopt;
  return static_cast<double>(corpus_bytes) / static_cast<double>(corpus_tokens);
}

OrderedJson ToJson(const TrainTokenizerResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["output"] = r.options.output;
  d["vocab_size"] = r.vocab_size;
  d["merges"] = r.merges;
  d["corpus_bytes"] = r.corpus_bytes;
  d["corpus_words"] = r.corpus_words;
  d["corpus_distinct_words"] = r.corpus_distinct_words;
  d["corpus_tokens"] = r.corpus_tokens;
  d["bytes_per_token"] = OrNull(r.bytes_per_token());
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
