"""Failovers under load: the source is killed, a wave runs from the target alone, and lost is what its report says may be missing."""

import base64
import json
import random
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kafka_mirror.copy.plan.run import plan
from kafka_mirror.cutover.failover.export import LINES, OPEN_LINES
from kafka_mirror.cutover.failover.missing_records import MissingListing
from kafka_mirror.cutover.failover.source_comparison import compare_source
from kafka_mirror.cutover.failover.steps import survey_failover
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.report import WaveReport
from kafka_mirror.cutover.wave.run import read_waves, report_wave
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import FAILOVER, FAILOVER_STEPS, PREFLIGHT
from kafka_mirror.errors import FlowClosed
from lab.trial.applications import Library, libraries
from lab.trial.failover_site import FailoverSite, failover_clusters, parse_number
from lab.trial.journal import Number, judge, list_first, read_group, read_producer
from lab.trial.losses import (
    GroupVerdict,
    LossVerdict,
    Place,
    Said,
    find_disorder,
    judge_group,
    judge_losses,
    read_acknowledged,
    read_readings,
)
from lab.trial.site import DONE, IDENTITY, POLICIES, STOPPED, MoverProcess, choose_moment, run_later
from services.kafka import KafkaCluster
from services.oracle import Oracle

_TRIES = 6
_LIVE_SECONDS = 1.0
_COMPARE_SECONDS, _HANGING_SECONDS = 60.0, 15.0
"""How long a comparison may wait for open transactions, and after how long one is taken for abandoned."""
_BUDGETS = (None, 20_000, 60_000)
_ROUNDS_OF_A_PAIR = 25


@dataclass(frozen=True)
class Blow:
    """What happens in a round. The source is killed `seconds` after the copy of this number began. The copier is killed with it, or goes on
    as far as it can. The wave is killed in `step` (None: not at all). The source comes back or not; a planned wave of the same topics is
    under way or not."""

    policy: str
    copy: int
    seconds: float
    copier_dies: bool
    step: str | None
    returns: bool
    budget: int | None = None
    planned: bool = False


@dataclass(frozen=True)
class FailoverOutcome:
    """One round. `only_there`: how many records only the returned source had; None if the source was not compared.
    `aborted`: how many abandoned transactions of the source were aborted by hand."""

    number: int
    blow: Blow
    losses: LossVerdict
    groups: tuple[GroupVerdict, ...]
    is_hit: bool
    runs: int
    seconds: float
    only_there: int | None
    aborted: int
    wrong: tuple[str, ...]
    is_beside_planned: bool = False
    """Whether the source was lost while a planned wave was under way."""

    def __str__(self) -> str:
        what, losses = self.blow, self.losses
        parts = [
            f"round {self.number}, {what.policy}, {self.seconds:.0f} s, {self.runs} runs",
            f"killed in {what.step}" if self.is_hit else "not killed",
            "beside a planned wave" if self.is_beside_planned else "alone",
            f"copier {'killed' if what.copier_dies else 'left'}, budget {what.budget}",
            f"{losses.acknowledged:,} acknowledged, {losses.said:,} said missing, {len(losses.lost):,} missing, {losses.later:,} later",
            f"{sum(group.again for group in self.groups):,} read again, {sum(group.early for group in self.groups):,} early",
            "the source did not come back" if self.only_there is None else f"{self.only_there:,} only on the source",
        ]
        return "; ".join(parts) + "".join(f"\n    WRONG: {text}" for text in self.wrong)


def draw_blow(policy: str, dice: random.Random) -> Blow:
    """Draws one by chance."""
    step = dice.choice(FAILOVER_STEPS) if dice.random() < 0.6 else None
    copy, seconds, dies, returns = dice.randint(2, 4), choose_moment(dice, 1.5), dice.random() < 0.5, dice.random() < 0.5
    return Blow(policy, copy, seconds, dies, step, returns, dice.choice(_BUDGETS), dice.random() < 0.4)


class Failovers:
    """Rounds on one pair of clusters. The libraries of a round's target start while its source lives, and serve the next one's source."""

    def __init__(self, directory: Path, clusters: dict[str, KafkaCluster], oracle: Oracle, stack: ExitStack) -> None:
        self._directory, self._clusters, self._oracle, self._stack = directory, clusters, oracle, stack
        self._libraries = self._start()

    def play(self, number: int, what: Blow, dice: random.Random) -> FailoverOutcome:
        """One round."""
        for cluster in self._clusters.values():
            if not cluster.running:
                cluster.start()
        there, self._libraries = self._libraries, self._start()
        directory = self._directory / f"round-{number}"
        site = FailoverSite(directory, self._clusters, self._oracle, what.policy, number, there, self._libraries, what.budget)
        try:
            return Failover(site, what, dice).run()
        finally:
            site.end()

    def _start(self) -> dict[str, Library]:
        return self._stack.enter_context(libraries(self._directory))


@contextmanager
def failovers(directory: Path) -> Iterator[Failovers]:
    """Rounds on a pair of clusters of their own."""
    directory.mkdir(parents=True, exist_ok=True)
    with failover_clusters(directory) as clusters, Oracle(directory / "oracle.log") as oracle, ExitStack() as stack:
        yield Failovers(directory, clusters, oracle, stack)


def play(directory: Path, rounds: int, seed: int) -> Iterator[FailoverOutcome]:
    """Plays rounds, with a new pair of clusters after some of them. Each round's dice follow from the seed and its number alone."""
    for first in range(0, rounds, _ROUNDS_OF_A_PAIR):
        with failovers(directory / f"pair-{first}") as pair:
            for number in range(first, min(first + _ROUNDS_OF_A_PAIR, rounds)):
                dice = random.Random(f"{seed} {number}")
                yield pair.play(number, draw_blow(POLICIES[number % len(POLICIES)], dice), dice)


@dataclass
class Failover:
    """One round under load."""

    site: FailoverSite
    blow: Blow
    dice: random.Random
    wrong: list[str] = field(default_factory=list)
    is_hit: bool = False
    runs: int = 0
    aborted: int = 0
    is_beside_planned: bool = False

    def run(self) -> FailoverOutcome:
        """Loses the source, moves, and judges."""
        site, began = self.site, time.monotonic()
        copier = site.begin()
        planned = site.begin_planned() if self.blow.planned else None
        copier.await_copy(self.blow.copy)
        time.sleep(self.blow.seconds)
        self.is_beside_planned = planned is not None and f"{PREFLIGHT} begins." in planned.lines
        site.lose_source()
        if self.blow.copier_dies:
            copier.kill()
        self._move()
        copier.kill()
        places = self._places()
        report = report_wave(site.flow, read_waves(site.flow), site.wave)
        if self.blow.returns:
            site.source_cluster.launch()
            if self.is_beside_planned:
                self._take_back_planned()
        site.begin_on_target()
        time.sleep(_LIVE_SECONDS)
        site.end_producers()
        on_target = site.read_target()
        everything = {number for numbers in on_target.values() for number in numbers}
        copied = set(on_target[site.remote])
        losses = self._losses(copied, report.missing_listing)
        read_before = {consumer.group: read_readings(site.lines(consumer.name), site.source) for consumer in site.consumers}
        site.end_consumers(everything)
        read_after = {group: read_readings(site.lines(f"{group}-later"), site.target) for group in read_before}
        groups = [judge_group(group, before, read_after[group], everything, places.get(group, {})) for group, before in read_before.items()]
        self._check_order(on_target, losses.lost)
        only_there = self._check_returned_source(copied, losses.lost) if self.blow.returns else None
        self._check_report(report, places)
        wrong = (*self.wrong, *losses.wrong(), *(text for group in groups for text in group.wrong()))
        seconds = time.monotonic() - began
        counts = (self.is_hit, self.runs, seconds, only_there, self.aborted)
        return FailoverOutcome(site.number, self.blow, losses, tuple(groups), *counts, wrong, self.is_beside_planned)

    # ------------------------------------------------------------ the wave

    def _move(self) -> None:
        """Runs the wave until it is done, as people would."""
        for _ in range(_TRIES):
            self.runs += 1
            mover = self.site.mover()
            mover.watch(lambda line, mover=mover: self._strike(line, mover))  # type: ignore[misc]
            if mover.run() == DONE:
                return
        self.wrong.append(f"the wave did not come to its end in {_TRIES} runs; the last one said: {' | '.join(mover.lines[-4:])}")

    def _strike(self, line: str, mover: MoverProcess) -> None:
        if not self.is_hit and self.blow.step is not None and line.startswith(f"{self.blow.step} begins"):
            self.is_hit = True
            run_later(choose_moment(self.dice, 0.4), mover.kill)

    def _take_back_planned(self) -> None:
        """Checks that the planned wave cannot go on, and rolls it back, which must not take anything from the failover."""
        self.site.source_cluster.wait_ready()
        again = self.site.plan_mover()
        if again.run() != STOPPED or not any(line.startswith("FlowClosed") for line in again.lines):
            self.wrong.append(f"the planned wave was to be refused, for the flow is closed: {' | '.join(again.lines[-4:])}")
        roll_back = self.site.plan_mover(rolls_back=True)  # a process that is made is under way
        if (code := roll_back.run()) != DONE:
            self.wrong.append(f"the roll back of the planned wave ended with {code}: {' | '.join(roll_back.lines[-4:])}")

    def _places(self) -> dict[str, dict[int, Place]]:
        """Where each group continues, as the wave found it: nothing that decides it has changed since."""
        with open_move(self.site.flow, Wave((self.site.topic,)), FAILOVER) as move:
            survey = survey_failover(move)
        places: dict[str, dict[int, Place]] = {}
        for position in survey.positions:
            group, remote = position.key
            places.setdefault(group, {})[remote.partition] = Place(position.noted.checkpoint.upstream, position.answer.reread)
        return places

    # ------------------------------------------------------------ the verdicts

    def _losses(self, copied: set[Number], missing: MissingListing | None) -> LossVerdict:
        said: dict[int, Said] = {}
        for partition in missing.partitions if missing is not None else ():
            until = partition.complete_until
            said[partition.source.partition] = Said(
                partition.watermark, partition.end.offset, 0.0 if until is None else until.timestamp() * 1000
            )
        records = [
            record for producer in self.site.producers for record in read_acknowledged(self.site.lines(producer.name), producer.name)
        ]
        return judge_losses(records, copied, said)

    def _check_order(self, on_target: dict[str, list[Number]], lost: Iterable[Number]) -> None:
        """Checks that each log of the target holds each record once and in order, and that every group got them so."""
        for topic, numbers in on_target.items():
            if wrong := find_disorder(numbers):
                self.wrong.append(f"{topic} on the target has {len(wrong)} records twice or in another order: {list_first(wrong)}")
        applications = (*self.site.producers, *self.site.later_producers)
        by_producer = [read_producer(self.site.lines(application.name), application.name) for application in applications]
        for consumer in self.site.consumers:
            lines = [*self.site.lines(consumer.name), *self.site.lines(f"{consumer.name}-later")]
            verdict = judge(consumer.group, by_producer, read_group(lines, names_kept=self.blow.policy == IDENTITY), lost_is=lost)
            if verdict.lost or verdict.disordered:
                self.wrong.append(str(verdict))

    def _check_report(self, report: WaveReport, places: dict[str, dict[int, Place]]) -> None:
        """Checks that the report has every group's positions, with what they read again."""
        said = {(place.group, place.partition): place.reread for place in report.positions}
        expected = {(group, partition): place.reread for group, of_group in places.items() for partition, place in of_group.items()}
        if said != expected:
            self.wrong.append(f"the report says of positions {said}, and the target {expected}")

    # ------------------------------------------------------------ the source comes back

    def _check_returned_source(self, copied: set[Number], lost: frozenset[Number]) -> int:
        """Checks that the flow stays closed, and that a comparison names the records that only the source has; gives how many they are."""
        site = self.site
        site.source_cluster.wait_ready()
        try:
            plan(site.flow)
            self.wrong.append("the source came back, and its flow was planned")
        except FlowClosed:
            pass
        directory = site.directory / "export"
        began = time.monotonic()
        while True:
            result = compare_source(site.flow, (site.topic,), directory)
            codes = {finding.code for finding in result.findings if finding.kind == "stop"}
            waited = time.monotonic() - began
            if codes != {"TransactionOpen"} or waited > _COMPARE_SECONDS:
                break
            if waited > _HANGING_SECONDS:
                for compared in (partition for partition in result.partitions if partition.open_until is not None):
                    site.abort_transaction(compared.source, compared.only_end)
                    self.aborted += 1
            time.sleep(0.5)
        if codes:
            self.wrong.append(
                f"the comparison stopped: {' | '.join(str(finding) for finding in result.findings if finding.kind == 'stop')}"
            )
        exported, after_open = set(exported_numbers(directory)), set(exported_numbers(directory, OPEN_LINES))
        if unknown := lost - exported - (after_open if self.aborted else set()):
            self.wrong.append(f"{len(unknown)} lost records were not exported: {list_first(unknown)}")
        if doubled := exported & copied:
            self.wrong.append(f"{len(doubled)} exported records are on the target: {list_first(doubled)}")
        acked = {record.number for producer in site.producers for record in read_acknowledged(site.lines(producer.name), producer.name)}
        if more := (exported & acked) - lost:
            self.wrong.append(f"{len(more)} exported records were not lost: {list_first(more)}")
        return len(exported)


def exported_numbers(directory: Path, ending: str = LINES) -> Iterator[Number]:
    """The records of an export: those that could be read, or those after an open transaction."""
    for path in (path for path in directory.glob(f"*{LINES}") if path.name.endswith(OPEN_LINES) == (ending == OPEN_LINES)):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            yield parse_number(base64.b64decode(row["value"]).decode(), row["partition"])
