#!/usr/bin/env bash
# Sets up, builds and runs every test. Usage: ./test.sh [PRESET], PRESET one of release (default), debug, asan-ubsan, tsan.
set -euo pipefail
cd "$(dirname "$0")"
preset=${1:-release}
tools/setup.sh
cmake --preset "$preset"
cmake --build --preset "$preset"
ctest --preset "$preset" --label-exclude slow --parallel "$(nproc)"
