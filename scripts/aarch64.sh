#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# aarch64.sh FOLDER: the NEON set under emulation. The kernels, the tests of the core and hz-run are cross-compiled and run by
# qemu-user; what each kernel computes and the logits of the own models have to be the native build's. Exit code 77 and a
# reason where that cannot be had. The target's libraries are unpacked in FOLDER, not installed; their names are Debian 12's.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/common.sh
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit
target=$folder/root
target_packages="catch2 libcli11-dev libfmt-dev libfmt9 libpcre2-dev libpcre2-8-0 libssl-dev libssl3 libtomlplusplus-dev libtomlplusplus3
  libutf8proc-dev libutf8proc2 nlohmann-json3-dev"

skip() { echo "$*"; exit 77; }

unpack_libraries() {
  local apt=$folder/apt package
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs"
  local options=(-qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
    -o Dir::State::status=/dev/null -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache")
  # shellcheck disable=SC2086  # a list of words
  apt-get "${options[@]}" update && (cd "$apt/debs" && apt-get "${options[@]}" download $target_packages) || return 1
  for package in "$apt"/debs/*.deb; do dpkg-deb -x "$package" "$target.new" || return 1; done
  # The cross compiler looks for headers of the target in include alone.
  cp -r "$target.new/usr/include/aarch64-linux-gnu/." "$target.new/usr/include/" && mv "$target.new" "$target"
}

[ "$(uname -m)" = aarch64 ] && skip "the native build has the NEON set"
install_packages g++-aarch64-linux-gnu qemu-user
for tool in aarch64-linux-gnu-g++ qemu-aarch64 apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || skip "there is no $tool (Debian: g++-aarch64-linux-gnu qemu-user)"
done
[ -d "$target" ] || unpack_libraries || skip "the arm64 libraries cannot be downloaded"

wrap=; command -v ccache >/dev/null && wrap="'ccache', "
printf "[constants]\nroot = '%s'\n[binaries]\ncpp = [%s'aarch64-linux-gnu-g++']\n" "$target" "$wrap" >"$folder/root.ini"
if [ ! -f "$folder/build/build.ninja" ]; then
  meson setup "$folder/build" --cross-file scripts/aarch64-linux-gnu.ini --cross-file "$folder/root.ini" \
    -Dbuildtype=plain -Doptimization=1 -Dtests=enabled -Dbench=disabled || exit 1
fi

emulate() { qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$target/usr/lib/aarch64-linux-gnu" "$@"; }
native=
for build in build build-test build-full/*; do
  [ -x "$build/tools/hz-run" ] && [ -x "$build/tests/kernels/kernel-hashes" ] && native=$build && break
done
[ -n "$native" ] || { echo "no native build with tests to compare with"; exit 1; }

# Every kernel, in the sets of a processor with dot product and of one without.
ninja -C "$folder/build" tests/kernels/kernel-hashes || exit 1
want=$("$native/tests/kernels/kernel-hashes") || exit 1
for QEMU_CPU in max cortex-a53; do
  export QEMU_CPU
  have=$(emulate "$folder/build/tests/kernels/kernel-hashes") || { echo "the sets of $QEMU_CPU differ"; exit 1; }
  diff <(echo "$want") <(echo "$have") || { echo "$QEMU_CPU differs from the native build"; exit 1; }
  echo "$QEMU_CPU: $(wc -l <<<"$have") kernels as in the native build"
done
unset QEMU_CPU

ninja -C "$folder/build" tests/hanzo-core-tests tools/hz-run || exit 1
# Two cases ask for what qemu-user has not: it aborts where the fork of a process with threads starts threads, and takes no
# limit of the address space.
left_out=()
for name in "a forked child has a pool of its own" "the sandbox measures and limits memory"; do
  echo "skipped: $name: not under qemu-user"
  left_out+=("~$name")
done
emulate "$folder/build/tests/hanzo-core-tests" "${left_out[@]}" || exit 1

for model in tests/data/arch/*/model.gguf; do
  ask=(-m "$model" --logits-hash --ids "$(seq -s, 1 95)" -q)
  want=$("$native/tools/hz-run" "${ask[@]}") || exit 1
  for isa in neon scalar; do
    have=$(HANZO_ISA=$isa emulate "$folder/build/tools/hz-run" "${ask[@]}")
    echo "$model $isa: ${have:-failed}"
    [ "$have" = "$want" ] || { echo "the native build gives $want"; exit 1; }
  done
done
refusal=$(QEMU_CPU=cortex-a53 HANZO_ISA=neon emulate "$folder/build/tools/hz-run" "${ask[@]}" 2>&1) &&
  { echo "neon ran without dot product"; exit 1; }
[[ $refusal == *"cannot run the neon set"* ]] || { echo "$refusal"; exit 1; }
echo "kernels, tests of the core and logits under qemu-aarch64 are those of $(uname -m)"
