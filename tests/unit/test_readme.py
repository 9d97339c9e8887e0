"""The README is short, and what it says is so."""

import re
import shlex
from pathlib import Path

import pytest

from kafka_mirror.cli.parser import parser
from kafka_mirror.cutover.wave import step as steps

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "lab" / "bench" / "RESULTS.md").read_text(encoding="utf-8")


def prose(text: str) -> str:
    """The text without blocks of code, drawings and the addresses of links."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", text)


def test_it_is_short() -> None:
    words = [word for word in prose(README).split() if re.search(r"\w", word)]
    assert len(words) <= 700
    assert len(README.splitlines()) <= 220


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"^ {4}make ([a-z-]+)|`make ([a-z-]+)`", README, flags=re.MULTILINE))
    assert {"".join(each) for each in named} <= targets


def test_steps_of_a_cutover_are_those_that_it_has() -> None:
    (listed,) = re.findall(r"Its steps: ([a-z, -]+)\.", README)
    assert tuple(listed.split(", ")) == steps.STEPS
    assert (ROOT / "include" / "kafka_mirror" / "airflow" / "dags" / "cutover.py").exists()


def test_commands_are_understood() -> None:
    commands = re.findall(r"^kafka-mirror ([^|\n]+)", README, flags=re.MULTILINE)
    assert [parser().parse_args(shlex.split(command)).command for command in commands] == ["cutover"]


CPU_A_RECORD = "CPU a record, on a Spark that stays, beside MirrorMaker 2 tuned"
MANY_PARTITIONS = "Following many partitions"
OURS = {CPU_A_RECORD: "ours", MANY_PARTITIONS: "ours, following"}


def last_measured(heading: str, mirror: str, backlog: str, column: str) -> tuple[str, float]:
    """Day and figure of the last row of a mirror below a heading of RESULTS.md."""
    table = RESULTS.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")]
    last = [row for row in rows if mirror in row and backlog in row][-1]
    return last[0].split()[0], float(last[head.index(column)].split()[0])


@pytest.mark.parametrize(
    ("title", "heading", "backlog", "column"),
    [
        ("CPU for a record of 1 KB", CPU_A_RECORD, "1,000,000 × 1 KB", "µs without start"),
        ("the same with the start of the process", CPU_A_RECORD, "1,000,000 × 1 KB", "µs with start"),
        (
            "CPU for a record of 100 B in batches of 64 KB, lz4",
            CPU_A_RECORD,
            "6,000,000 × 100 B lz4, 64 KB batches",
            "µs without start",
        ),
        ("CPU a minute, 1,000 partitions of 10 records", MANY_PARTITIONS, "1000 × 10", "CPU s a minute"),
        ("the same without records", MANY_PARTITIONS, "1000 × 10", "CPU s a minute without records"),
    ],
)
def test_its_figures_are_the_last_ones_measured(title: str, heading: str, backlog: str, column: str) -> None:
    (line,) = [line for line in README.splitlines() if line.startswith(f"| {title} |")]
    figures = [float(each) for cell in line.split("|")[2:4] for each in re.findall(r"([\d.]+)(?= µs| s)", cell)]
    (day, theirs), (_, ours) = (last_measured(heading, mirror, backlog, column) for mirror in ("MM2 tuned", OURS[heading]))
    assert figures == [pytest.approx(theirs, rel=0.01), pytest.approx(ours, rel=0.01)], "a figure may be rounded"
    assert day in re.findall(r"^Measured on .*$", README, flags=re.MULTILINE)[0]
