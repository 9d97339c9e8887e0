"""Applications live through waves forth and back, one of whose runs is killed: each group gets everything once and in order."""

import random
from pathlib import Path

import pytest

from kafka_mirror.cutover.wave.step import MOVE_GROUPS, OPEN
from lab.trial.__main__ import finish, play, process_cutovers, trial_site
from lab.trial.cutovers import KILL, STEPS, Fault
from lab.trial.site import IDENTITY, REMOTE_NAMES


@pytest.mark.release
@pytest.mark.parametrize("policy", [REMOTE_NAMES, IDENTITY])
def test_waves_forth_and_back_lose_nothing_and_repeat_nothing(policy: str, tmp_path: Path) -> None:
    with trial_site(tmp_path, policy) as site, process_cutovers(site) as waves:
        outcomes = list(play(waves, [[Fault(KILL, MOVE_GROUPS)], [Fault(KILL, OPEN)]], random.Random(1)))
        assert [outcome.wrong for outcome in outcomes] == [(), ()]
        assert {*STEPS} - {MOVE_GROUPS, OPEN} <= site.step_seconds.keys(), "a fault comes within the time that its step takes"
        lines = finish(site)
        verdicts = site.verdicts()
    assert all(verdict.records for verdict in verdicts), "every group has read something"
    assert all(verdict.is_good for verdict in verdicts), "\n".join(lines)
