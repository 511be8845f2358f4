#!/usr/bin/env bash
# Sets up, builds and runs every test.
# Usage: ./test.sh [PRESET [CTEST-OPTION...]]   PRESET: release (default), debug, asan-ubsan, tsan or clang
set -euo pipefail
cd "$(dirname "$0")"
preset=${1:-release}
shift $(($# > 0 ? 1 : 0))
tools/setup.sh
cmake --preset "$preset"
cmake --build --preset "$preset"
ctest --preset "$preset" --label-exclude slow --parallel "$(nproc)" "$@"
