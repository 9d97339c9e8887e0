"""Checks what this machine must have before anything is installed. Runs with any Python 3."""

import os
import re
import shutil
import subprocess
import sys

OLDEST, NEWEST = (3, 11), (3, 13)
JAVA = 17


def find_python():
    """The path of a Python that the pinned packages exist for, or None: $PYTHON if it is set, else this one, else what the PATH has."""
    wanted = os.environ.get("PYTHON")
    for candidate in [wanted] if wanted else [sys.executable, "python3.13", "python3.12", "python3.11"]:
        said = output([candidate, "-c", "import sys, venv, ensurepip; print(sys.version_info[:2], sys.executable)"])
        version = re.match(r"\((\d+), (\d+)\) (.+)", said)
        if version and OLDEST <= (int(version[1]), int(version[2])) <= NEWEST:
            return version[3].strip()
    return None


def find_problems(with_maven):
    """One sentence for each thing that is missing or too old."""
    problems = []
    if find_python() is None:
        here = os.environ.get("PYTHON") or "the python3 here"
        problems.append(
            f"Python 3.11, 3.12 or 3.13 with its venv module is needed, and {here} is not one: install one (Debian: python3-venv), "
            "or name it with PYTHON=/path/to/python3 make ..."
        )
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    version = re.search(r'version "(?:1\.)?(\d+)', output([java, "-version"]))
    where = f"JAVA_HOME={home}" if home else "the PATH"
    if version is None:
        problems.append(f"Java {JAVA} or newer is needed, and there is none in {where}: install a JDK (Debian: openjdk-17-jdk-headless).")
    elif int(version[1]) < JAVA:
        problems.append(f"Java {JAVA} or newer is needed, and {where} has Java {version[1]}: install a newer JDK, or set JAVA_HOME.")
    elif not output([java + "c", "-version"]):
        problems.append(f"Java's compiler is needed, and {where} has a JRE only: install a JDK (Debian: openjdk-17-jdk-headless).")
    if with_maven and not shutil.which("mvn"):
        problems.append("Maven is needed to download Kafka's jars, and there is no mvn in the PATH: install it (Debian: maven).")
    return problems


def output(command):
    """What a command says on either stream; empty if it cannot be run or fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
