"""What this machine must have before anything is installed. Runs with any Python 3; each thing missing or too old is one sentence."""

import os
import re
import shutil
import subprocess
import sys

OLDEST, NEWEST = (3, 11), (3, 13)
JAVA = 17


def usable_python():
    """The path of a Python that the pinned packages exist for, or None: $PYTHON if it is set, else this one, else what the PATH has."""
    wanted = os.environ.get("PYTHON")
    for candidate in [wanted] if wanted else [sys.executable, "python3.13", "python3.12", "python3.11"]:
        said = output([candidate, "-c", "import sys, venv, ensurepip; print(sys.version_info[:2], sys.executable)"])
        found = re.match(r"\((\d+), (\d+)\) (.+)", said)
        if found and OLDEST <= (int(found[1]), int(found[2])) <= NEWEST:
            return found[3].strip()
    return None


def problems(with_maven):
    """One sentence for each thing that is missing or too old."""
    found = []
    if usable_python() is None:
        here = os.environ.get("PYTHON") or "the python3 here"
        found.append(
            f"Python 3.11, 3.12 or 3.13 with its venv module is needed, and {here} is not one: install one (Debian: python3-venv), "
            "or name it with PYTHON=/path/to/python3 make ..."
        )
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    version = re.search(r'version "(?:1\.)?(\d+)', output([java, "-version"]))
    where = f"JAVA_HOME={home}" if home else "the PATH"
    if version is None:
        found.append(f"Java {JAVA} or newer is needed, and there is none in {where}: install a JDK (Debian: openjdk-17-jdk-headless).")
    elif int(version[1]) < JAVA:
        found.append(f"Java {JAVA} or newer is needed, and {where} has Java {version[1]}: install a newer JDK, or set JAVA_HOME.")
    elif not output([java + "c", "-version"]):
        found.append(f"Java's compiler is needed, and {where} has a JRE only: install a JDK (Debian: openjdk-17-jdk-headless).")
    if with_maven and not shutil.which("mvn"):
        found.append("Maven is needed to download Kafka's jars, and there is no mvn in the PATH: install it (Debian: maven).")
    return found


def output(command):
    """What a command says on either stream; empty if it cannot be run or fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
