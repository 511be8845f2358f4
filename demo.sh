#!/usr/bin/env bash
# A first look: sets up and builds, then loads a Mamba2 model, describes it, lets it generate and measures it.
# Usage: ./demo.sh [MODEL]   MODEL: a checkpoint directory or .gguf file of your own, with its tokenizer.
set -euo pipefail
cd "$(dirname "$0")"
tools/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target ghost
ghost=build/ghost

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -n "${NO_COLOR:-}" ] && say() { printf '\n%s\n' "$*"; }

if [ $# -gt 0 ]; then
  model=$1
  tokenizer=()
  prompt="Once upon a time"
else
  # A tiny reference model with random weights ships with the tests. It has 256 tokens, one per byte, so what it
  # writes is noise; the point is that every step is the real one.
  model=tests/golden/m2_g1_n128_bf16
  tokenizer=(--tokenizer tests/fixtures/byte-tokenizer)
  prompt="The state of a Mamba2 model"
fi

say "1. What is in the model: ghost inspect $model"
"$ghost" inspect "$model"

say "2. Text from it: ghost generate $model --prompt \"$prompt\""
[ $# -gt 0 ] || echo "(random weights: expect noise, not English)"
"$ghost" generate "$model" "${tokenizer[@]}" --prompt "$prompt" --max-tokens 64 --temperature 0.8 --seed 1 | LC_ALL=C tr -c '[:print:]\n' '.'

if [ $# -eq 0 ]; then
  say "3. Does it compute what the reference implementation computes? ghost eval on the reference's own tokens"
  "$ghost" eval "$model" --task perplexity --input "$model/expected.safetensors" --norm-groups full
  echo "the Hugging Face implementation reports a loss of $(sed -n 's/.*"loss": \([0-9.]*\).*/\1/p' "$model/case.json") on the same tokens"

  say "4. How fast is this machine on a real size? ghost bench --shape mamba2-130m (random weights)"
  "$ghost" bench --shape mamba2-130m --batch 1,32 --decode 16 --repeats 3
fi
