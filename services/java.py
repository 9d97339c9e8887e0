"""How a Java program of ours is started: Kafka's jars in libs/, small heap, logging to the console."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBS = ROOT / "libs"
ARCHIVE = ROOT / ".run" / "kafka" / "classes.jsa"
"""The classes that a broker loads, as the JVM maps them; made by tools/tune_kafka.py. Without it everything starts, later."""


def java_command(
    main: str,
    *arguments: str | Path,
    heap: str = "512m",
    options: Sequence[str] = (),
    class_path: Sequence[Path] = (),
    jars: Path = LIBS,
) -> list[str]:
    """The command line that runs a class of Kafka's jars, or one in `class_path` that uses them."""
    if not any(jars.glob("kafka-clients-*.jar")):
        raise FileNotFoundError(f"Kafka's jars are not in {jars}; `make install` brings them.")
    return [
        java(),
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
        f"-Dlog4j.configuration={Path(__file__).with_name('reload4j.properties').as_uri()}",
        *([f"-XX:SharedArchiveFile={ARCHIVE}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"] if ARCHIVE.exists() and jars == LIBS else []),
        *options,
        "-cp",
        os.pathsep.join(map(str, (jars / "*", *class_path))),  # the archive's jars first: else it is not used
        main,
        *map(str, arguments),
    ]


def java() -> str:
    """The program: JAVA_HOME's, else the one in the PATH."""
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def broker_jars(release: str) -> Path:
    """The jars of a broker of another Kafka, such as 3.9.1, which Maven fetches the first time (46 MB)."""
    pom = Path(__file__).with_name("kafka-broker.xml")
    versions = [f"-Dkafka.version={release}", "-Dscala.version=2.13"]
    if release < "2.4":
        versions[1:] = ["-Dscala.version=2.12", "-Dzookeeper.version=3.5.7"]
    return fetch_by_maven(f"kafka-{release}", "-f", str(pom), *versions, "dependency:copy-dependencies")


def fetch_by_maven(name: str, *goal: str) -> Path:
    """The folder `.run/<name>` with what a goal of Maven's dependency plugin puts there the first time."""
    folder = ROOT / ".run" / name
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=folder.parent))
        command = ["mvn", "-q", "-B", *goal, f"-DoutputDirectory={fresh}"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
            fresh.rename(folder)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
    return folder
