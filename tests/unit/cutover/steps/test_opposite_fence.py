"""Which ACLs of earlier waves of the opposite flow go when a wave opens."""

from types import SimpleNamespace

import pytest

from kafka_mirror.cutover.steps import opposite_flow
from kafka_mirror.cutover.steps.fence_acls import deny_write
from kafka_mirror.cutover.steps.opposite_flow import OppositeFlow, list_fence_acls, survey_opposite_fence
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, UNDER_WAY, StepNote, WaveRecord, write_acls
from kafka_mirror.cutover.wave.step import DONE, FENCE, PLANNED


def wave(name, state, *acls):
    note = StepNote(DONE, "ada", 1, facts={"acls": write_acls(acls)})
    return WaveRecord(name, ("orders",), (), PLANNED, "ada", "why", 1, state, steps={FENCE: note})


def test_of_open_waves_those_of_the_topics_go_each_once_whoever_they_deny():
    everybody, writer, other = deny_write("orders"), deny_write("orders", "User:writer"), deny_write("payments")
    waves = [wave("one", OPENED, everybody, other), wave("two", OPENED, everybody, writer)]
    assert list_fence_acls(waves, ["orders"]) == (everybody, writer)


def test_a_wave_that_is_not_open_keeps_its_fence():
    waves = [wave("one", UNDER_WAY, deny_write("orders")), wave("two", ROLLED_BACK)]
    assert list_fence_acls(waves, ["orders"]) == ()


@pytest.mark.parametrize(("claimed", "acls", "codes"), [((), 1, []), ((deny_write("orders"),), 0, ["FenceOfAnotherFlow"])])
def test_one_on_which_a_wave_of_another_flow_stands_stops_the_wave(monkeypatch, claimed, acls, codes):
    east, deny = SimpleNamespace(alias="east", list_operations=lambda: {"ALTER"}), deny_write("orders")
    stored = SimpleNamespace(waves={"one": wave("one", OPENED, deny)})
    monkeypatch.setattr(opposite_flow, "WaveStore", lambda *_: SimpleNamespace(read=lambda: stored))
    monkeypatch.setattr(opposite_flow, "topic_acls", lambda *_: frozenset((deny,)))
    monkeypatch.setattr(opposite_flow, "find_claimed_beside", lambda flow: frozenset(claimed) if flow == "east->west" else frozenset())
    found, findings = survey_opposite_fence(OppositeFlow("east->west", same=("orders",)), ["orders"], SimpleNamespace(alias="west"), east)
    assert (len(found), [finding.code for finding in findings]) == (acls, codes)
