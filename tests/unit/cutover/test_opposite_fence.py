"""Which ACLs of earlier waves of the opposite flow go when a wave opens."""

from mirror.cutover.fence_acls import acl_facts, deny_write
from mirror.cutover.opposite_fence import fence_acls
from mirror.cutover.steps import DONE, FENCE, PLANNED
from mirror.cutover.wave_record import OPENED, ROLLED_BACK, UNDER_WAY, StepNote, WaveRecord


def wave(name, state, *acls):
    note = StepNote(DONE, "ada", 1, facts={"acls": acl_facts(acls)})
    return WaveRecord(name, ("orders",), (), PLANNED, "ada", "why", 1, state, steps={FENCE: note})


def test_of_open_waves_those_of_the_topics_go_each_once_whoever_they_deny():
    everybody, writer, other = deny_write("orders"), deny_write("orders", "User:writer"), deny_write("payments")
    waves = [wave("one", OPENED, everybody, other), wave("two", OPENED, everybody, writer)]
    assert fence_acls(waves, ["orders"]) == (everybody, writer)


def test_a_wave_that_is_not_open_keeps_its_fence():
    waves = [wave("one", UNDER_WAY, deny_write("orders")), wave("two", ROLLED_BACK)]
    assert fence_acls(waves, ["orders"]) == ()
