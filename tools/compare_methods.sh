#!/usr/bin/env bash
# What every pruning method costs at 50, 70 and 90 %: perplexity and bits per byte on held-out text, and recall. Prints a
# Markdown table; results are kept in OUTPUT, so an interrupted run goes on where it stopped.
# Usage: tools/compare_methods.sh MODEL CALIBRATION-TEXT HELD-OUT-TEXT OUTPUT
#   WINDOWS (100): windows of 512 tokens of the held-out text    DOCUMENTS (300): of recall
#   SAMPLES (64): windows of 512 tokens to calibrate on          SPARSITIES, METHODS, SEEDS: lists
set -euo pipefail
[ $# -eq 4 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 64; }
model=$1 calibration=$2 held_out=$3 out=$4
ghost=$(dirname "$0")/../build/ghost
read -ra sparsities <<<"${SPARSITIES:-0.5 0.7 0.9}"
read -ra methods <<<"${METHODS:-ghost ghost-p ghost-q ghost-legacy taylor sparsegpt magnitude random}"
read -ra seeds <<<"${SEEDS:-1 2 3 4 5}"
mkdir -p "$out"

# evaluate NAME MODEL -> OUT/NAME.json: {perplexity, bits_per_byte, recall}
evaluate() {
  local result="$out/$1.json"
  [ -e "$result" ] && return
  "$ghost" eval "$2" --task perplexity --data "$held_out" --join file --max-length 512 \
    --limit "${WINDOWS:-100}" --json --quiet >"$out/text.tmp"
  "$ghost" eval "$2" --task recall --limit "${DOCUMENTS:-300}" --json --quiet >"$out/recall.tmp"
  jq -n --slurpfile text "$out/text.tmp" --slurpfile recall "$out/recall.tmp" \
    '{perplexity: $text[0].results[0].perplexity, bits_per_byte: $text[0].results[0].bits_per_byte,
      recall: $recall[0].results[0].accuracy}' >"$result.tmp"
  mv "$result.tmp" "$result"
}

# prune_and_evaluate NAME PRUNE-OPTIONS...
prune_and_evaluate() {
  local name=$1
  shift
  [ -e "$out/$name.json" ] && return
  echo "$name" >&2
  "$ghost" prune "$model" "$@" --output "$out/model.tmp" --force --quiet >/dev/null 2>&1 ||
    { "$ghost" prune "$model" "$@" --output "$out/model.tmp" --force --quiet; exit 1; }
  evaluate "$name" "$out/model.tmp"
}

echo "(unpruned)" >&2
evaluate dense "$model"
calibrate=(--calibration "$calibration" --join file --samples "${SAMPLES:-64}" --length 512)
for sparsity in "${sparsities[@]}"; do
  for method in "${methods[@]}"; do
    if [ "$method" = random ]; then
      for seed in "${seeds[@]}"; do
        prune_and_evaluate "random-$sparsity-$seed" --method random --sparsity "$sparsity" --seed "$seed" "${calibrate[@]}"
      done
    else
      prune_and_evaluate "$method-$sparsity" --method "$method" --sparsity "$sparsity" "${calibrate[@]}"
    fi
  done
done
# The whole state removed: every list of kept channels is empty.
"$ghost" inspect "$model" --json | jq '{layers: [.layers[] | select(.state_sizes) | {layer, kept: [.state_sizes[] | []]}]}' >"$out/none.tmp"
prune_and_evaluate none --mask-file "$out/none.tmp" --mask

row() { # DROPPED METHOD FILES...
  jq -rs --arg dropped "$1" --arg method "$2" '
    def mean: add / length;
    def spread: if length < 2 then "" else (mean as $m | " ± \((map((. - $m) * (. - $m)) | add / (length - 1) | sqrt) * 100 | round / 100)") end;
    def digits($n): . * pow(10; $n) | round / pow(10; $n);
    "| \($dropped) | \($method) | \(map(.perplexity) | mean | digits(2))\(map(.perplexity) | spread) | \(map(.bits_per_byte) | mean | digits(4)) | \(map(.recall * 100) | mean | digits(1))\(map(.recall * 100) | spread) |"' \
    "${@:3}"
}
echo "| dropped | method | perplexity | bits per byte | recall, % |"
echo "|---:|---|---:|---:|---:|"
row 0 "(unpruned)" "$out/dense.json"
for sparsity in "${sparsities[@]}"; do
  for method in "${methods[@]}"; do
    label=$method
    [ "$method" = random ] && label="random, ${#seeds[@]} seeds"
    row "$(jq -n "$sparsity * 100 | round") %" "$label" "$out/$method-$sparsity"*.json
  done
done
row "100 %" "(no state)" "$out/none.json"
rm -rf "$out/model.tmp" "$out/"*.tmp
