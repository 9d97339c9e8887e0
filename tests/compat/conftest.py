"""The one Java process that holds MirrorMaker 2's classes, and the count of what was compared with them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.peer import Peer

_started: list[Peer] = []


@pytest.fixture(scope="session")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """MirrorMaker 2's classes of Kafka 4.3.1, from libs/."""
    log: Path = tmp_path_factory.mktemp("compat") / "peer.log"
    made = Peer(log)
    _started.append(made)
    yield made
    made.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for made in _started:
        cases = ", ".join(f"{count:,} {what}" for what, count in sorted(made.cases.items()))
        terminalreporter.write_line(f"compared with MirrorMaker 2's own classes: {cases}")
