"""The trial as a command: `python -m tests.trial --waves 200 --seed 1`, or with `--failovers 100` in the place of waves.

A line for each wave, the table at the end and in RESULTS.md.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from services.kafka import KafkaCluster
from services.oracle import Oracle
from tests.trial import failover_results, failovers
from tests.trial.applications import libraries
from tests.trial.cutovers import Cutover, CutoverOutcome, Fault, faults
from tests.trial.failovers import FailoverOutcome
from tests.trial.results import append, summary, table
from tests.trial.site import POLICIES, TrialSite


@contextmanager
def trial_site(directory: Path, policy: str) -> Iterator[TrialSite]:
    """Two clusters of one broker each, with applications that live on the first."""
    directory.mkdir(parents=True, exist_ok=True)
    clusters = {alias: KafkaCluster(directory / alias, alias) for alias in ("east", "west")}
    try:
        for cluster in clusters.values():
            cluster.launch()
        for cluster in clusters.values():
            cluster.wait_ready()
        with Oracle(directory / "oracle.log") as oracle, libraries(directory) as applications:
            site = TrialSite(directory, clusters, applications, oracle, policy)
            site.begin()
            yield site
    finally:
        for cluster in clusters.values():
            cluster.stop()


def play(site: TrialSite, planned: list[Fault], dice: random.Random) -> Iterator[CutoverOutcome]:
    """A wave for each fault, forth and back, until one cannot be moved."""
    for number, fault in enumerate(planned):
        outcome = Cutover(site, number, fault, dice).run()
        yield outcome
        if outcome.wrong:
            return


def finish(site: TrialSite) -> list[str]:
    """Lets the groups read to the end; a line for each."""
    site.end(site.producers)
    site.drain()
    site.end(site.consumers)
    return summary(site.policy, site.verdicts())


def lose_sources(rounds: int, seed: int) -> int:
    """Plays failovers, until it is interrupted at the latest; 1 if anything was not as the report said."""
    began = time.monotonic()
    outcomes: list[FailoverOutcome] = []
    with tempfile.TemporaryDirectory(prefix="mirror-trial-") as name, suppress(KeyboardInterrupt):
        for outcome in failovers.play(Path(name), rounds, seed):
            outcomes.append(outcome)
            print(failover_results.line(outcome), flush=True)
    if outcomes:
        failover_results.append(outcomes, seed, time.monotonic() - began)
        print(failover_results.table(outcomes))
    return 1 if any(outcome.wrong for outcome in outcomes) else 0


def main(arguments: list[str]) -> int:
    """Plays half of the waves with each policy; 1 if anything was lost, read twice, out of order or not moved."""
    parser = argparse.ArgumentParser(prog="python -m tests.trial")
    parser.add_argument("--waves", type=int, default=200)
    parser.add_argument("--failovers", type=int, default=0, help="so many failovers instead of planned waves")
    parser.add_argument("--seed", type=int, default=round(time.time()))
    options = parser.parse_args(arguments)
    if options.failovers:
        return lose_sources(options.failovers, options.seed)
    dice, began = random.Random(options.seed), time.monotonic()
    outcomes: list[CutoverOutcome] = []
    lines: list[str] = []
    is_good = True
    with tempfile.TemporaryDirectory(prefix="mirror-trial-") as name:
        for policy in POLICIES:
            with trial_site(Path(name) / policy.replace(" ", "-"), policy) as site:
                for outcome in play(site, list(islice(faults(dice), options.waves // len(POLICIES))), dice):
                    outcomes.append(outcome)
                    print(outcome, flush=True)
                lines += finish(site)
                is_good = is_good and all(verdict.is_good for verdict in site.verdicts())
    append(outcomes, lines, options.seed, time.monotonic() - began)
    print(table(outcomes), *lines, sep="\n")
    return 0 if is_good and not any(outcome.wrong for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
