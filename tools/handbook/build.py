"""Builds the handbook strictly into .run/handbook: a link or an anchor that leads nowhere fails the build.

    .venv/bin/python tools/handbook/build.py

The generator (Zensical, which reads mkdocs.yml) has an environment of its own, .run/handbook-env, made from requirements.lock beside this
file. To lock it again: `uv pip compile -p 3.11 --universal --generate-hashes requirements.txt -o requirements.lock`, in this folder.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = Path(__file__).with_name("requirements.lock")
ENVIRONMENT = ROOT / ".run" / "handbook-env"


def main() -> None:
    """Builds, and leaves with the generator's exit code."""
    make_environment()
    command = [str(ENVIRONMENT / "bin" / "zensical"), "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_COLOR": "1"}, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr.partition('Traceback')[0]}\nThe handbook was not built.")
    print("The handbook is built. To read and search it (search works over http alone):")
    print(f"  python3 -m http.server --bind 127.0.0.1 --directory {ROOT / '.run' / 'handbook'} 8000    # then http://127.0.0.1:8000")


def make_environment() -> None:
    """The environment that the lock asks for; one that is up to date is left alone."""
    stamp, wanted = ENVIRONMENT / ".made-from", hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
    pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", str(LOCK)], check=True)
    stamp.write_text(wanted)


if __name__ == "__main__":
    main()
