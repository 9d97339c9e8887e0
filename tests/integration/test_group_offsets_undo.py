"""`group-offsets --undo` on real brokers: the groups of a run get back exactly what they had, and nobody else's position is touched."""

import json

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.groups import Committed
from services.consumers import groups_of, member, read_offsets, set_offsets


@pytest.fixture
def copied(mirroring, topic):
    mirroring.refresh()
    assert not mirroring.copy().errors
    return mirroring


@pytest.fixture
def group_offsets(pair, capsys):
    """The command line for the groups of this test: exit code, answer, and what it says to people."""
    file = pair.properties(extra={"source->target.mirror.lanes": "4", "groups": f".*-{pair.mark}"})

    def run(*arguments):
        code = main(["--config", str(file), "group-offsets", *arguments, "--flow", pair.flow, "--json"])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow

    return run


@pytest.fixture
def sync(pair, capsys):
    """Commits, and gives the name of the run by which it is taken back."""
    file = pair.properties(extra={"source->target.mirror.lanes": "4", "groups": f".*-{pair.mark}"})

    def run():
        assert main(["--config", str(file), "group-offsets", "--flow", pair.flow]) == 0
        (name,) = [line.split("'")[1] for line in capsys.readouterr().out.splitlines() if "--undo" in line]
        return name

    return run


def test_groups_get_back_what_they_had_and_those_of_others_stay(copied, pair, topic, group_offsets, sync):
    fresh, there, used, busy = (f"{name}-{pair.mark}" for name in ("fresh", "there", "used", "busy"))
    remote = pair.remote(topic)
    for name in (fresh, there, used, busy):
        set_offsets(pair.source_bootstrap, name, {(topic, 0): 9, (topic, 1): 7})
    with groups_of(pair.target_bootstrap) as groups:
        errors = {}
        groups.commit({there: {TopicPartition(remote, 0): Committed(2, "of the target")}}, errors)
        assert not errors
    run = sync()
    assert read_offsets(pair.target_bootstrap, there) == {TopicPartition(remote, 0): 9, TopicPartition(remote, 1): 7}
    set_offsets(pair.target_bootstrap, used, {(remote, 0): 8})

    code, looked = group_offsets("--undo", run, "--dry-run")
    assert (code, read_offsets(pair.target_bootstrap, fresh)) == (0, {TopicPartition(remote, 0): 9, TopicPartition(remote, 1): 7})
    with member(pair.target_bootstrap, busy, remote):
        code, done = group_offsets("--undo", run)
    assert code == 0
    states = dict(zip(done["result"]["group"], done["result"]["state"], strict=True))
    assert states == {fresh: "undone", there: "undone", used: "undone", busy: "left alone"}
    assert dict(zip(looked["result"]["group"], looked["result"]["state"], strict=True)) == {**states, busy: "undone"}
    assert read_offsets(pair.target_bootstrap, fresh) == {}
    assert read_offsets(pair.target_bootstrap, used) == {TopicPartition(remote, 0): 8}, "what somebody else committed stays"
    with groups_of(pair.target_bootstrap) as groups:
        assert groups.read_committed([there], errors)[there] == {TopicPartition(remote, 0): Committed(2, "of the target")}

    code, failed = group_offsets("--undo", "another run")
    assert (code, [error["code"] for error in failed["errors"]]) == (1, ["GroupRunUnknown"])
    assert run in failed["errors"][0]["message"], "the group that was busy can still be taken back"


def test_notes_of_groups_are_no_obstacle_to_the_next_copy_and_its_decisions(copied, pair, topic, oracle, sync, group_offsets):
    group = f"shop-{pair.mark}"
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 9})
    run = sync()
    oracle.produce(pair.source_bootstrap, topic, 10, seed=3)
    assert not copied.copy().errors
    assert group_offsets("--undo", run)[0] == 0
    assert read_offsets(pair.target_bootstrap, group) == {}
    assert group_offsets()[1]["result"]["state"] == ["synced"], "until its DAG is paused the next run commits again"
