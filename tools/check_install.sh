#!/usr/bin/env bash
# Installs a build into a temporary prefix, moves it, and tries what was installed: the program finds its model, the
# manual page has no errors, the completions complete. Usage: tools/check_install.sh BUILD-FOLDER [CMAKE]
set -euo pipefail
[ $# -ge 1 ] || { sed -n '3s/^.*Usage: //p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${2:-cmake}" --install "$1" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
prefix=$work/moved
fail() { echo "install: $*" >&2; exit 1; }

cd "$work"  # no models/ here
env -u GHOST_MODELS "$prefix/bin/ghost" inspect tiny >"$work/inspect.txt"
grep -q "$prefix/share/ghost/models/tiny" "$work/inspect.txt" || fail "another model was found: $(cat "$work/inspect.txt")"

page=$prefix/share/man/man1/ghost.1
for verb in inspect generate prune eval bench; do
  grep -q "^\.SS ghost $verb\$" "$page" || fail "the manual page lacks $verb"
done
if command -v man >/dev/null; then
  MANROFFSEQ='' LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page" 2>"$work/warnings.txt" >"$work/page.txt"
  [ ! -s "$work/warnings.txt" ] || fail "manual page: $(head -3 "$work/warnings.txt")"
  grep -q -- --sparsity "$work/page.txt" || fail "the manual page does not show --sparsity"
else
  echo "install: man is not installed: the manual page was not formatted"
fi

completion=$prefix/share/bash-completion/completions/ghost
bash -n "$completion"
reply() { # WORDS...: what bash would offer for the last one
  # shellcheck disable=SC2016  # expanded by the inner shell
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ghost; printf "%s\n" "${COMPREPLY[@]}"' \
    bash "$completion" "$@"
}
[ "$(reply ghost insp)" = inspect ] || fail "bash does not complete a verb: $(reply ghost insp)"
[ "$(reply ghost prune --spars)" = --sparsity ] || fail "bash does not complete a flag: $(reply ghost prune --spars)"
[ "$(reply ghost inspect insp)" = inspect.txt ] || fail "bash does not complete a file: $(reply ghost inspect insp)"
for shell in zsh fish; do
  case $shell in
    zsh) file=$prefix/share/zsh/site-functions/_ghost ;;
    fish) file=$prefix/share/fish/vendor_completions.d/ghost.fish ;;
  esac
  grep -q sparsity "$file" || fail "$file lacks --sparsity"
  if command -v $shell >/dev/null; then $shell -n "$file"; else echo "install: $shell is not installed: $file was not parsed"; fi
done
echo "install: works"
