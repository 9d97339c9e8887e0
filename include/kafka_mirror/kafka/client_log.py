"""What librdkafka says of itself: at WARNING, the same line once and then how often it came again, without secrets.

Its background threads repeat each failed connection many times a second. What matters of it for the result is
in our errors; the lines tell when it began, and that it goes on.
"""

import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

REPEAT_SECONDS = 30.0
"""How soon the same line is said again at the earliest."""
_MOST_KINDS = 200
_SHORTEST_SECRET = 4
_SECRET_NAME = re.compile(r"password|passphrase|secret|\.pem$|jaas|token(?!\.endpoint)", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"((?:password|passphrase|secret|jaas\.config|\btoken)[\w.]*[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE
)
# `#producer-3`, `(after 3ms in state CONNECT, 5 identical error(s) suppressed)`: the same line again, whatever these say.
_VARIES = re.compile(r"#(?:producer|consumer)-\d+|\(after \d+ms in state [^)]*(?:\(s\)[^)]*)?\)|\d+ms\b")
_THREAD = re.compile(r" \[thrd:[^\]]*\]:")

_secrets: set[str] = set()


def keep_secret(settings: Mapping[str, Any]) -> None:
    """Has the secrets among a client's settings masked wherever a line should quote one."""
    values = (str(value) for name, value in settings.items() if _SECRET_NAME.search(name) and isinstance(value, str))
    _secrets.update(value for value in values if len(value) >= _SHORTEST_SECRET)


def mask_secrets(text: str) -> str:
    """A line without secrets: those that are known, and whatever is assigned to a name that sounds like one."""
    text = _ASSIGNED.sub(r"\1***", text)  # first, for a secret that is a word like "secret" would hide the name
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


class RepeatFilter(logging.Filter):
    """Lets the first of equal lines pass, and of its repetitions one in a while, with how many there were in between."""

    def __init__(self, seconds: float = REPEAT_SECONDS, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._now = now
        self._said: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is logged; its text is masked and its level no more than a warning."""
        text = _THREAD.sub("", mask_secrets(record.getMessage()))
        record.msg, record.args = f"librdkafka: {text}", ()
        if record.levelno < logging.WARNING:
            return True
        kind = " ".join(_VARIES.sub("", text).split())
        said, repeated = self._said.get(kind, (None, 0))
        if said is not None and self._now() - said < self._seconds:
            self._said[kind] = (said, repeated + 1)
            return False
        if len(self._said) >= _MOST_KINDS:
            self._said.clear()
        self._said[kind] = (self._now(), 0)
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.msg += f" (the same line came {_times(repeated)} more before)" if repeated else ""
        return True


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


client_log = logging.getLogger("kafka_mirror.librdkafka")
client_log.setLevel(logging.WARNING)
client_log.addFilter(RepeatFilter())
client_log.addHandler(logging.NullHandler())  # without any logging configured nothing goes to the terminal
