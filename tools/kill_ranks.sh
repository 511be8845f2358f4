#!/usr/bin/env bash
# Kills one process of a run under mpirun with kill -9 at a random moment, many times: the run must end within 10 seconds,
# with an error and without output, and --resume with another number of processes must give the bytes of a whole run.
# Usage: tools/kill_ranks.sh [TIMES] [GHOST]   TIMES: runs that are killed, half of them prune, half train; default 10
set -euo pipefail
cd "$(dirname "$0")/.."
times=${1:-10}
ghost=$(realpath "${2:-build/ghost}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

launcher=(mpirun --oversubscribe --bind-to none)
[ "$(id -u)" -eq 0 ] && launcher+=(--allow-run-as-root)

for ((i = 0; i < 3000; ++i)); do echo "Line $i of a story that says $((i * 7919 % 1009)) and $((i % 13))."; done >"$work/text"
tokenizer=tests/fixtures/byte-tokenizer/tokenizer.json

run() { # VERB OUTPUT MORE...: the arguments of a run
  local verb=$1 output=$2
  shift 2
  if [ "$verb" = prune ]; then
    arguments=(prune tiny --calibration "$work/text" --samples 12 --length 512 --output "$output" --threads 1 --quiet "$@")
  else
    arguments=(train --corpus "$work/text" --tokenizer "$tokenizer" --config tiny --steps 12 --batch 4 --micro-batch 1
      --length 64 --save-every 2 --output "$output" --threads 1 --quiet "$@")
  fi
}

hashes() { sha256sum <"$1/model.safetensors"; }

for verb in prune train; do
  run $verb "$work/whole-$verb"
  "$ghost" "${arguments[@]}" >/dev/null
  run $verb "$work/timed-$verb"
  begin=$(date +%s%N)
  "${launcher[@]}" -n 3 "$ghost" "${arguments[@]}" >/dev/null
  declare "milliseconds_$verb=$((($(date +%s%N) - begin) / 1000000))"
done

failures=0
killed=0
for ((i = 0; i < times; ++i)); do
  verb=$([ $((i % 2)) -eq 0 ] && echo prune || echo train)
  output=$work/out-$i
  processes=$((2 + i % 3))
  run $verb "$output"
  "${launcher[@]}" -n $processes "$ghost" "${arguments[@]}" >/dev/null 2>"$work/err" &
  job=$!
  total=milliseconds_$verb
  sleep "$(awk -v ms="${!total}" -v r=$RANDOM 'BEGIN { printf "%.3f", ms * r / 32768 / 1000 }')"
  mapfile -t ranks < <(pgrep -P $job -x ghost || true)
  if [ ${#ranks[@]} -gt 0 ]; then
    kill -9 "${ranks[RANDOM % ${#ranks[@]}]}" 2>/dev/null || true
    killed=$((killed + 1))
  fi
  for ((tenths = 0; tenths < 100; ++tenths)); do
    kill -0 $job 2>/dev/null || break
    sleep 0.1
  done
  code=0
  if kill -0 $job 2>/dev/null; then
    echo "run $i ($verb, $processes processes) hangs" >&2
    kill -9 $job
    failures=$((failures + 1))
    continue
  fi
  wait $job || code=$?
  if [ $code -ne 0 ] && [ -e "$output" ]; then
    echo "run $i ($verb) failed with code $code and left output" >&2
    failures=$((failures + 1))
  fi
  if [ $code -ne 0 ]; then
    run $verb "$output" --resume
    "${launcher[@]}" -n $((5 - processes)) "$ghost" "${arguments[@]}" >/dev/null 2>"$work/err" || cat "$work/err" >&2
  fi
  if [ "$(hashes "$output")" != "$(hashes "$work/whole-$verb")" ]; then
    echo "run $i ($verb) ended in other bytes" >&2
    failures=$((failures + 1))
  fi
  rm -rf "$output" "$output".*
done
echo "$times runs, $killed of them killed while they ran, $failures failures"
[ $failures -eq 0 ]
