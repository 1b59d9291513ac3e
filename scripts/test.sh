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
HANZO_RECONFIGURE=1 configure build-test -Ddefault_library=both -Dtests=enabled
ninja -C build-test >&2 || fail "the build failed"
rm -f build-test/meson-logs/testlog.json
meson test -C build-test --no-rebuild --num-processes "${HANZO_TEST_JOBS:-$(nproc)}" >&2 || true
python3 scripts/test_summary.py build-test/meson-logs/testlog.json
