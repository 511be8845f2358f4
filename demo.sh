#!/usr/bin/env bash
# A demonstration in four minutes: drops 50, 70 and 90 % of the state of the small trained model in models/tiny, and shows
# the loss of quality and the gain in speed.
# Usage: ./demo.sh [FILE]   FILE: your own English text to calibrate and measure on (100 kB or more)
set -euo pipefail
[ $# -eq 0 ] || set -- "$(realpath -m -- "$1")"  # before cd
[ $# -eq 0 ] || [ -r "$1" ] || { echo "cannot read $1" >&2; exit 66; }
cd "$(dirname "$0")"
export LC_ALL=C.UTF-8  # decimal points
tools/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target ghost
ghost=build/ghost
out=build/demo
mkdir -p "$out"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -n "${NO_COLOR:-}" ] && say() { printf '\n%s\n' "$*"; }

# Writes every tenth piece of the text to $out/held-out.txt, the others to $out/calibration.txt.
split_text() { # SEPARATOR FILE...
  rm -f "$out/calibration.txt" "$out/held-out.txt"
  local separator=$1
  shift
  awk -v held="$out/held-out.txt" -v rest="$out/calibration.txt" -v RS="$separator" -v ORS='\n\n' \
    '{ print > (NR % 10 == 0 ? held : rest) }' "$@"
}
if [ $# -gt 0 ]; then
  split_text '\n\n+' "$1"
  text=$1
else
  fortunes=(education humorists law literature love men-women news people politics science wisdom work)
  split_text '\n%\n' "${fortunes[@]/#//usr/share/games/fortunes/}"
  text="Debian's fortunes"
fi
if [ "$(stat -c %s "$out/held-out.txt" 2>/dev/null || echo 0)" -lt 8192 ]; then
  echo "$text is too short: at least 100 kB of text in paragraphs are needed" >&2
  exit 65
fi

say "1. The model: ghost inspect tiny"
"$ghost" inspect tiny

say "2. Drop state, calibrated on $text"
# prune NAME OPTIONS...: prints the command that it runs.
prune() {
  local name=$1
  shift
  local command=("$ghost" prune tiny "$@" --samples 64 --length 512 --output "$out/$name" --force --quiet)
  echo "${command[*]}"
  "${command[@]}" >/dev/null 2>"$out/notes.txt" || { cat "$out/notes.txt" >&2; exit 1; }
  cat "$out/notes.txt"  # which other runtimes accept the result
}
calibration=(--calibration "$out/calibration.txt" --join file)
echo "As in the paper: every layer loses half of its channels"
prune ghost --sparsity 0.5 "${calibration[@]}"
echo "Layers share a budget; the calibration also has recall documents (not those measured below)"
prune budget --sparsity 0.5 --budget layers "${calibration[@]}" --calibration task:recall
echo "Directions of the state instead of channels, layers share a budget"
for share in 50 70 90; do
  prune "balanced$share" --method balanced --sparsity "0.$share" --budget layers "${calibration[@]}" --calibration task:recall
done
models=(ghost budget balanced50 balanced70 balanced90)

prompt="The old man looked at the sea and"
say "3. The same prompt before and after: ghost generate MODEL --prompt \"$prompt\""
for model in tiny "$out/balanced70"; do
  printf '[%s]\n' "$model"
  "$ghost" generate "$model" --prompt "$prompt" --max-tokens 60 --temperature 0.7 --top-p 0.9 --seed 6 --quiet 2>/dev/null
  echo
done

say "4. Loss and gain"
echo "(perplexity on the held-out tenth of $text; recall: share of names, numbers and lists remembered in"
echo " generated documents; N: mean over the layers; tokens/s: 32 sequences at once, all models measured alternately;"
echo " bytes: the gain if only bytes of weights and state counted; arithmetic that does not shrink keeps the gain below it)"
results=$out/results
mkdir -p "$results"
"$ghost" bench tiny "${models[@]/#/--compare=$out/}" --batch 32 --prefill 0 --decode 32 --repeats 15 --quiet \
  --output "$results/bench.json" >/dev/null
row() { # NAME MODEL PLACE-IN-BENCH
  "$ghost" inspect "$2" --json >"$results/inspect.tmp"
  "$ghost" eval "$2" --task perplexity,recall --data "$out/held-out.txt" --join file --max-length 512 --limit 200 --quiet \
    --output "$results/$1.json" >/dev/null
  local cells
  cells=$(jq -rs --argjson place "$3" '
    .[0] as $inspect | .[1].results as $eval | [.[2].rows[].tokens_per_second] as $speed
    | [.[2].rows[] | .weight_bytes_per_token + .state_bytes_per_token] as $bytes
    | ([$inspect.layers[].state_sizes[]] | add / length | round), $inspect.state_bytes_per_sequence,
      1e9 / $inspect.state_bytes_per_sequence, $eval[0].perplexity, $eval[1].accuracy * 100, $speed[$place],
      $speed[$place] / $speed[0], $bytes[0] / $bytes[$place]' \
    "$results/inspect.tmp" "$results/$1.json" "$results/bench.json")
  # shellcheck disable=SC2086  # eight words
  printf '%-11s %4d %12d %9.0f %11.2f %7.1f %% %9.0f %6.2f %6.2f\n' "$1" $cells
}
printf '\n%-11s %4s %12s %9s %11s %9s %9s %6s %6s\n' method N "bytes/seq." "seq./GB" perplexity recall "tokens/s" gain bytes
row unpruned tiny 0
for i in "${!models[@]}"; do row "${models[i]}" "$out/${models[i]}" $((i + 1)); done
rm "$results/inspect.tmp"
echo
"$ghost" report "$out" --title "Less state for tiny, dropped in five ways" --output "$out/report.html"
echo "The smaller models are in $out. Hugging Face transformers loads $out/ghost as it is, and the others, whose layers have"
echo "different sizes, with the code beside them (trust_remote_code=True)."
