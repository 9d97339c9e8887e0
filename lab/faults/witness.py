"""What the witness has read of both sides of a flow so far, partition by partition."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from lab.faults.copies import Jump, PartitionCopies
from lab.faults.translations import Answer, Tally, judge_answers
from services.comparison import Account
from services.oracle import Oracle, Side


@dataclass
class Witness:
    """A topic and its mirror. What was read once is kept, and only what came since is read."""

    oracle: Oracle
    source: str
    topic: str
    target: str
    remote: str
    copies: dict[int, PartitionCopies] = field(default_factory=lambda: defaultdict(PartitionCopies))
    decisions: list[str] = field(default_factory=list)
    """What was decided, in words, for the report of a bad round."""

    def read_source(self) -> None:
        """Reads the source's records as far as they are committed. Call it before the source may delete them."""
        start = {partition: copies.source_end for partition, copies in self.copies.items()}
        for partition, records in self.oracle.digests(Side(self.source, self.topic, start=start)).items():
            self.copies[partition].read_source(records)

    def read(self) -> None:
        """Reads both sides; the target first, so that the source has what was copied."""
        start = {partition: copies.target_end for partition, copies in self.copies.items()}
        target = self.oracle.digests(Side(self.target, self.remote, start=start))
        self.read_source()
        for partition, records in target.items():
            self.copies[partition].read_target(records)

    def count(self) -> list[Account]:
        """What is wrong with all that came since the last count, partition by partition."""
        self.read()
        return [copies.account(partition) for partition, copies in sorted(self.copies.items())]

    def note_decision(self, partition: int | None, at: int | None, to: int | None) -> None:
        """A person decided that the copy continues at `to` when it has come to `at`."""
        assert partition is not None and at is not None and to is not None
        self.copies[partition].note_decision(Jump(at, to))
        self.decisions.append(f"partition {partition}: from {at} to {to}")

    def judge(self, answers: Iterable[Answer]) -> Tally:
        """Judges these answers by what the target holds now."""
        self.read()
        return Tally.of(judge_answers(answers, self.copies))
