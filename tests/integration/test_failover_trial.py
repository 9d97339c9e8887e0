"""A source is killed under load and its wave is killed too: missing is what the report says, and groups skip nothing of the target."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_mirror.cutover.wave.step import MOVE_GROUPS, OPEN
from lab.trial.failovers import Blow, Failovers, failovers
from lab.trial.site import IDENTITY, REMOTE_NAMES


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Failovers]:
    """Two clusters for all rounds."""
    directory: Path = tmp_path_factory.mktemp("failovers")
    with failovers(directory) as rounds:
        yield rounds


@pytest.mark.release
@pytest.mark.parametrize(
    "blow",
    [Blow(IDENTITY, 3, 0.3, True, OPEN, False, 60_000), Blow(REMOTE_NAMES, 3, 0.3, False, MOVE_GROUPS, True, planned=True)],
    ids=lambda blow: blow.policy,
)
def test_lost_is_what_the_report_says_and_groups_skip_nothing_that_is_on_the_target(blow: Blow, pair: Failovers) -> None:
    outcome = pair.play(0 if blow.policy == IDENTITY else 1, blow, random.Random(1))
    assert outcome.wrong == ()
    assert outcome.losses.acknowledged
    assert outcome.losses.lost, "the round proves nothing"
    assert (outcome.only_there is not None) == blow.returns
    assert outcome.is_beside_planned == blow.planned
