"""`make install`: the Python packages into .venv, Kafka's jars into libs/, tuned starts of Kafka and Spark. What is up to date is left.

    python3 tools/install.py

Runs with any Python 3 and its standard library alone; the environment gets a Python of the right version.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import host

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = ROOT / "requirements.lock"
POM = ROOT / "pom.xml"
LIBS = ROOT / "libs"
JARS = ROOT / "tools" / "jars.sha256"
"""What Maven is to bring, as sha256sum writes it. After a change of pom.xml: `(cd libs && sha256sum *.jar) > tools/jars.sha256`."""

# Without bytecode every `airflow` call takes three seconds longer, and some environments switch it off.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")
}


def main():
    jars_needed = not is_current(LIBS, POM)
    problems = host.find_problems(with_maven=jars_needed)
    if problems:
        sys.exit("\n".join(problems))
    if not is_current(VENV, LOCK):
        step("Python packages of requirements.lock into .venv", install_packages)
    if jars_needed:
        step("Kafka's jars of pom.xml into libs", install_jars)
    run([str(PYTHON), "-c", "from services.oracle import compiled_classes; compiled_classes()"])
    run([str(PYTHON), "tools/tune_kafka.py"])
    run(["env", f"PYTHONPATH={ROOT / 'include'}", str(PYTHON), "-m", "kafka_mirror", "spark", "tune"])


def install_packages():
    if not host.output([str(PYTHON), "--version"]):
        shutil.rmtree(VENV, ignore_errors=True)
        run([host.find_python(), "-m", "venv", str(VENV)])
    uv = shutil.which("uv") or shutil.which(str(VENV / "bin" / "uv"))
    if uv and host.output([uv, "--version"]):
        run([uv, "pip", "sync", "--quiet", "--require-hashes", "--compile-bytecode", "--python", str(PYTHON), str(LOCK)])
    else:
        run([str(PYTHON), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", str(LOCK)])
        run([str(PYTHON), "-m", "compileall", "-q", "-j", "2", str(next(VENV.glob("lib/python*/site-packages")))], may_fail=True)
    mark(VENV, LOCK)


def install_jars():
    shutil.rmtree(LIBS, ignore_errors=True)
    run(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=libs"])
    wrong = find_wrong_jars(LIBS, JARS)
    if wrong:
        sys.exit(
            f"These jars in {LIBS} are not those of {JARS}: {', '.join(wrong)}.\nThe installation stopped, and nothing of them was run. "
            "Look where Maven had them from. If pom.xml was changed on purpose, write the file again: "
            "(cd libs && sha256sum *.jar) > tools/jars.sha256"
        )
    mark(LIBS, POM)


def find_wrong_jars(directory, listed):
    """The names of jars that are missing, that the list does not know, or whose bytes are others."""
    wanted = dict(reversed(line.split()) for line in listed.read_text().splitlines())
    there = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in directory.glob("*.jar")}
    return sorted(name for name in {**wanted, **there} if wanted.get(name) != there.get(name))


def is_current(directory, source):
    """Whether the directory was made from the source file as it is now."""
    stamp = directory / ".made-from"
    return stamp.exists() and stamp.read_text() == fingerprint(source)


def mark(directory, source):
    (directory / ".made-from").write_text(fingerprint(source))


def fingerprint(source):
    return hashlib.sha256(source.read_bytes()).hexdigest()


def step(title, action):
    print(f"{title} ...", flush=True)
    start = time.monotonic()
    action()
    print(f"  done in {time.monotonic() - start:.0f} s", flush=True)


def run(command, may_fail=False):
    """Runs one command; on failure the install ends with its output and what was to be done."""
    done = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False
    )
    if done.returncode and not may_fail:
        sys.exit(
            f"{done.stdout.rstrip()}\nThe installation stopped: `{' '.join(command)}` failed. It goes on from here when it is run again."
        )


if __name__ == "__main__":
    main()
