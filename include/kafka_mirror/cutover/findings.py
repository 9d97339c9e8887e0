"""What a preflight says, sentence by sentence: stops, warnings, information. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kafka_mirror.cutover.wave import Wave, WaveTopics
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.display import show, visible
from kafka_mirror.errors.next_step import NOTHING, Command, NextStep, Part, of_the_flow
from kafka_mirror.offsets.partition import TopicPartition

STOP, WARNING, INFORMATION = "stop", "warning", "information"
"""A stop keeps the wave from moving. A warning names what a person does before or during the move, or loses by it. The rest informs."""
KINDS = (STOP, WARNING, INFORMATION)

CUT_OFF = (
    "A broker that is cut off from its cluster goes on answering as the leader that it was. Connect it again, stop it, or take it out of "
    "bootstrap.servers. "
)
"""What to do where the bootstrap servers of the source contradict each other."""


@dataclass(frozen=True)
class Finding:
    """One sentence about a wave with the next step. `code` is stable, for programs; an error of the mirror keeps its own."""

    kind: str
    code: str
    message: str
    step: NextStep = NOTHING
    topic: str | None = None
    partition: int | None = None
    group: str | None = None

    def of_flow(self, name: str) -> "Finding":
        """The finding with the flow's name in the commands to run next."""
        return replace(self, step=self.step.with_flow(name))

    def as_document(self) -> dict[str, Any]:
        """The finding as `--json` has it."""
        where = {"topic": self.topic, "partition": self.partition, "group": self.group}
        what = {"kind": self.kind, "code": self.code, "message": self.message}
        return {**what, **where, "next": self.step.text, "commands": list(self.step.commands)}

    def __str__(self) -> str:
        return visible(f"{self.kind}: {self.message}" + (f" Next: {self.step}" if self.step else ""), keep="")


def stop(code: str, message: str, *next: Part, topic: str | None = None, group: str | None = None) -> Finding:
    """A finding that stops the wave."""
    return Finding(STOP, code, message, NextStep.of(*next), topic, None, group)


def warning(code: str, message: str, *next: Part, topic: str | None = None, group: str | None = None) -> Finding:
    """A finding that a person has to know before the move."""
    return Finding(WARNING, code, message, NextStep.of(*next), topic, None, group)


def information(code: str, message: str, *, topic: str | None = None, group: str | None = None) -> Finding:
    """A finding that asks for nothing."""
    return Finding(INFORMATION, code, message, NOTHING, topic, None, group)


def transaction_commands(tp: TopicPartition, start: int) -> tuple[Part, ...]:
    """How a person looks at a transaction of the source that nobody ends, and ends it; `start` is its first offset."""
    tool, place = "kafka-transactions.sh --bootstrap-server <source>", f"--topic {tp.topic} --partition {tp.partition}"
    look, abort = Command(f"{tool} find-hanging {place}"), Command(f"{tool} abort {place} --start-offset {start}")
    return "look at it with: ", look, ", and end it with: ", abort


def of_error(error: ErrorReport, kind: str = STOP) -> Finding:
    """An error of the mirror as a finding."""
    step = error.step or NextStep.of("Look at the brokers, and ask again.")
    return Finding(kind, error.code, error.message, step, error.topic, error.partition)


def in_order(findings: Iterable[Finding], flow_name: str) -> tuple[Finding, ...]:
    """Each finding once, stops first, with the flow's name in their commands."""
    named = dict.fromkeys(finding.of_flow(flow_name) for finding in findings)
    return tuple(sorted(named, key=lambda finding: KINDS.index(finding.kind)))


def wave_findings(wave: Wave, topics: WaveTopics) -> Iterable[Finding]:
    """What is wrong with the wave's topics themselves."""
    for pattern in topics.unmatched:
        yield stop(
            "pattern-matches-nothing",
            f"--topics {pattern} matches no topic that the source shows.",
            "Name topics as the source does; a topic on which the mirror has no DESCRIBE is hidden: ",
            of_the_flow("status"),
            " lists those that the flow mirrors.",
        )
    for topic in topics.not_replicated:
        yield stop(
            "topic-not-replicated",
            f"{topic} is taken by --topics {show(','.join(wave.topics))}, but the flow does not replicate it.",
            "Take it into the flow's property topics and let it be copied, or leave it out of the wave.",
            topic=topic,
        )
