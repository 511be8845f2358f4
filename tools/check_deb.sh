#!/usr/bin/env bash
# Unpacks a .deb beside the system and runs what is in it; checks that it names the libraries it needs.
# Usage: tools/check_deb.sh FILE.deb
set -euo pipefail
[ $# -eq 1 ] || { sed -n '3s/^# //p' "$0" >&2; exit 64; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
fail() { echo "package: $*" >&2; exit 1; }

depends=$(dpkg-deb --field "$1" Depends)
for library in libc6 libstdc++6 libopenblas libhwy libfmt libpcre2-8; do
  [[ $depends == *$library* ]] || fail "does not depend on $library: $depends"
done
dpkg-deb --extract "$1" "$root"
[ -x "$root/usr/bin/ghost" ] || fail "has no /usr/bin/ghost"
if readelf --dynamic "$root/usr/bin/ghost" | grep -qE 'RPATH|RUNPATH'; then fail "the program looks for libraries in a folder of its own"; fi
(cd "$root" && env -u GHOST_MODELS usr/bin/ghost inspect tiny) | grep -q "$root/usr/share/ghost/models/tiny" ||
  fail "the program does not find its model"
echo "package: $(dpkg-deb --field "$1" Package Version Architecture | tr '\n' ' ')works; depends on $depends"
