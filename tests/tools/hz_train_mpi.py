# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training: 1, 2 and 4 ranks end in the same bytes."""
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

TOOL, MAKE_MODEL = sys.argv[1:3]
result = checks.Checks()
# A rank's own core is not needed here, and containers are often root.
ENV = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def run(ranks, *args):
    launch = ["mpirun", "-np", str(ranks), "--oversubscribe", "--allow-run-as-root", "--bind-to", "none"] if ranks else []
    return subprocess.run([*launch, TOOL, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, env=ENV)


with tempfile.TemporaryDirectory() as name:
    home = pathlib.Path(name)
    model, data = home / "m.gguf", home / "d.jsonl"
    subprocess.run([MAKE_MODEL, model], check=True)
    rows = [{"messages": [{"role": "user", "content": f"hello {i % 5}"}, {"role": "assistant", "content": f"world {i % 3}"}]} for i in range(22)]
    data.write_text("".join(json.dumps(r) + "\n" for r in rows))
    seen = {}
    for ranks in (0, 1, 2, 4):
        out = home / f"r{ranks}"
        r = run(ranks, "sft", "-m", model, "--data", data, "--rank", 4, "--lr", "0.01", "--epochs", 2, "--accumulate", 6, "--ctx", 64, "--dropout", "0.1", "--eval-split", "0.1", "-t", 1, "-o", out)
        good = r.returncode == 0 and (out / "adapter_model.safetensors").exists()
        result.case(f"a run of {ranks or 'one process without mpirun'}", [] if good else [r.stdout + r.stderr])
        if good:
            seen[ranks] = hashlib.sha256((out / "adapter_model.safetensors").read_bytes()).hexdigest()
    result.case("1, 2 and 4 ranks give the same bytes", [] if len(set(seen.values())) == 1 else [str(seen)])
    # stopped again and again, taken up by another number of ranks each time
    common = ["sft", "-m", model, "--data", data, "--rank", 4, "--lr", "0.01", "--epochs", 2, "--accumulate", 6, "--ctx", 64, "--dropout", "0.1", "--eval-split", "0.1", "-t", 1]
    out, codes = home / "stopped", []
    for turn in range(12):
        ranks = (0, 2, 4, 1)[turn % 4]
        launch = ["mpirun", "-np", str(ranks), "--oversubscribe", "--allow-run-as-root", "--bind-to", "none"] if ranks else []
        process = subprocess.Popen([*launch, TOOL, *map(str, common), "--resume", "-o", str(out)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENV)
        time.sleep(0.2 + 0.1 * turn)
        process.send_signal(signal.SIGTERM if turn % 2 else signal.SIGINT)
        err = process.communicate(timeout=120)[1]
        codes.append((ranks, process.returncode, err[-300:]))
    r = run(2, *common, "--resume", "-o", out)
    same = r.returncode == 0 and hashlib.sha256((out / "adapter_model.safetensors").read_bytes()).hexdigest() == seen.get(0)
    result.case("a run that was stopped on any number of ranks ends in the same bytes", [] if same else [str(codes) + r.stderr])
    r = run(2, "sft", "-m", model, "--data", home / "none", "-o", home / "x")
    result.case("an error of all ranks ends the launch", [] if r.returncode != 0 and "none" in r.stderr else [r.stderr])
result.finish()
