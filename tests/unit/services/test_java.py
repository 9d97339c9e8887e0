"""How Java programs of ours are started."""

from pathlib import Path

import pytest

from services import java
from services.java import java_command


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the archive of classes would be; there is none."""
    monkeypatch.setattr(java, "ARCHIVE", tmp_path / "classes.jsa")
    return tmp_path / "classes.jsa"


def test_classes_come_from_the_archive_as_soon_as_there_is_one(archive: Path) -> None:
    assert not any("Archive" in part for part in java_command("kafka.Kafka"))
    archive.touch()
    assert f"-XX:SharedArchiveFile={archive}" in java_command("kafka.Kafka")


def test_the_jars_of_the_archive_stand_in_front_else_the_jvm_does_not_use_it() -> None:
    command = java_command("Oracle", class_path=[Path("/classes")])
    assert command[command.index("-cp") + 1] == f"{java.LIBS}/*:/classes"
