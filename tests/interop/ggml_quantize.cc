// Writes a GGUF file again with the matrices of a Mamba2 model in another type, by ggml's own functions: what
// llama-quantize --pure does, without libllama. Not part of the build: compile it by hand against ggml
// (ggml.h, gguf.h; -lggml -lggml-cpu -lggml-base).
//
//   ggml_quantize IN.gguf OUT.gguf TYPE
//
// TYPE is a name of ggml: q8_0, q4_K, iq4_nl, ...; f32 widens quantised matrices.
#include <ggml.h>
#include <gguf.h>
#include <strings.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "ggml_quantize: %s\n", what);
  std::exit(1);
}

ggml_type TypeOf(const char* wanted) {
  for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
    const char* name = ggml_type_name(static_cast<ggml_type>(i));
    if (name && strcasecmp(name, wanted) == 0) return static_cast<ggml_type>(i);
  }
  Fail("unknown type");
}

bool IsMatrix(const std::string& name) {
  return name == "token_embd.weight" || name == "output.weight" || name.ends_with("ssm_in.weight") ||
         name.ends_with("ssm_out.weight");
}

std::vector<char> Converted(const ggml_tensor* tensor, ggml_type type) {
  const int64_t count = ggml_nelements(tensor), row = tensor->ne[0];
  std::vector<float> values(static_cast<size_t>(count));
  if (tensor->type == GGML_TYPE_F32) {
    std::memcpy(values.data(), tensor->data, values.size() * sizeof(float));
  } else {
    ggml_get_type_traits(tensor->type)->to_float(tensor->data, values.data(), count);
  }
  std::vector<char> bytes(ggml_row_size(type, row) * static_cast<size_t>(count / row));
  if (type == GGML_TYPE_F32) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
  } else {
    ggml_quantize_chunk(type, values.data(), bytes.data(), 0, count / row, row, nullptr);
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) Fail("IN.gguf OUT.gguf TYPE");
  const ggml_type type = TypeOf(argv[3]);
  ggml_context* context = nullptr;
  gguf_context* in = gguf_init_from_file(argv[1], {/*no_alloc=*/false, &context});
  if (!in) Fail("cannot read the model");
  gguf_context* out = gguf_init_empty();
  gguf_set_kv(out, in);
  std::vector<std::vector<char>> made(static_cast<size_t>(gguf_get_n_tensors(in)));  // until it is written
  for (size_t i = 0; i < made.size(); ++i) {
    const char* name = gguf_get_tensor_name(in, static_cast<int64_t>(i));
    const ggml_tensor* tensor = ggml_get_tensor(context, name);
    gguf_add_tensor(out, tensor);
    if (!IsMatrix(name)) continue;
    made[i] = Converted(tensor, type);
    gguf_set_tensor_type(out, name, type);
    gguf_set_tensor_data(out, name, made[i].data());
  }
  if (!gguf_write_to_file(out, argv[2], /*only_meta=*/false)) Fail("cannot write");
}
