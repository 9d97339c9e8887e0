"""Taking a decision for somebody who looks at the page: shown first, then confirmed, and written only if it is still the same."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from mirror.config import load
from mirror.decide.model import Made
from mirror.decide.request import Request, offset_of, rate_of, request, start_of
from mirror.decide.run import decide
from mirror.errors import DeadlineExceeded, MirrorError, NothingToDecide, UsageError
from mirror.formats.control import as_document

DEADLINE_SECONDS = 45.0
"""How long a person waits for both clusters."""

_AT_ONCE = 2
_OF_THE_PERSON = ("who", "when", "why")


@dataclass(frozen=True)
class Asked:
    """A decision as somebody asks for it in the page, its options as the command line has them. `start` is `earliest`, `latest`, or an
    offset, `bytes_per_second` a number or a word."""

    flow: str
    who: str
    decision: str
    why: str
    topic: str | None = None
    partition: int | None = None
    alias: str | None = None
    start: str | int | None = None
    bytes_per_second: str | int | None = None

    def request(self) -> Request:
        """The same as the command line makes it, by the same rules. Raises UsageError."""
        return request(
            self.decision,
            who=self.who,
            why=self.why,
            topic=self.topic,
            partition=_read("partition", self.partition, offset_of),
            alias=self.alias,
            start=_read("start", self.start, start_of),
            bytes_per_second=None if _read("rate", self.bytes_per_second, rate_of) is None else self.bytes_per_second,
        )


@dataclass(frozen=True)
class Shown:
    """What a decision does or would do: one sentence for each thing, and what they are bound to, as one word that can be compared."""

    effects: tuple[str, ...]
    seen: str


def _read(name: str, given: str | int | None, reader: Callable[[str | int], Any]) -> Any:
    """What was filled in, as the reader takes it. Raises UsageError."""
    if given is None:
        return None
    try:
        return reader(given)
    except ValueError:
        raise UsageError(f"{given!r} is no {name}.", next="Correct what was filled in, and try again.") from None


class Changed(Exception):
    """Raised when what would happen is no longer what the person saw; `shown` is what it is now. Nothing was decided."""

    def __init__(self, shown: Shown) -> None:
        super().__init__("The situation has changed since you looked, and nothing was decided. This is what would happen now.")
        self.shown = shown


class Decider:
    """Asks the clusters in threads of its own, with a deadline. One that is not answered in time holds no other route up."""

    def __init__(self, take: Callable[..., list[Made]] = decide, seconds: float = DEADLINE_SECONDS) -> None:
        self._take = take
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="mirror-decide")

    async def show(self, asked: Asked) -> Shown:
        """What would happen. Raises UsageError, NothingToDecide, and what keeps the clusters from answering."""
        return await self._in_time(lambda: self._shown(asked), "nothing was decided")

    async def decide(self, asked: Asked, seen: str) -> Shown:
        """Takes the decision, if it still is what the person saw. Raises as `show`, and Changed."""
        return await self._in_time(lambda: self._decided(asked, seen), "whether it was decided is not known")

    def close(self) -> None:
        """Waits for nothing: a cluster that does not answer has deadlines of its own."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _shown(self, asked: Asked) -> Shown:
        return shown(self._take(load().flow(asked.flow), asked.request(), dry_run=True))

    def _decided(self, asked: Asked, seen: str) -> Shown:
        now = self._shown(asked)
        if now.seen != seen:
            raise Changed(now)
        return shown(self._take(load().flow(asked.flow), asked.request(), dry_run=False))

    async def _in_time(self, work: Callable[[], Shown], left: str) -> Shown:
        running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.wait_for(running, self._seconds)
        except TimeoutError:
            raise DeadlineExceeded(
                f"The clusters did not answer within {self._seconds:g} s; {left}.",
                next="Look at the standing decisions, and try again: to decide the same twice is harmless.",
            ) from None


def shown(made: Sequence[Made]) -> Shown:
    """Decisions in words, and what they are bound to: the watermarks, ids and offsets that were seen, not who asks, when and why."""
    bound = [{name: value for name, value in as_document(each.decision).items() if name not in _OF_THE_PERSON} for each in made]
    seen = hashlib.sha256(json.dumps(_without_moments(bound), sort_keys=True).encode()).hexdigest()
    return Shown(tuple(_sentence(each) for each in made), seen)


def _without_moments(bound: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`until` is the moment of looking itself."""
    return [{name: value for name, value in each.items() if name != "until"} for each in bound]


def _sentence(made: Made) -> str:
    decision = made.decision
    where = "" if decision.topic is None else decision.topic + (f"-{decision.partition}" if decision.partition is not None else "")
    return f"{made.effect}." if made.effect.startswith(where) else f"{where}: {made.effect}."


STATUS: Mapping[type[MirrorError], int] = {NothingToDecide: 409, DeadlineExceeded: 504}
"""How an error is answered in HTTP's words; those not named here: 502 if it may mend itself, 400 if not."""


def status_of(error: MirrorError) -> int:
    """The HTTP status for an error of ours."""
    return STATUS.get(type(error), 502 if error.retriable else 400)
