# SPDX-License-Identifier: Apache-2.0
"""Runs an example on SmolLM2 of the folder HANZO_MODELS, and without a model: an answer, and an error."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "design"))
import checks  # noqa: E402

example = sys.argv[1]
result = checks.Checks()
model = pathlib.Path(os.environ.get("HANZO_MODELS", "")) / "SmolLM2-135M-Instruct.Q4_1.gguf"
if os.environ.get("HANZO_MODELS") and model.exists():
    run = subprocess.run([example, str(model)], capture_output=True, text=True)
    good = run.returncode == 0 and "sky" in run.stdout and len(run.stdout) > 100
    result.case("the example answers", [] if good else [f"exit {run.returncode}: {run.stdout}{run.stderr}"])
else:
    result.skip("the example answers", f"HANZO_MODELS has no {model.name}")
run = subprocess.run([example, "no-such-file.gguf"], capture_output=True, text=True)
good = run.returncode == 1 and run.stdout == "" and "no-such-file.gguf" in run.stderr
result.case("the example reports a missing file", [] if good else [f"exit {run.returncode}: {run.stdout}{run.stderr}"])
result.finish()
