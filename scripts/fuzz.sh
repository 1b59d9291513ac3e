#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [-s SECONDS] [-b BUILD] [TARGET...]: builds the fuzz targets with clang, ASan and UBSan, runs each over its corpus
# and then SECONDS (default 60) more. Findings are kept in BUILD/findings and fail the run; a last line per target:
# `fuzz TARGET: N runs, N new inputs, N findings`. For hours: fuzz.sh -s 3600.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh
seconds=60 build=build-san
while getopts s:b: flag; do
  case $flag in s) seconds=$OPTARG ;; b) build=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
command -v clang++ >/dev/null || { say "fuzzing needs clang++"; exit 77; }
[ -f "$build/build.ninja" ] || CXX=clang++ meson setup "$build" -Dbuildtype=plain -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false \
  -Dfuzz=enabled -Dtests=enabled -Dbench=disabled >&2
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(grep -v '^#' tests/fuzz/targets.list)
ninja -C "$build" "${targets[@]/#/tests/fuzz/fuzz-}" >&2
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
