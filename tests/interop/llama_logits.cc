// Logits of llama.cpp for given token ids, to compare with `ghost forward`. Not part of the build: compile it
// by hand against an installed or built libllama (llama.h, ggml.h; -lllama -lggml -lggml-cpu -lggml-base).
//
//   llama_logits MODEL.gguf IDS OUT [stepwise]
//
// IDS holds int32 B and L, then B x L ids; OUT gets float32 (B, L, V). Keys and values are float32 and
// weights are not repacked, so that nothing but the arithmetic of the graph differs. `stepwise` decodes one
// token a call.
#include <llama.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "llama_logits: %s\n", what);
  std::exit(1);
}

struct Ids {
  int32_t batch = 0, length = 0;
  std::vector<int32_t> values;
};

Ids ReadIds(const char* path) {
  Ids ids;
  std::FILE* file = std::fopen(path, "rb");
  int32_t head[2];
  if (!file || std::fread(head, 4, 2, file) != 2 || head[0] < 1 || head[1] < 1) Fail("bad file of ids");
  ids.batch = head[0];
  ids.length = head[1];
  ids.values.resize(static_cast<size_t>(head[0]) * static_cast<size_t>(head[1]));
  if (std::fread(ids.values.data(), 4, ids.values.size(), file) != ids.values.size())
    Fail("file of ids is too short");
  std::fclose(file);
  return ids;
}

llama_context* MakeContext(llama_model* model, int32_t length, bool stepwise) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(length + 8);
  params.n_batch = static_cast<uint32_t>(length);
  params.n_ubatch = stepwise ? 1 : params.n_batch;
  params.n_threads = params.n_threads_batch = 2;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (!context) Fail("no context");
  return context;
}

// Decodes `count` tokens at `position` and appends their logits to `out`.
void Decode(llama_context* context, const int32_t* ids, int32_t count, int32_t position, int32_t vocab,
            std::FILE* out) {
  llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (int32_t i = 0; i < count; ++i) {
    batch.token[i] = ids[i];
    batch.pos[i] = position + i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  if (llama_decode(context, batch) != 0) Fail("decoding failed");
  for (int32_t i = 0; i < count; ++i) {
    const float* logits = llama_get_logits_ith(context, i);
    if (!logits || std::fwrite(logits, 4, static_cast<size_t>(vocab), out) != static_cast<size_t>(vocab))
      Fail("no logits, or they cannot be written");
  }
  llama_batch_free(batch);
}

}  // namespace

int main(int argc, char** argv) {
  const bool stepwise = argc == 5 && std::strcmp(argv[4], "stepwise") == 0;
  if (argc != 4 && !stepwise) Fail("usage: MODEL.gguf IDS OUT [stepwise]");
  const Ids ids = ReadIds(argv[2]);
  llama_backend_init();
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  params.use_extra_bufts = false;
  llama_model* model = llama_model_load_from_file(argv[1], params);
  if (!model) Fail("the model does not load");
  const int32_t vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
  llama_context* context = MakeContext(model, ids.length, stepwise);
  std::FILE* out = std::fopen(argv[3], "wb");
  if (!out) Fail("cannot write the output");
  const int32_t step = stepwise ? 1 : ids.length;
  for (int32_t b = 0; b < ids.batch; ++b) {
    llama_memory_clear(llama_get_memory(context), /*data=*/true);
    const int32_t* row = ids.values.data() + static_cast<size_t>(b) * static_cast<size_t>(ids.length);
    for (int32_t t = 0; t < ids.length; t += step) Decode(context, row + t, step, t, vocab, out);
  }
  if (std::fclose(out) != 0) Fail("cannot write the output");
  llama_free(context);
  llama_model_free(model);
}
