#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [-n] [-s SECONDS] [-b BUILD] [TARGET...]: builds the fuzz targets (-n: they are built) with clang, ASan and UBSan,
# runs each over its corpus and then SECONDS (default 60) more. Findings are kept in BUILD/findings and fail the run; a last line per target:
# `fuzz TARGET: N runs, N new inputs, N findings`. For hours: fuzz.sh -s 3600.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh
seconds=60 build=build-san ready=no
while getopts ns:b: flag; do
  case $flag in n) ready=yes ;; s) seconds=$OPTARG ;; b) build=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(grep -v '^#' tests/fuzz/targets.list)
if [ $ready = no ]; then
  sanitizers_work || { echo "skipped: fuzzing needs clang++ and its runtime"; exit 77; }
  configure_sanitized "$build"
  ninja -C "$build" "${targets[@]/#/tests/fuzz/fuzz-}" >&2
fi
failed=0
for target in "${targets[@]}"; do
  found=$build/findings/$target grown=$build/corpus/$target log=$build/fuzz-$target.log
  mkdir -p "$found" "$grown"
  before=$(find "$found" -type f | wc -l) inputs=$(find "$grown" -type f | wc -l)
  ASAN_OPTIONS=hard_rss_limit_mb=1536:detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    "$build/tests/fuzz/fuzz-$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=65536 -artifact_prefix="$found/" \
    -print_final_stats=1 "$grown" "tests/fuzz/corpus/$target" >"$log" 2>&1 || failed=1
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  echo "fuzz $target: ${runs:-0} runs, $(($(find "$grown" -type f | wc -l) - inputs)) new inputs, $(($(find "$found" -type f | wc -l) - before)) findings"
  [ -n "$runs" ] || { say "see $log:"; tail -n 20 "$log" >&2; failed=1; }
done
exit $failed
