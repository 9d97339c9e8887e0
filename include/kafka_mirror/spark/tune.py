"""`kafka-mirror spark tune`: builds the tuned Spark start of this Python environment.

A copy of little data is mostly Spark's start. Three things make it cheap on a local master: an archive of the classes that a job
loads (the JVM maps it instead of reading and verifying jars), a JVM set up for a short life, and a Spark home without pyspark.zip, so that
driver and workers import the environment's compiled modules instead of compiling the zip's sources in every process.

The archive fits one Java and one set of jars. Where either changed, the JVM silently goes on without it. Then the command trains again when
somebody runs it, as it does after a change of the settings below.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from kafka_mirror.errors import JobFailed, UsageError
from kafka_mirror.spark.start import JOBS, LOCAL_MASTER, TUNED, TunedSpark, environment, installed_spark

# A heap begins with a sixty-fourth of the machine's memory, and a JVM fills a quarter of that before it first looks for garbage. The driver
# of a job needs some 30 MB.
# No unix domain sockets between JVM and workers: 0.3 s faster with 16 lanes, but at the end a worker may print a broken pipe's traceback.
SETTINGS = """\
spark.ui.enabled false
spark.log.level WARN
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.driver.memory 512m
spark.driver.extraJavaOptions {archive} -Xlog:cds=off -Xlog:cds+dynamic=off -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms48m
"""
_TRAINING_JOB = JOBS / "training_job.py"


def tune(directory: Path = TUNED) -> str:
    """Builds what is missing or does not fit any more, and says what it did. Raises UsageError without Java, JobFailed if Spark does not
    start."""
    tuned = TunedSpark(directory)
    wanted = f"{_fingerprint()}\n{SETTINGS.format(archive=f'-XX:SharedArchiveFile={tuned.archive}')}"
    if tuned.properties.exists() and tuned.properties.read_text(encoding="utf-8") == wanted:
        return f"The tuned Spark start in {directory} is up to date."
    tuned.properties.unlink(missing_ok=True)
    if re.search(r"\s", str(directory)):
        return f"{directory} has a space in its name, which Spark's Java options cannot carry: Spark starts untuned."
    shutil.rmtree(tuned.home, ignore_errors=True)
    tuned.home.mkdir(parents=True)
    for part in ("bin", "jars"):  # what the JVM needs; no python/lib, where the zips would be
        (tuned.home / part).symlink_to(installed_spark() / part, target_is_directory=True)
    _train(tuned)
    unfinished = tuned.properties.with_suffix(".unfinished")
    unfinished.write_text(wanted, encoding="utf-8")
    unfinished.rename(tuned.properties)
    return f"Tuned Spark's start in {directory}."


def _fingerprint() -> str:
    """What the archive depends on, in one line."""
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if "JAVA_HOME" in os.environ else shutil.which("java")
    if java is None:
        raise UsageError("No Java was found.", next="Install Java 17 or newer, or set JAVA_HOME.")
    version = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    jars = installed_spark() / "jars"
    core = next(jars.glob("spark-core_*.jar"))
    return f"# {' '.join(version.split())}; {jars}; {core.name} of {core.stat().st_mtime_ns}"


def _train(tuned: TunedSpark) -> None:
    """Runs a small job as the copy does, and has the JVM write the classes it loaded into the archive when it ends."""
    fresh = tuned.archive.with_suffix(".fresh")
    fresh.unlink(missing_ok=True)
    training = tuned.directory / "training.properties"
    training.write_text(SETTINGS.format(archive=f"-XX:ArchiveClassesAtExit={fresh}"), encoding="utf-8")
    command = [str(tuned.home / "bin" / "spark-submit"), "--master", LOCAL_MASTER, "--properties-file", str(training), str(_TRAINING_JOB)]
    done = subprocess.run(
        command, env={**os.environ, **environment(LOCAL_MASTER, "", tuned, tuned.directory)}, capture_output=True, text=True, check=False
    )
    if done.returncode or not fresh.exists():
        raise JobFailed(
            f"Spark could not be started for training (exit code {done.returncode}):\n{done.stdout}{done.stderr}",
            next="Mend what its lines name and run the command again; until then Spark starts untuned.",
        )
    training.unlink()
    fresh.rename(tuned.archive)
