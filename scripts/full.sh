#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# full.sh [STEP...]: what is too long for CI. Steps: werror clang levels hashes asan tsan tidy fuzz subproject
# coverage aarch64 (all without arguments). Each has a log in build-full/; ends with `N passed, N failed, N skipped` steps.
# A new step is a function step_<name> and its name in the list below.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/common.sh
logs=$PWD/build-full
jobs=${HANZO_TEST_JOBS:-$(nproc)}

# build NAME COMPILER OPTIONS...: a build of its own in build-full/NAME; of $targets alone where that is set.
build() {
  local folder=$logs/$1
  if [ ! -f "$folder/build.ninja" ]; then CXX=$2 meson setup "$folder" "${@:3}" || return 1; fi
  # shellcheck disable=SC2086  # a list of words
  ninja -k 0 -C "$folder" ${targets-}
}

# build_sanitized NAME SANITIZERS TARGETS, by GCC. Lines are enough to name a place (-g1): tracking variables takes minutes a kernel.
build_sanitized() {
  targets=$3 build "$1" "${HANZO_SAN_CXX:-g++}" -Dbuildtype=plain -Doptimization=1 -Dcpp_args=-g1 "-Db_sanitize=$2" -Db_lundef=false -Dtests=enabled
}

# run_tests NAME TESTS...: summed like scripts/test.sh; a build whose tests are all skipped has not passed.
run_tests() {
  rm -f "$logs/$1/meson-logs/testlog.json"
  meson test -C "$logs/$1" --no-rebuild --num-processes "$jobs" --timeout-multiplier 5 "${@:2}" >/dev/null
  python3 scripts/test_summary.py "$logs/$1/meson-logs/testlog.json"
}

step_werror() { build gcc-werror g++ -Dwerror=true -Dtests=enabled; }

step_clang() {
  command -v clang++ >/dev/null || return 77
  build clang clang++ -Dwerror=true -Dtests=enabled && run_tests clang unit conformance tools-behaviour
}

step_levels() {
  local level
  for level in 1 2; do
    build "gcc-O$level" g++ -Dbuildtype=plain "-Doptimization=$level" -Dtests=enabled && run_tests "gcc-O$level" unit conformance || return 1
  done
}

# The same bits from every compiler and level: logits of the own models, and of SmolLM2 where it is.
step_hashes() {
  local model models=(tests/data/arch/*/model.gguf) tool hashes found=0
  [ -f "${HANZO_MODELS:-$model_cache}/SmolLM2-135M-Instruct.Q4_1.gguf" ] && models+=("${HANZO_MODELS:-$model_cache}/SmolLM2-135M-Instruct.Q4_1.gguf")
  for model in "${models[@]}"; do
    hashes=$(for tool in build/tools/hz-run build-test/tools/hz-run "$logs"/*/tools/hz-run; do
      case $tool in */asan/*|*/tsan/*|*/coverage/*) continue ;; esac
      [ -x "$tool" ] && printf '%s %s\n' "$("$tool" -m "$model" --logits-hash --ids "$(seq -s, 1 95)" -q)" "$tool"
    done)
    printf '%s\n%s\n' "$model" "$hashes"
    found=$(cut -d' ' -f2 <<<"$hashes" | wc -l)
    [ "$found" -ge 2 ] || { echo "only $found builds to compare"; return 77; }
    grep -qE '^[0-9a-f]{64} ' <<<"$hashes" || { echo "no hash"; return 1; }
    [ "$(cut -d' ' -f1 <<<"$hashes" | sort -u | wc -l)" -eq 1 ] || { echo "the hashes differ"; return 1; }
  done
}

# Every set and all tests, by GCC; what scripts/test.sh sanitizes is Clang's, without AVX-512 and the slow ones.
# allocator_may_return_null: tests ask for more memory than any machine has, and for the error that this is.
step_asan() {
  build_sanitized asan address,undefined "tests/hanzo-tests tests/conformance/hz-conformance" &&
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 run_tests asan unit conformance
}

# The address layout of some kernels stops TSan unless randomisation is off; where that is refused it says so.
step_tsan() {
  build_sanitized tsan thread "tests/hanzo-tests tools/hz-run" || return 1
  local fixed=()
  if ! "$logs/tsan/tests/hanzo-tests" "a default progress*" >/dev/null 2>&1; then
    setarch -R true 2>/dev/null || { echo "TSan cannot run here, and setarch -R is refused"; return 77; }
    fixed=(setarch -R)
  fi
  # Some tests fork once the pool runs and start threads in the child.
  TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 "${fixed[@]}" "$logs/tsan/tests/hanzo-tests" "[threads],*parallel*,*thread*,*pool*,*caller*" &&
    TSAN_OPTIONS=halt_on_error=1 "${fixed[@]}" "$logs/tsan/tools/hz-run" -m tests/data/arch/llama/model.gguf -t 4 --temp 0 -n 16 --ids "$(seq -s, 1 95)"
}

step_tidy() {
  command -v run-clang-tidy >/dev/null || return 77
  build clang clang++ -Dwerror=true -Dtests=enabled && run-clang-tidy -quiet -j "$jobs" -p "$logs/clang" "^$PWD/(src|kernels|tools)/.*" 2>/dev/null |
    sed -E '/^clang-tidy/d' || return 1
  echo "no findings in $(grep -cE '"file": "../../(src|kernels|tools)/' "$logs/clang/compile_commands.json") files"
}

step_fuzz() { scripts/fuzz.sh -s "${HANZO_FUZZ_SECONDS:-30}"; }

step_aarch64() { scripts/aarch64.sh "$logs/aarch64"; }

step_subproject() {
  build subproject g++ -Ddefault_library=both -Dtests=disabled &&
    python3 tests/packaging/consumers.py --root . --build "$logs/subproject" --prefix /usr/local --compile-subproject
}

# Line coverage of the unit and conformance tests: of everything by file, then of what reads input, which needs 95 %.
step_coverage() {
  command -v llvm-cov >/dev/null && command -v clang++ >/dev/null || return 77
  build coverage clang++ -Dbuildtype=debug -Doptimization=1 -Dtests=enabled "-Dcpp_args=-fprofile-instr-generate -fcoverage-mapping" \
    "-Dcpp_link_args=-fprofile-instr-generate" || return 1
  LLVM_PROFILE_FILE="$logs/coverage/%p-%m.profraw" run_tests coverage unit conformance || return 1
  llvm-profdata merge -o "$logs/coverage/all.profdata" "$logs"/coverage/*.profraw &&
    llvm-cov report "$logs/coverage/tests/hanzo-tests" -instr-profile="$logs/coverage/all.profdata" \
      -object "$logs/coverage/tests/conformance/hz-conformance" src include || return 1
  llvm-cov export -summary-only -instr-profile="$logs/coverage/all.profdata" "$logs/coverage/tests/hanzo-tests" \
    -object "$logs/coverage/tests/conformance/hz-conformance" src include >"$logs/coverage/all.json" &&
    python3 scripts/input_coverage.py "$logs/coverage/all.json" --root . --least 95
}

# shellcheck disable=SC2086  # lists of words
install_packages $build_packages $test_packages $sanitizer_packages $full_packages
install_packages libclang-rt-dev
mkdir -p "$logs"
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(werror clang levels hashes asan tsan tidy fuzz subproject coverage aarch64)
passed=0 failed=0 skipped=0
for step in "${steps[@]}"; do
  declare -F "step_$step" >/dev/null || fail "there is no step '$step'"
  say "$step ..."
  "step_$step" >"$logs/$step.log" 2>&1
  case $? in
    0) passed=$((passed + 1)); echo "$step: passed; $(tail -n 1 "$logs/$step.log")" ;;
    77) skipped=$((skipped + 1)); echo "skipped: $step: $(tail -n 1 "$logs/$step.log")" ;;
    *) failed=$((failed + 1)); echo "FAIL $step, see ${logs#"$PWD"/}/$step.log:"; tail -n 15 "$logs/$step.log" ;;
  esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
