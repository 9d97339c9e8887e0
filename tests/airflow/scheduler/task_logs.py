"""The logs of the tasks of a run, as Airflow shows them and as they stand in the handbook."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from services.java import ROOT
from tests.airflow.scheduler.in_airflow import TASKS, InAirflow

PAGE = ROOT / "docs" / "operate" / "troubleshooting-logs.md"
BEGINNING = "<!-- From here on: made by tests/airflow/scheduler/test_task_logs.py with MIRROR_WRITE_LOGS=1. -->\n"
_AT_NIGHT = datetime(2026, 11, 22, 3, 0, 0)  # noqa: DTZ001 — a time of day for the reader, of nowhere
TRACEBACK = " (with a traceback)"
_OURS = re.compile(r"^(?:airflow\.task\.operators\.)?kafka_mirror\.(?!.*\.FlowTask$)")
"""The loggers of the mirror. By that of the class of its tasks Airflow's PythonOperator speaks."""
_PLURALS = re.compile(r"\b(partition|offset|record|transaction|lane|topic|error|time)s\b")
_NUMBER = re.compile(r"\d[\d,.]*(?<=\d)")


@dataclass(frozen=True)
class Line:
    """One line of a task's log."""

    time: datetime
    level: str
    text: str

    @property
    def wording(self) -> str:
        """The line without what differs from run to run."""
        return self.level + " " + _PLURALS.sub(r"\1", _NUMBER.sub("#", self.text))


Log = Mapping[str, Sequence[Line]]
"""The lines by task and try: `copy, try 2`; of a task that was tried once by its name."""


@dataclass(frozen=True)
class RunLogs:
    """The mirror's lines, and all others: Airflow's own, and what else came through."""

    ours: Log
    others: Mapping[str, Sequence[str]]


def logs_of(flow: InAirflow, run: str) -> RunLogs:
    """The logs of all tries of a run's tasks."""
    tries = {task["task_id"]: task["try_number"] for task in flow.api.tasks(flow.dag, run)}
    ours: dict[str, list[Line]] = {}
    others: dict[str, list[str]] = {}
    for task in TASKS:
        for number in range(1, tries[task] + 1):
            name = task if tries[task] == 1 else f"{task}, try {number}"
            ours[name], others[name] = [], []
            for said in flow.api.log_lines(flow.dag, run, task, number):
                if _is_ours(said):
                    ours[name].append(_line(said, flow))
                else:
                    others[name].append(_text(said))
    return RunLogs(ours, others)


def _text(said: Any) -> str:
    """What another line says, and whether it has a traceback."""
    if not isinstance(said, dict):
        return str(said)
    return f"{said.get('event', said)}{TRACEBACK if said.get('error_detail') else ''}"


def _is_ours(said: Any) -> bool:
    return isinstance(said, dict) and bool(_OURS.match(said.get("logger") or ""))


def _line(said: Mapping[str, Any], flow: InAirflow) -> Line:
    """A line with the names of a flow that a reader knows from everywhere else."""
    text, pair = str(said["event"]), flow.pair
    for name, known in ((pair.source, "east"), (pair.target, "west"), (f"-{pair.mark}", ""), ("@vm", "@host"), (" on vm", " on host")):
        text = text.replace(name, known)
    text = re.sub(r"127\.0\.0\.1:\d+", "west-1:9092", text)
    return Line(datetime.fromisoformat(said["timestamp"]).replace(tzinfo=None), str(said["level"]).upper(), text)


def wordings(lines: Iterable[Line]) -> set[str]:
    """What was said, without librdkafka's own words: which of its threads speaks first is chance."""
    return {line.wording for line in lines if "librdkafka" not in line.text}


# ------------------------------------------------------------ the page


def write(found: Mapping[str, Log], page: Path = PAGE) -> None:
    """Puts the logs behind the page's text; each run begins at three o'clock in the morning."""
    said, _, _ = page.read_text(encoding="utf-8").partition(BEGINNING)
    sections = [
        f"## {title}\n\n" + "\n".join(_block(name, lines, _beginning(log)) for name, lines in log.items()) for title, log in found.items()
    ]
    page.write_text(said + BEGINNING + "\n" + "\n".join(sections), encoding="utf-8")


def read(page: Path = PAGE) -> dict[str, dict[str, list[Line]]]:
    """The logs that stand in the page."""
    found: dict[str, dict[str, list[Line]]] = {}
    title = name = ""
    for text in page.read_text(encoding="utf-8").partition(BEGINNING)[2].splitlines():
        if text.startswith("## "):
            title = text[3:]
            found[title] = {}
        elif text.startswith("### "):
            name = text[4:].replace("`", "")
            found[title][name] = []
        elif written := re.match(r"(\d\d:\d\d:\d\d) ([A-Z ]{7}) (.*)", text):
            found[title][name].append(Line(datetime.strptime(written[1], "%H:%M:%S"), written[2].strip(), written[3]))  # noqa: DTZ007 — as above
        elif text and not text.startswith("```"):
            last = found[title][name].pop()
            found[title][name].append(Line(last.time, last.level, f"{last.text}\n{text}"))
    return found


def _beginning(log: Log) -> datetime:
    return min(line.time for lines in log.values() for line in lines)


def _block(name: str, lines: Sequence[Line], begun: datetime) -> str:
    task, _, number = name.partition(",")
    said = "\n".join(f"{_AT_NIGHT + (line.time - begun):%H:%M:%S} {line.level:<7} {_shifted(line.text, begun)}" for line in lines)
    return f"### `{task}`{',' + number if number else ''}\n\n```text\n{said}\n```\n"


def _shifted(text: str, begun: datetime) -> str:
    """The text with its own times moved as far as the line's."""
    by = _AT_NIGHT - begun

    def moved(found: re.Match[str]) -> str:
        return f"{datetime.fromisoformat(found[1]) + by + timedelta(milliseconds=500):%Y-%m-%d}{found[2]}" + (
            f"{datetime.fromisoformat(found[1] + 'T' + found[3]) + by:%H:%M:%S}"
        )

    text = re.sub(r"(\d{4}-\d\d-\d\d)([ T])(\d\d:\d\d:\d\d)(?:\.\d+)?", moved, text)
    return re.sub(r"\blocal-\d+", "local-1795316400000", text)
