#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh ["prompt"]: from a fresh Debian 12 (or newer) to an answer. Installs packages, builds the tools in
# build/, gets SmolLM2-135M-Instruct (98 MB) into ~/.cache/hanzo, and streams its answer to stdout.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

prompt=${1:-What is the capital of France?}
model=$model_cache/SmolLM2-135M-Instruct.Q4_1.gguf

# shellcheck disable=SC2086  # a list of words
install_packages $build_packages
configure build
[ -x build/tools/hz-run ] || say "building (some minutes the first time)"
ninja -C build --quiet hanzo-tools >&2 || fail "the build failed"
[ -f "$model" ] || python3 scripts/fetch_model.py "$(basename "$model")" >&2
# A plain system message: this small model answers better under it than under its template's own.
exec build/tools/hz-run -m "$model" --temp 0 --system "You are a helpful AI assistant." -p "$prompt"
