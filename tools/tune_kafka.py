"""Builds the archive of classes with which the brokers of tests and demo start: a build step, run by `make install`; never committed.

    python tools/tune_kafka.py

A broker that lives for a few tests spends most of its processor time on its start, and much of that on reading and verifying classes. The
JVM maps them out of the archive instead. It fits one Java and one set of jars; where either changed the JVM silently goes on without it, so
this runs again by itself then.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from services.java import ARCHIVE, LIBS, java_command
from services.kafka import QUICK_START, KafkaCluster
from services.oracle import Oracle

_MADE_FOR = ARCHIVE.with_suffix(".made-for")


def fingerprint() -> str:
    """What the archive depends on, in one line."""
    version = subprocess.run([java_command("none")[0], "-version"], capture_output=True, text=True, check=True).stderr
    jars = sorted((jar.name, jar.stat().st_mtime_ns) for jar in LIBS.glob("*.jar"))
    return f"{' '.join(version.split())}; {LIBS}; {jars}"


def train(fresh: Path) -> None:
    """Lets a broker do what brokers do in tests, and has the JVM write the classes that it loaded when it ends."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        cluster = KafkaCluster(directory / "kafka", "trained", java=(*QUICK_START, f"-XX:ArchiveClassesAtExit={fresh}"))
        try:
            cluster.start()
            with Oracle(directory / "oracle.log") as oracle:
                oracle.create_topic(cluster.bootstrap, "orders", 2)
                oracle.produce(cluster.bootstrap, "orders", 2000, transactions=10, producers=2)
                oracle.count(cluster.bootstrap, "orders")
            cluster.stop(timeout=300)
        finally:
            cluster.discard()
        if not fresh.exists():
            sys.exit(f"The archive was not written:\n{cluster.log_tail()}")


def main() -> None:
    current = fingerprint()
    if ARCHIVE.exists() and _MADE_FOR.exists() and _MADE_FOR.read_text(encoding="utf-8") == current:
        print(f"{ARCHIVE} is up to date.")
        return
    shutil.rmtree(ARCHIVE.parent, ignore_errors=True)
    ARCHIVE.parent.mkdir(parents=True)
    fresh = ARCHIVE.with_suffix(".fresh")
    train(fresh)
    fresh.rename(ARCHIVE)
    _MADE_FOR.write_text(current, encoding="utf-8")
    print(f"Made {ARCHIVE}.")


if __name__ == "__main__":
    main()
