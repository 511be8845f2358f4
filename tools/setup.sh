#!/usr/bin/env bash
# Makes sure that everything the build needs is installed: Debian 12 packages only. Does nothing, and needs no network,
# when it is all there. Installs through apt-get as root or with sudo, and says what and why before it does.
# Usage: tools/setup.sh [ci]   ci: also what only .ci/run uses
set -euo pipefail

# package -> why
packages=(
  "g++:the compiler, C++20"
  "cmake:the build system"
  "ninja-build:runs the build"
  "pkg-config:finds the libraries below"
  "git:names the commit in benchmark results"
  "libcli11-dev:command line"
  "nlohmann-json3-dev:JSON"
  "libfmt-dev:formatted output"
  "libhwy-dev:SIMD with run-time dispatch (Google Highway)"
  "libopenblas-serial-dev:LAPACK, and a second matrix product to measure ours against"
  "libpcre2-dev:regular expressions of tokenizers"
  "libutf8proc-dev:Unicode normalisation and categories"
  "zlib1g-dev:texts packed with gzip"
  "liblzma-dev:texts packed with xz"
  "libxxhash-dev:content hashes"
  "libcpp-httplib-dev:HTTP of ghost serve"
  "libbrotli-dev:headers that cpp-httplib includes"
  "libssl-dev:headers that cpp-httplib includes; SHA-256 in tests"
  "libopenmpi-dev:runs on several machines (optional)"
  "openmpi-bin:mpirun, which starts them (optional)"
  "bubblewrap:the sandbox in which humaneval's programs run (optional at run time)"
  "python3:runs those programs"
  "fortunes:English text for the demo"
  "jq:reads results in scripts"
  "libgtest-dev:tests"
  "libgmock-dev:tests"
  "libbenchmark-dev:micro-benchmarks"
)
if [ "${1:-}" = ci ]; then
  packages+=(
    "clang:a second compiler's warnings"
    "clang-format:the format of the sources"
    "shellcheck:the scripts"
    "dpkg-dev:dependencies of the .deb"
    "file:kinds of files in the .deb"
    "man-db:checks the manual page"
  )
fi

missing=()
for entry in "${packages[@]}"; do
  name=${entry%%:*}
  if ! dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'install ok installed'; then
    missing+=("$name")
    echo "missing: $name (${entry#*:})" >&2
  fi
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "This is not a Debian system. Please install what is listed above with your own package manager." >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Please run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
install=("${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}")
# The package list may be old or absent on a fresh machine: refresh it only when it has to be.
"${install[@]}" >/dev/null 2>&1 || { "${as_root[@]}" apt-get update -qq >&2 && "${install[@]}" >&2; }
