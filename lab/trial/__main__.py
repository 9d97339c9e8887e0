"""The trial as a command: `python -m lab.trial --waves 210 --seed 1`. A line for each wave, the table at the end and in RESULTS.md.

`--airflow-waves 140` plays waves under Airflow's scheduler; with `--minutes 60` no wave begins later. In place of waves, `--failovers 100`
plays failovers, `--asset-kills 50` kills the task that announces complete days to Airflow's assets, and `--registry-kills 100` the process
that copies schemas to another registry.
"""

import argparse
import itertools
import math
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar

from lab.trial import asset_kills, failovers, registry_kills
from lab.trial.airflow_waves import AIRFLOW_KINDS, SLOW_PRODUCERS, airflow_cutovers
from lab.trial.applications import ProducerApplication, libraries
from lab.trial.cutovers import KINDS, STEPS, Cutover, CutoverOutcome, Fault
from lab.trial.fault_deck import FaultDeck
from lab.trial.results import (
    append_asset_kills,
    append_failovers,
    append_registry_kills,
    append_waves,
    count_hits,
    wave_table,
)
from lab.trial.site import POLICIES, PRODUCERS, TrialSite
from services.kafka import KafkaCluster, run_clusters
from services.oracle import Oracle

_WAVES_A_SITE = 30
"""How many waves are played on the same clusters: each audits its topics whole, and they grow."""
_NOT_MOVED = 5
"""After how many waves that could not be moved the waves of one form and policy end."""


Outcome = TypeVar("Outcome")


class Wave(Protocol):
    """One wave of a site under load."""

    def run(self) -> CutoverOutcome:
        """Moves the applications of the site to the other cluster."""


Waves = Callable[[int, Sequence[Fault], random.Random], Wave]
"""Makes a site's wave of a number with faults."""


@contextmanager
def trial_site(directory: Path, policy: str, producers: Sequence[ProducerApplication] = PRODUCERS) -> Iterator[TrialSite]:
    """Two clusters of one broker each, with applications that live on the first."""
    directory.mkdir(parents=True, exist_ok=True)
    clusters = {alias: KafkaCluster(directory / alias, alias) for alias in ("east", "west")}
    with run_clusters(*clusters.values()), Oracle(directory / "oracle.log") as oracle, libraries(directory) as applications:
        site = TrialSite(directory, clusters, applications, oracle, policy, producers)
        site.begin()
        yield site


@contextmanager
def process_cutovers(site: TrialSite) -> Iterator[Waves]:
    """Gives what makes the waves of a site that run in a process of their own, with one fault each."""
    yield lambda number, faults, dice: Cutover(site, number, faults[0], dice)


def play(waves: Waves, planned: Iterable[Sequence[Fault]], dice: random.Random) -> Iterator[CutoverOutcome]:
    """A wave for each hand of faults, forth and back, until one cannot be moved."""
    for number, faults in enumerate(planned):
        outcome = waves(number, faults, dice).run()
        yield outcome
        if outcome.wrong:
            return


def finish(site: TrialSite) -> list[str]:
    """Lets the groups read to the end; a line for each."""
    site.end(site.producers)
    site.drain()
    site.end_consumers()
    lines = [*map(str, site.verdicts()), *(f"a consumer gave up by itself, {said}" for said in site.gave_up)]
    return [f"- {site.policy}: {line}" for line in lines]


@dataclass(frozen=True)
class Form:
    """A form in which waves run: with which faults, in how many steps of a wave, by what, and under which load."""

    name: str
    kinds: Sequence[str]
    steps: int
    cutovers: Callable[[TrialSite], AbstractContextManager[Waves]]
    producers: Sequence[ProducerApplication]


OWN = Form("processes", KINDS, 1, process_cutovers, PRODUCERS)
AIRFLOW = Form("Airflow", AIRFLOW_KINDS, len(STEPS), airflow_cutovers, SLOW_PRODUCERS)


@dataclass
class Trial:
    """What was played so far, below one directory."""

    directory: Path
    dice: random.Random
    outcomes: list[CutoverOutcome] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    is_good: bool = True

    def play(self, form: Form, policy: str, waves: int, seconds: float) -> None:
        """Plays this many waves, and more until each kill point had its share. After some waves, and after one that could not be moved,
        it starts new clusters. No wave begins once the time is up.
        """
        deck, ends = FaultDeck(form.kinds, waves, self.dice, form.steps), time.monotonic() + seconds
        faults, not_moved = iter(deck), 0
        for number in itertools.count():
            first = next(faults, None)
            if first is None or not_moved == _NOT_MOVED or time.monotonic() > ends:
                return
            is_moved = True
            directory = self.directory / f"{form.name}-{policy}-{number}".replace(" ", "-")
            with trial_site(directory, policy, form.producers) as site:
                with form.cutovers(site) as cutovers:
                    planned = itertools.chain([first], itertools.islice(faults, _WAVES_A_SITE - 1))
                    for outcome in play(cutovers, planned, self.dice):
                        deck.count(outcome)
                        self.outcomes.append(outcome)
                        print(outcome, flush=True)
                        is_moved = not outcome.wrong
                        if time.monotonic() > ends:
                            break
                self.lines += finish(site)
                self.is_good = self.is_good and is_moved and all(verdict.is_good for verdict in site.verdicts())
            not_moved += not is_moved


def play_rounds(
    play: Callable[[Path, int, int], Iterator[Outcome]],
    append: Callable[[Sequence[Outcome], int, float], None],
    count: int,
    seed: int,
) -> list[Outcome]:
    """Plays rounds of another kind than waves, or fewer if it is interrupted; prints each, and appends their table to RESULTS.md."""
    began, outcomes = time.monotonic(), list[Outcome]()
    with tempfile.TemporaryDirectory(prefix="mirror-trial-") as name, suppress(KeyboardInterrupt):
        for outcome in play(Path(name), count, seed):
            outcomes.append(outcome)
            print(outcome, flush=True)
    if outcomes:
        append(outcomes, seed, time.monotonic() - began)
    return outcomes


def main(arguments: list[str]) -> int:
    """Plays half of the waves with each policy, or rounds in their place; 1 if anything was lost, read twice, out of order or not moved."""
    parser = argparse.ArgumentParser(prog="python -m lab.trial")
    parser.add_argument("--waves", type=int, help="in processes of their own; 210 if there are none under Airflow")
    parser.add_argument("--airflow-waves", type=int, default=0, help="as the DAG of the flow, under Airflow's scheduler")
    parser.add_argument("--failovers", type=int, default=0, help="how many failovers to play in place of waves")
    parser.add_argument(
        "--asset-kills", type=int, default=0, help="how often to kill the task that announces complete days, in place of waves"
    )
    parser.add_argument(
        "--registry-kills", type=int, default=0, help="how often to kill the process that copies schemas, in place of waves"
    )
    parser.add_argument("--fault", action="append", help="only faults whose name has these words; more than once: any of them")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no wave begins later")
    parser.add_argument("--seed", type=int, default=round(time.time()))
    options = parser.parse_args(arguments)
    if options.failovers:
        return any(lost.wrong for lost in play_rounds(failovers.play, append_failovers, options.failovers, options.seed))
    if options.asset_kills:
        return not all(day.is_good for day in play_rounds(asset_kills.play, append_asset_kills, options.asset_kills, options.seed))
    if options.registry_kills:
        rounds = play_rounds(registry_kills.play, append_registry_kills, options.registry_kills, options.seed)
        return any(copied.wrong for copied in rounds) or any(copied.missing or copied.modes for copied in rounds[-1:])
    waves = {OWN: options.waves if options.waves is not None else 0 if options.airflow_waves else 210, AIRFLOW: options.airflow_waves}
    began, directory = time.monotonic(), Path(tempfile.mkdtemp(prefix="mirror-trial-"))
    trial = Trial(directory, random.Random(options.seed))
    words = options.fault or [""]
    forms = {form: replace(form, kinds=tuple(kind for kind in form.kinds if any(word in kind for word in words))) for form in waves}
    planned = [(forms[form], policy, count // len(POLICIES)) for form, count in waves.items() if count for policy in POLICIES]
    try:
        for form, policy, count in planned:
            trial.play(form, policy, count, 60 * options.minutes / len(planned))
    finally:  # what was played counts, whatever ends the trial
        if trial.outcomes:
            append_waves(trial.outcomes, trial.lines, options.seed, time.monotonic() - began)
            print(wave_table(trial.outcomes), *count_hits(trial.outcomes), *trial.lines, sep="\n")
        if trial.is_good and sys.exc_info()[0] is None:
            shutil.rmtree(directory)
        else:
            print(f"Logs of brokers and journals of applications are in {directory}.")
    return 0 if trial.is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
