"""When the start of Spark's jobs is trained again."""

import subprocess
from pathlib import Path

import pytest

from kafka_mirror.errors import JobFailed, UsageError
from kafka_mirror.spark import tune as module
from kafka_mirror.spark.start import TunedSpark, tuned_spark
from kafka_mirror.spark.tune import tune


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have started Spark; each leaves an archive, as the JVM does."""
    commands: list[list[str]] = []

    def run(command: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        if command[1:] != ["-version"]:
            commands.append(command)
            settings = Path(command[command.index("--properties-file") + 1]).read_text()
            Path(settings.split("ArchiveClassesAtExit=")[1].split()[0]).touch()
        return subprocess.CompletedProcess(command, 0, "", "openjdk 17")

    monkeypatch.setattr(module.subprocess, "run", run)
    return commands


def test_it_trains_once_and_again_after_the_settings_or_java_changed(trainings: list[list[str]], tmp_path: Path) -> None:
    assert tuned_spark(tmp_path) is None
    assert tune(tmp_path).startswith("Tuned")
    tuned = tuned_spark(tmp_path)
    assert tuned is not None and tuned.archive.exists()
    assert tune(tmp_path).endswith("is up to date.")
    assert len(trainings) == 1 and trainings[0][-1].endswith("training_job.py")
    tuned.properties.write_text("# another Java")
    assert tune(tmp_path).startswith("Tuned")
    assert len(trainings) == 2


def test_a_start_that_failed_leaves_none_that_jobs_would_take(
    trainings: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = subprocess.CompletedProcess([], 1, "no memory", "openjdk 17")
    monkeypatch.setattr(module.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(JobFailed, match="no memory"):
        tune(tmp_path)
    assert tuned_spark(tmp_path) is None and not TunedSpark(tmp_path).archive.exists()


def test_without_java_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="No Java"):
        tune(tmp_path)
