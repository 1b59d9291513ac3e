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

# With HANZO_SANITIZED=yes the same library under ASan and UBSan, too: unit tests, bad files, fuzz corpora and five seconds of
# fuzzing each. Without real models, which would run the same code for minutes.
skipped=
if [ "${HANZO_SANITIZED:-no}" != yes ]; then
  skipped="HANZO_SANITIZED=yes runs them"
else
  # shellcheck disable=SC2086  # a list of words
  install_packages $sanitizer_packages
  install_packages libclang-rt-dev
  sanitizers_work || skipped="no clang++ with its runtime"
fi
if [ -z "$skipped" ]; then
  HANZO_RECONFIGURE=1 configure_sanitized build-san
  ninja -C build-san sanitized-tests >&2 || fail "the sanitized build failed"
  HANZO_MODELS='' run_tests build-san --suite sanitized
  python3 scripts/test_summary.py build-test/meson-logs/testlog.json build-san/meson-logs/testlog.json
else
  python3 scripts/test_summary.py build-test/meson-logs/testlog.json --skip "the sanitized build and the fuzz targets: $skipped"
fi
