#!/usr/bin/env bash
# Measures the cost of every pruning method at 50, 70 and 90 %: perplexity and bits per byte on held-out text, and recall.
# Prints a Markdown table and writes OUTPUT/report.html. Results are kept in OUTPUT, so an interrupted run can be resumed.
# Usage: tools/compare_methods.sh MODEL CALIBRATION-TEXT HELD-OUT-TEXT OUTPUT
#   WINDOWS (100): windows of 512 tokens of the held-out text    DOCUMENTS (300): of recall
#   SAMPLES (64): windows of 512 tokens to calibrate on          SPARSITIES, METHODS, SEEDS: lists
#   PRUNE: further options of ghost prune, as in "--storage masked --pool layer"
set -euo pipefail
[ $# -eq 4 ] || { sed -n '2,8s/^# //p' "$0" >&2; exit 64; }
model=$1 calibration=$2 held_out=$3 out=$4
ghost=$(dirname "$0")/../build/ghost
read -ra sparsities <<<"${SPARSITIES:-0.5 0.7 0.9}"
read -ra methods <<<"${METHODS:-ghost ghost-p ghost-q ghost-legacy taylor sparsegpt magnitude random}"
read -ra seeds <<<"${SEEDS:-1 2 3 4 5}"
mkdir -p "$out"

# evaluate NAME MODEL -> OUT/NAME/text.json, OUT/NAME/recall.json
evaluate() {
  mkdir -p "$out/$1"
  [ -e "$out/$1/text.json" ] || "$ghost" eval "$2" --task perplexity --data "$held_out" --join file --max-length 512 \
    --limit "${WINDOWS:-100}" --output "$out/$1/text.json" --quiet >/dev/null
  [ -e "$out/$1/recall.json" ] || "$ghost" eval "$2" --task recall --limit "${DOCUMENTS:-300}" \
    --output "$out/$1/recall.json" --quiet >/dev/null
}

# prune_and_evaluate NAME PRUNE-OPTIONS...
prune_and_evaluate() {
  local name=$1
  shift
  [ -e "$out/$name/recall.json" ] && return
  echo "$name" >&2
  "$ghost" prune "$model" "$@" --output "$out/model.tmp" --force --quiet >/dev/null 2>&1 ||
    { "$ghost" prune "$model" "$@" --output "$out/model.tmp" --force --quiet; exit 1; }
  evaluate "$name" "$out/model.tmp"
}

echo "(unpruned)" >&2
evaluate dense "$model"
read -ra calibrate <<<"${PRUNE:-}"
calibrate+=(--calibration "$calibration" --join file --samples "${SAMPLES:-64}" --length 512)
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
# The model without any state: every list of kept channels is empty.
"$ghost" inspect "$model" --json | jq '{layers: [.layers[] | select(.state_sizes) | {layer, kept: [.state_sizes[] | []]}]}' >"$out/none.tmp"
prune_and_evaluate none --mask-file "$out/none.tmp" --storage masked

row() { # DROPPED METHOD NAMES...
  jq -rs --arg dropped "$1" --arg method "$2" '
    def mean: add / length;
    def spread: if length < 2 then "" else (mean as $m | " ± \((map((. - $m) * (. - $m)) | add / (length - 1) | sqrt) * 100 | round / 100)") end;
    def digits($n): . * pow(10; $n) | round / pow(10; $n);
    [.[].results[0]] | (map(select(.perplexity))) as $text | (map(select(.accuracy).accuracy * 100)) as $recall
    | "| \($dropped) | \($method) | \($text | map(.perplexity) | mean | digits(2))\($text | map(.perplexity) | spread) | \($text | map(.bits_per_byte) | mean | digits(4)) | \($recall | mean | digits(1))\($recall | spread) |"' \
    "${@:3}"
}
echo "| dropped | method | perplexity | bits per byte | recall, % |"
echo "|---:|---|---:|---:|---:|"
row 0 "(unpruned)" "$out/dense/"*.json
for sparsity in "${sparsities[@]}"; do
  for method in "${methods[@]}"; do
    label=$method
    [ "$method" = random ] && label="random, ${#seeds[@]} seeds"
    row "$(jq -n "$sparsity * 100 | round") %" "$label" "$out/$method-$sparsity"*/*.json
  done
done
row "100 %" "(no state)" "$out/none/"*.json
rm -rf "$out/model.tmp" "$out/"*.tmp
"$ghost" report "$out" --title "What pruning costs: $(basename "$model")" >&2
