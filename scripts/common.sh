# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# Sourced by the scripts: packages, builds, the model cache. Everything it says goes to stderr.

build_packages="g++ meson ninja-build pkg-config git ccache python3 python3-pip ca-certificates
  libfmt-dev libcli11-dev nlohmann-json3-dev libpcre2-dev libutf8proc-dev libssl-dev libedit-dev liblzma-dev libtomlplusplus-dev"
test_packages="catch2 cmake make binutils libvalijson-dev libopenmpi-dev openmpi-bin"
sanitizer_packages="clang llvm"  # and clang's runtime, where it is a package of its own: libclang-rt-dev
full_packages="clang-tidy clang-tools util-linux"
model_cache=${XDG_CACHE_HOME:-$HOME/.cache}/hanzo

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

# Installs the packages that are not there yet. Where that cannot be done the build itself tells what is missing.
install_packages() {
  command -v dpkg-query >/dev/null || { say "not a Debian system: install the equivalents of: $*"; return 0; }
  local package missing=() have
  have=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qx "$package installed" <<<"$have" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { say "not root and no sudo: please install: ${missing[*]}"; return 0; }
    root=(sudo)
  fi
  say "installing: ${missing[*]}"
  { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}"; } >&2 ||
    say "warning: apt-get failed; going on with what is there"
}

# Whether clang++ can build and run what the sanitized build needs; what is wrong goes to stderr.
sanitizers_work() {
  command -v clang++ >/dev/null || { say "there is no clang++"; return 1; }
  local probe works=0
  probe=$(mktemp)
  clang++ -x c++ - -fsanitize=address,undefined,fuzzer -o "$probe" <<<'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' &&
    "$probe" -runs=1 >/dev/null 2>&1 || works=1
  rm -f "$probe"
  return $works
}

export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}  # else ccache leaves what has a precompiled header

# The sanitized build in FOLDER: library, unit tests, bad files and fuzz targets under ASan and UBSan, by clang, whose
# precompiled headers hold paths, so that each checkout has a cache of its own.
configure_sanitized() {
  export CCACHE_NAMESPACE=$PWD
  if [ "${HANZO_RECONFIGURE:-0}" = 0 ] && [ -f "$1/build.ninja" ]; then return 0; fi
  local wrap=; command -v ccache >/dev/null && wrap="ccache "  # meson looks for it only where CXX is not set
  CXX="${wrap}clang++" configure "$1" -Dbuildtype=plain -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=enabled -Dtests=enabled \
    -Dbench=disabled
}

# configure FOLDER OPTIONS...: meson setup; again when the options changed or with HANZO_RECONFIGURE=1. A folder that
# somebody else set up without options is taken as it is.
configure() {
  local folder=$1 stamp=$1/.hanzo-options again=()
  shift
  if [ -f "$folder/build.ninja" ]; then
    if [ "$*" = "$(cat "$stamp" 2>/dev/null)" ] && [ "${HANZO_RECONFIGURE:-0}" = 0 ]; then return 0; fi
    again=(--reconfigure)
  fi
  local log
  log=$(mktemp)
  if ! meson setup "${again[@]}" "$folder" "$@" >"$log" 2>&1; then  # some hundred lines that matter only now
    cat "$log" >&2
    rm -f "$log"
    fail "meson setup failed; if $folder is of another machine or version, remove it"
  fi
  rm -f "$log"
  printf '%s' "$*" >"$stamp"
}
