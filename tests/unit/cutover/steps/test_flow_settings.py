"""What a flow's properties, decisions and rights say against a wave."""

from datetime import UTC, datetime

import pytest

from kafka_mirror.config import load
from kafka_mirror.cutover.steps.preflight import judge_flow
from kafka_mirror.cutover.wave.step import INFORMATION, STOP, WARNING
from kafka_mirror.ledger.control_records import HANDED_BACK, THROTTLE, Decision
from tests.unit.cli.command_line import VALID


@pytest.fixture
def findings(tmp_path):
    """`findings("emit.checkpoints.enabled=false", …)`: kind and code of what is said of a flow with these properties."""

    def call(*lines, has_groups=True, decisions=()):
        file = tmp_path / "mm2.properties"
        file.write_text("\n".join([VALID, *lines]))
        found = judge_flow(load([file]).flow("east->west"), has_groups, decisions)
        return [(each.kind, each.code) for each in found]

    return call


def test_a_flow_as_it_is_by_default_says_nothing(findings):
    assert findings() == []


def test_a_flow_without_checkpoints_stops_a_wave_with_groups(findings):
    assert findings("emit.checkpoints.enabled = false") == [(STOP, "NoCheckpoints")]
    assert findings("emit.checkpoints.enabled = false", has_groups=False) == []


def test_offsets_committed_by_schedule_are_a_warning(findings):
    assert findings("sync.group.offsets.enabled = true") == [(WARNING, "GroupOffsetsBySchedule")]
    assert findings("sync.group.offsets.enabled = true", has_groups=False) == []


def test_decisions_about_the_flow_count_while_they_are_in_force(findings):
    throttle, back = (Decision(word, "me", datetime.now(UTC), "a test") for word in (THROTTLE, HANDED_BACK))
    assert findings(decisions=[(throttle, True), (back, True)]) == [(INFORMATION, "Throttled"), (STOP, "HandedBack")]
    assert findings(decisions=[(throttle, False), (back, False)]) == []
