// Speed of the tokenizer on the real files: run from the source root, or with GHOST_SHARED set.
#include <benchmark/benchmark.h>

#include "base/file.h"
#include "text/test_files.h"
#include "text/tokenizer/tokenizer.h"

namespace ghost {
namespace {

constexpr char kNeox[] = "tokenizers/gpt-neox-20b/tokenizer.json";
constexpr char kMistral[] = "tokenizers/mistral-7b-v0.1/tokenizer.json";

// One thread. The word cache belongs to the call, so every iteration starts cold.
void BM_Encode(benchmark::State& state, const char* name) {
  const std::string tokenizer_file = FindSharedFile(name);
  const std::string text_file = FindSharedFile("wikitext-2/wiki.test.raw");
  if (tokenizer_file.empty() || text_file.empty()) {
    state.SkipWithError("shared files not found");
    return;
  }
  const Tokenizer tokenizer = LoadTokenizer(tokenizer_file);
  const std::string text = ReadFile(text_file);
  size_t tokens = 0;
  for (auto _ : state) {
    const auto ids = tokenizer.Encode(text);
    tokens += ids.size();
    benchmark::DoNotOptimize(ids.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
  state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(tokens), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(BM_Encode, neox, kNeox)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Encode, mistral, kMistral)->Unit(benchmark::kMillisecond);

// A short prompt: shows the fixed cost of a call.
void BM_EncodeSentence(benchmark::State& state) {
  const std::string tokenizer_file = FindSharedFile(kNeox);
  if (tokenizer_file.empty()) {
    state.SkipWithError("shared files not found");
    return;
  }
  const Tokenizer tokenizer = LoadTokenizer(tokenizer_file);
  const std::string text = "Question: How do you keep a garden hose from kinking?\nAnswer:";
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.Encode(text).data());
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
}
BENCHMARK(BM_EncodeSentence)->Unit(benchmark::kMicrosecond);

// The worst word: one letter, a million times.
void BM_EncodeOneLetter(benchmark::State& state) {
  const std::string tokenizer_file = FindSharedFile(kNeox);
  if (tokenizer_file.empty()) {
    state.SkipWithError("shared files not found");
    return;
  }
  const Tokenizer tokenizer = LoadTokenizer(tokenizer_file);
  const std::string text(1 << 20, 'a');
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.Encode(text).data());
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
}
BENCHMARK(BM_EncodeOneLetter)->Unit(benchmark::kMillisecond);

void BM_Decode(benchmark::State& state) {
  const std::string tokenizer_file = FindSharedFile(kNeox);
  const std::string text_file = FindSharedFile("wikitext-2/wiki.test.raw");
  if (tokenizer_file.empty() || text_file.empty()) {
    state.SkipWithError("shared files not found");
    return;
  }
  const Tokenizer tokenizer = LoadTokenizer(tokenizer_file);
  const std::string text = ReadFile(text_file);
  const auto ids = tokenizer.Encode(text);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.Decode(ids).data());
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
}
BENCHMARK(BM_Decode)->Unit(benchmark::kMillisecond);

void BM_Load(benchmark::State& state, const char* name) {
  const std::string tokenizer_file = FindSharedFile(name);
  if (tokenizer_file.empty()) {
    state.SkipWithError("shared files not found");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(LoadTokenizer(tokenizer_file).vocab_size());
}
BENCHMARK_CAPTURE(BM_Load, neox, kNeox)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Load, mistral, kMistral)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ghost

BENCHMARK_MAIN();
