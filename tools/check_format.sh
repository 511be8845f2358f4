#!/usr/bin/env bash
# Fails, and shows where, if a tracked .h or .cc file is not as clang-format writes it. Repair: clang-format -i FILE.
# Releases of clang-format differ in details, so the one of Debian 12 decides. CLANG_FORMAT names another program.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${CLANG_FORMAT:-}
[ -n "$program" ] || program=$(command -v clang-format-14 || command -v clang-format) || {
  echo "clang-format is missing; tools/setup.sh ci installs it" >&2
  exit 1
}
if ! "$program" --version | grep -q 'version 14\.'; then
  echo "clang-format 14 is needed, found: $("$program" --version)" >&2
  exit 1
fi
mapfile -d '' files < <(git ls-files -z -- '*.h' '*.cc')
[ ${#files[@]} -gt 0 ] || { echo "no source files found" >&2; exit 1; }
"$program" --dry-run -Werror "${files[@]}"
echo "format: ${#files[@]} files checked"
