"""Builds the tuned Spark start of this Python environment: a build step, run by `make install`; what it makes is never committed.

    python tools/tune_spark.py

A minute's copy of little data is mostly Spark's start. Three things make it cheap on a local master: an archive of the classes that a job
loads (the JVM maps it instead of reading and verifying jars), a JVM set up for a short life, and a Spark home without pyspark.zip, so that
driver and workers import the environment's compiled modules instead of compiling the zip's sources in every process.

The archive fits one Java and one set of jars. Where either changed the JVM silently goes on without it, so this runs again by itself
then, or where the settings below did.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from kafka_mirror.spark.start import LOCAL_MASTER, TUNED, TunedSpark, environment, installed_spark

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


def fingerprint() -> str:
    """What the archive depends on, in one line."""
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if "JAVA_HOME" in os.environ else shutil.which("java")
    if java is None:
        sys.exit("No Java was found: install Java 17 or newer, or set JAVA_HOME.")
    version = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    jars = installed_spark() / "jars"
    core = next(jars.glob("spark-core_*.jar"))
    return f"# {' '.join(version.split())}; {jars}; {core.name} of {core.stat().st_mtime_ns}"


def build_home(tuned: TunedSpark) -> None:
    """Links to what of the installed Spark the JVM needs; no python/lib, where the zips would be."""
    shutil.rmtree(tuned.home, ignore_errors=True)
    tuned.home.mkdir(parents=True)
    for part in ("bin", "jars"):
        (tuned.home / part).symlink_to(installed_spark() / part, target_is_directory=True)


def train(tuned: TunedSpark) -> None:
    """Runs a small job as the copy does, and has the JVM write the classes it loaded into the archive when it ends."""
    fresh = tuned.archive.with_suffix(".fresh")
    fresh.unlink(missing_ok=True)
    training = tuned.directory / "training.properties"
    training.write_text(SETTINGS.format(archive=f"-XX:ArchiveClassesAtExit={fresh}"), encoding="utf-8")
    command = [str(tuned.home / "bin" / "spark-submit"), "--master", LOCAL_MASTER, "--properties-file", str(training), __file__, "job"]
    done = subprocess.run(
        command, env={**os.environ, **environment(LOCAL_MASTER, "", tuned, tuned.directory)}, capture_output=True, text=True, check=False
    )
    if done.returncode or not fresh.exists():
        sys.exit(f"Spark could not be started for training (exit code {done.returncode}):\n{done.stdout}{done.stderr}")
    training.unlink()
    fresh.rename(tuned.archive)


def job() -> None:
    """The training job: the calls of jobs/spark_job.py."""
    from pyspark import SparkConf, SparkContext

    context = SparkContext(conf=SparkConf().set("spark.speculation", "false"))
    context.parallelize(list(range(16)), 16).mapPartitions(list).collect()


def main() -> None:
    tuned = TunedSpark(TUNED)
    wanted = f"{fingerprint()}\n{SETTINGS.format(archive=f'-XX:SharedArchiveFile={tuned.archive}')}"
    if tuned.properties.exists() and tuned.properties.read_text(encoding="utf-8") == wanted:
        print(f"The tuned Spark start in {tuned.directory} is up to date.")
        return
    tuned.properties.unlink(missing_ok=True)
    if re.search(r"\s", str(tuned.directory)):
        print(f"{tuned.directory} has a space in its name, which Spark's Java options cannot carry: Spark starts untuned.")
        return
    build_home(tuned)
    train(tuned)
    unfinished = tuned.properties.with_suffix(".unfinished")
    unfinished.write_text(wanted, encoding="utf-8")
    unfinished.rename(tuned.properties)
    print(f"Tuned Spark's start in {tuned.directory}.")


if __name__ == "__main__":
    job() if sys.argv[1:] == ["job"] else main()
