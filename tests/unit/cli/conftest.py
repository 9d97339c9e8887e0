"""The command line without any broker."""

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.cli import copy
from tests.unit.cli.command_line import VALID
from tests.unit.cli.screen import Screen


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """`run("plan", "--json", config=VALID)` gives exit code, standard output and standard error."""
    monkeypatch.delenv("MIRROR_CONFIG", raising=False)

    def call(*arguments, config=VALID):
        file = tmp_path / "mm2.properties"
        file.write_text(config)
        code = main(["--config", str(file), *arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def answer(monkeypatch):
    """Makes `plan` answer as told: `answer(lambda flow: ...)`; what it raises is raised."""

    def set_answer(function):
        monkeypatch.setattr(copy, "show_plan", lambda flow, _options: function(flow))

    return set_answer


@pytest.fixture
def screen(monkeypatch):
    """A terminal of 100 columns: `with screen:` it is standard output and standard error."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in (("COLUMNS", "100"), ("TERM", "xterm-256color"), ("COLORTERM", "")):
        monkeypatch.setenv(name, value)
    return Screen()
