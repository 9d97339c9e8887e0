"""From an error to its decision: the button that answers it, what it would do, and taking it if a person confirms that."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from kafka_mirror.config import load
from kafka_mirror.decide.binding import DecisionWithEffect
from kafka_mirror.decide.request import ABOUT_A_TOPIC, KINDS, DecisionRequest, parse_offset, parse_start, request
from kafka_mirror.decide.run import decide
from kafka_mirror.errors import DeadlineExceeded, ErrorReport, MirrorError, NothingToDecide, Remedy, UsageError
from kafka_mirror.errors.words import first_few
from kafka_mirror.ledger.control_records import as_document


@dataclass(frozen=True)
class ErrorGroup:
    """Errors of one kind about one topic, or about no topic: the first of them, and which partitions have it."""

    error: ErrorReport
    partitions: tuple[int, ...] = ()
    answers: tuple[Remedy, ...] = ()

    @property
    def where(self) -> str:
        """The topic, with its one partition, or how many they are; empty for a flow as a whole."""
        return f"{self.error.topic}-{self.partitions[0]}" if self.error.topic and len(self.partitions) == 1 else self.error.topic or ""

    @property
    def others(self) -> str:
        """The partitions beside the first, at most twelve of them by name."""
        return first_few(self.partitions[1:], most=12)


def code_spans(text: str) -> list[tuple[str, bool]]:
    """A text of the runbook in its pieces, each with whether it is code: what stands in backticks."""
    return [(piece, number % 2 == 1) for number, piece in enumerate(text.split("`")) if piece]


def title(decision: str) -> str:
    """A decision as a person presses it."""
    return KINDS[decision].title if decision in KINDS else decision.replace("-", " ").capitalize()


def explain_decision(decision: str) -> str:
    """What a decision does, in a sentence or two."""
    return KINDS[decision].explanation if decision in KINDS else ""


def needs_topic(decision: str) -> bool:
    """Whether a decision is about a topic."""
    return decision in ABOUT_A_TOPIC


def problems(errors: Iterable[ErrorReport]) -> list[ErrorGroup]:
    """The errors, those of a flow as a whole first; many of one kind about one topic are one, and one decision answers them."""
    grouped: dict[tuple[str, str | None, str], list[ErrorReport]] = {}
    for error in errors:
        grouped.setdefault((error.code, error.topic, "" if error.topic else error.message), []).append(error)
    groups = []
    for first, *more in grouped.values():
        numbers = tuple(sorted({error.partition for error in (first, *more) if error.partition is not None}))
        answers = first.remedies if len(numbers) < 2 else tuple(replace(answer, partition=None) for answer in first.remedies)
        groups.append(ErrorGroup(first, numbers, answers))
    return sorted(groups, key=lambda group: (group.error.topic is not None, group.error.retriable))


DEADLINE_SECONDS = 45.0
"""How long a person waits for both clusters at most."""

_MAX_THREADS = 2
"""Of each flow: its clusters may be dead, and its people press again."""
_NOT_BOUND = ("who", "when", "why", "until")
"""What a digest leaves out; `until` is the time of looking."""


@dataclass(frozen=True)
class DecisionInput:
    """A decision that a person fills in on the page, with the options of the command line. `start` is `earliest`, `latest`, or an offset,
    `bytes_per_second` a number or a word."""

    flow: str
    who: str
    decision: str
    why: str
    topic: str | None = None
    partition: int | None = None
    alias: str | None = None
    start: str | int | None = None
    bytes_per_second: str | int | None = None

    def request(self) -> DecisionRequest:
        """The request, by the rules of the command line. Raises UsageError."""
        return request(
            self.decision,
            who=self.who,
            why=self.why,
            topic=self.topic,
            partition=_read("partition", self.partition, parse_offset),
            alias=self.alias,
            start=_read("start", self.start, parse_start),
            bytes_per_second=self.bytes_per_second,
        )


@dataclass(frozen=True)
class DecisionEffects:
    """What a decision does or would do, a sentence each. `digest` is one of the facts that it is bound to."""

    effects: tuple[str, ...]
    digest: str


def _read(name: str, value: str | int | None, reader: Callable[[str | int], Any]) -> Any:
    """A value that a person filled in, as the reader returns it; None if nothing was. Raises UsageError."""
    if value is None:
        return None
    try:
        return reader(value)
    except ValueError as error:
        raise UsageError(f"{name}: {error}.", next="Correct what was filled in, and try again.") from None


class SituationChanged(Exception):
    """Raised when the effects are no longer those that the person saw; `current` are those of now. Nothing was decided."""

    def __init__(self, current: DecisionEffects) -> None:
        super().__init__("The situation has changed since you looked, and nothing was decided. This is what would happen now.")
        self.current = current


class Decider:
    """Asks the clusters in threads of its own, with a deadline: a cluster that does not answer blocks no other route, and no other flow."""

    def __init__(self, take: Callable[..., list[DecisionWithEffect]] = decide, seconds: float = DEADLINE_SECONDS) -> None:
        self._take = take
        self._seconds = seconds
        self._threads: dict[str, ThreadPoolExecutor] = {}

    async def show(self, decision: DecisionInput) -> DecisionEffects:
        """The effects of a decision that is not taken. Raises UsageError, NothingToDecide, DeadlineExceeded, and errors of the clusters."""
        return await self._in_time(decision.flow, lambda: self._preview(decision), "nothing was decided")

    async def decide(self, decision: DecisionInput, digest: str) -> DecisionEffects:
        """Takes the decision if its effects are still those that the person saw. Raises as `show`, and SituationChanged."""
        return await self._in_time(decision.flow, lambda: self._take_if_unchanged(decision, digest), "whether it was decided is not known")

    def close(self) -> None:
        """Ends the threads without waiting: the clients have timeouts of their own."""
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)

    def _preview(self, decision: DecisionInput) -> DecisionEffects:
        return effects_of(self._take(load().flow(decision.flow), decision.request(), dry_run=True))

    def _take_if_unchanged(self, decision: DecisionInput, digest: str) -> DecisionEffects:
        now = self._preview(decision)
        if now.digest != digest:
            raise SituationChanged(now)
        return effects_of(self._take(load().flow(decision.flow), decision.request(), dry_run=False))

    async def _in_time(self, flow: str, work: Callable[[], DecisionEffects], state_left: str) -> DecisionEffects:
        """Does the work in the threads of its flow."""
        if flow not in self._threads:
            self._threads[flow] = ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="mirror-decide")
        running = asyncio.get_running_loop().run_in_executor(self._threads[flow], work)
        try:
            return await asyncio.wait_for(running, self._seconds)
        except TimeoutError:
            raise DeadlineExceeded(
                f"The clusters did not answer within {self._seconds:g} s; {state_left}.",
                next="Look at the standing decisions, and try again: to decide the same twice is harmless.",
            ) from None


def effects_of(decisions: Sequence[DecisionWithEffect]) -> DecisionEffects:
    """The effects of decisions, and a digest of the watermarks, ids and offsets that they are bound to; who, when and why are not in it."""
    facts = [{name: value for name, value in as_document(decision.decision).items() if name not in _NOT_BOUND} for decision in decisions]
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return DecisionEffects(tuple(_sentence(decision) for decision in decisions), digest)


def _sentence(bound: DecisionWithEffect) -> str:
    decision = bound.decision
    place = "" if decision.topic is None else decision.topic + (f"-{decision.partition}" if decision.partition is not None else "")
    return f"{bound.effect}." if bound.effect.startswith(place) else f"{place}: {bound.effect}."


STATUS: Mapping[type[MirrorError], int] = {NothingToDecide: 409, DeadlineExceeded: 504}
"""The HTTP status of an error; of any other one 502 if it is retriable, else 400."""


def status_of(error: MirrorError) -> int:
    """The HTTP status of a MirrorError."""
    return STATUS.get(type(error), 502 if error.retriable else 400)
