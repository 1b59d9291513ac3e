#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# invariance.sh HZ-RUN MODEL...: the logits hash of 300 tokens for chunk sizes, threads, instruction sets and packing (scalar on 33
# tokens). One line per model with the number of runs; exits with 5 when two hashes differ.
set -euo pipefail
run=$1
shift
hash_of() { "$run" -m "$model" -q --logits-hash --ids "$1" "${@:2}"; }
isas=(avx2)
grep -q avx512_vnni /proc/cpuinfo && isas+=(avx512)
for model in "$@"; do
  long=$(seq -s, 11 310) short=$(seq -s, 11 43) runs=0
  want=$(hash_of "$long") short_want=$(hash_of "$short")
  for isa in "${isas[@]}"; do
    for ub in 1 3 17 512; do
      for threads in 1 2; do
        for pack in "" --no-pack; do
          # shellcheck disable=SC2086  # nothing or one flag
          got=$(HANZO_ISA=$isa hash_of "$long" --ub "$ub" -t "$threads" $pack)
          runs=$((runs + 1))
          [ "$got" = "$want" ] || { echo "$model: $got with $isa --ub $ub -t $threads $pack, $want else"; exit 5; }
        done
      done
    done
  done
  for ub in 1 512; do
    got=$(HANZO_ISA=scalar hash_of "$short" --ub "$ub")
    runs=$((runs + 1))
    [ "$got" = "$short_want" ] || { echo "$model: $got with scalar --ub $ub, $short_want else"; exit 5; }
  done
  echo "$(basename "$model"): one hash in $runs runs, ${want:0:16}"
done
