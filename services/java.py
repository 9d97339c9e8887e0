"""How a Java program of ours is started: Kafka's jars in libs/, small heap, logging to the console."""

import os
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBS = ROOT / "libs"
ARCHIVE = ROOT / ".run" / "kafka" / "classes.jsa"
"""The classes that a broker loads, as the JVM maps them; made by tools/tune_kafka.py. Without it everything starts, later."""


def java_command(
    main: str, *arguments: str | Path, heap: str = "512m", options: Sequence[str] = (), class_path: Sequence[Path] = ()
) -> list[str]:
    """The command line that runs a class of Kafka's jars, or one in `class_path` that uses them."""
    if not any(LIBS.glob("kafka-clients-*.jar")):
        raise FileNotFoundError(f"Kafka's jars are not in {LIBS}; `make install` brings them.")
    home = os.environ.get("JAVA_HOME")
    return [
        f"{home}/bin/java" if home else "java",
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
        *([f"-XX:SharedArchiveFile={ARCHIVE}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"] if ARCHIVE.exists() else []),
        *options,
        "-cp",
        os.pathsep.join(map(str, (LIBS / "*", *class_path))),  # the archive's jars first: else it is not used
        main,
        *map(str, arguments),
    ]
