"""What Airflow would show as the log of tasks that run in this process.

Airflow sets up logging when it is first imported: it takes the root logger's handlers away, pytest's `caplog` among them, and binds another
to the standard output of that moment, which `capfd` need not see. Its own lines pass no logger of Python's, but structlog.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_MIRROR = logging.getLogger("kafka_mirror")


class TaskLog(logging.Handler):
    """Lines from INFO on: those of Python's loggers, rendered like Airflow's own, and those of structlog."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        self.records: list[logging.LogRecord] = []
        self._lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not hasattr(record, "in_task_log"):  # the loggers `mirror` and root both have this handler
            record.in_task_log = True
            self.records.append(record)
            self._lines.append(self.format(record))

    def rendered(self, _logger: Any, _method: str, line: Any) -> Any:
        """structlog's last processor: passes on what those before it made."""
        self._lines.append(str(line))
        return line

    def take(self) -> str:
        """What was logged since the last look. It is never nothing: a log that nobody writes to would pass every search for what must not
        be there."""
        text = "\n".join(self._lines)
        self._lines.clear()
        self.records.clear()
        assert text.strip(), "nothing was logged, so this looks at nothing"
        return text

    def said_by(self, logger: str) -> list[str]:
        """The messages of one logger at INFO since the last look."""
        said = [record.getMessage() for record in self.records if (record.name, record.levelname) == (logger, "INFO")]
        assert self.take()
        return said


@contextmanager
def collect_task_log() -> Iterator[TaskLog]:
    """Collects for as long as it is entered. Sets Airflow up before that: it takes handlers away when it is."""
    import airflow.settings  # noqa: F401 — this sets it up
    import structlog

    collected, level, root = TaskLog(), _MIRROR.level, logging.getLogger()
    processors = structlog.get_config()["processors"]
    processors.append(collected.rendered)
    root.addHandler(collected)
    _MIRROR.addHandler(collected)
    _MIRROR.setLevel(logging.INFO)
    try:
        yield collected
    finally:
        _MIRROR.setLevel(level)
        _MIRROR.removeHandler(collected)
        root.removeHandler(collected)
        processors.remove(collected.rendered)
