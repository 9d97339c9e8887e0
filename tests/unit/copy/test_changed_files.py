"""Whether a change of the configuration's files means another flow."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_mirror.config import load
from kafka_mirror.copy import follow
from kafka_mirror.copy.follow import ChangedFiles
from kafka_mirror.errors import ClusterUnreachable
from services.waiting import PATIENCE

FILE = """clusters = east, west
east.bootstrap.servers = 127.0.0.1:9
west.bootstrap.servers = 127.0.0.1:10
east->west.enabled = true
east->west.topics = orders
"""


def looks(files: ChangedFiles) -> list[bool]:
    """A look that sees a change, one that judges it, and one more."""
    return [files.mean_another_flow() for _ in range(3)]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """Writes the file as an editor does, in a new one that takes the place of the old one."""

    def write(text: str) -> Path:
        (tmp_path / "new").write_text(text)
        return (tmp_path / "new").rename(tmp_path / "mm2.properties")

    return write


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (FILE + "# a remark\n", False),
        (FILE + "east->west.topics = orders, clicks\n", True),
        (FILE.replace("enabled = true", "enabled = false"), True),
        (FILE + "east->west.mirror.follow.seconds = never\n", False),
        ("", False),
    ],
    ids=["a remark", "other topics", "the flow is gone", "a value that cannot be", "half of a file"],
)
def test_it_counts_once_the_files_stand_still_and_say_something_else(written: Callable[[str], Path], text: str, counts: bool) -> None:
    files = ChangedFiles(load([written(FILE)]).flow("east->west"))
    assert looks(files) == [False, False, False]
    written(text)
    assert looks(files) == [False, counts, False]


def test_a_change_between_loading_and_the_first_look_counts(written: Callable[[str], Path]) -> None:
    flow = load([written(FILE)]).flow("east->west")
    written(FILE + "east->west.topics = orders, clicks\n")
    assert looks(ChangedFiles(flow)) == [False, True, False]


def test_a_change_that_could_not_be_announced_is_announced_once_the_target_answers(
    written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = load([written(FILE)]).flow("east->west")
    tries, is_announced = list[str](), threading.Event()

    def announce() -> None:
        tries.append("announced")
        if len(tries) < 3:
            raise ClusterUnreachable("west", "127.0.0.1:10", 60.0)
        is_announced.set()

    monkeypatch.setattr(follow, "clusters", lambda _flow: nullcontext((None, None)))
    monkeypatch.setattr(follow, "control_of", lambda *_: SimpleNamespace(announce_configuration=announce))
    with follow.announce_meanwhile(flow, 0.01):
        written(FILE + "east->west.topics = orders, clicks\n")
        assert is_announced.wait(PATIENCE)
    assert len(tries) == 3
