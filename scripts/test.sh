#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh: sets up, builds with tests in build-test/, runs all that CI runs, and ends with `N passed, N failed`.
# Environment: HANZO_CONFORMANCE, a folder of reference data; HANZO_MODELS, a folder of models (default: the cache).
# What needs one that is not there is skipped and named.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

# shellcheck disable=SC2086  # lists of words
install_packages $build_packages $test_packages
if [ -z "${HANZO_MODELS:-}" ] && [ -d "$model_cache" ]; then
  export HANZO_MODELS=$model_cache
fi
run_tests() {
  rm -f "$1/meson-logs/testlog.json"
  meson test -C "$1" --no-rebuild --num-processes "${HANZO_TEST_JOBS:-$(nproc)}" "${@:2}" >&2 || true
}

HANZO_RECONFIGURE=1 configure build-test -Ddefault_library=both -Dtests=enabled
ninja -C build-test >&2 || fail "the build failed"
run_tests build-test

# The same library under ASan and UBSan, too: unit tests, bad files, fuzz corpora and five seconds of fuzzing each. Without real
# models, which would run the same code for minutes. It takes what the rest leaves of the time that CI has: HANZO_SANITIZED=yes gives
# it as long as it takes, no leaves it out.
left() {
  local seconds=$((1320 - SECONDS))
  [ "${HANZO_SANITIZED:-auto}" != yes ] || seconds=infinity
  [ "$seconds" = infinity ] || [ $seconds -gt 0 ] || seconds=0.1
  echo "$seconds"
}
sanitized() {
  rm -f build-san/meson-logs/testlog.json
  [ "${HANZO_SANITIZED:-auto}" != no ] || { echo "HANZO_SANITIZED=no"; return; }
  # shellcheck disable=SC2086  # a list of words
  install_packages $sanitizer_packages
  install_packages libclang-rt-dev
  sanitizers_work || { echo "no clang++ with its runtime"; return; }
  HANZO_RECONFIGURE=1 configure_sanitized build-san
  local status=0
  timeout "$(left)" ninja -C build-san sanitized-tests >&2 || status=$?
  [ $status -eq 0 ] || [ $status -eq 124 ] || fail "the sanitized build failed"
  [ $status -eq 0 ] && { HANZO_MODELS='' timeout "$(left)" meson test -C build-san --no-rebuild --num-processes \
    "${HANZO_TEST_JOBS:-$(nproc)}" --suite sanitized >&2 || status=$?; }
  [ $status -ne 124 ] || echo "the machine is too slow for the time there is; HANZO_SANITIZED=yes takes it"
}
skipped=$(sanitized)
logs=(build-test/meson-logs/testlog.json)
if [ -s build-san/meson-logs/testlog.json ]; then logs+=(${skipped:+--cut} build-san/meson-logs/testlog.json); fi
python3 scripts/test_summary.py "${logs[@]}" ${skipped:+--skip "the sanitized build and the fuzz targets: $skipped"}
