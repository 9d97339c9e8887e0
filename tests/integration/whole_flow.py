"""Every step of a flow once, on clusters of any release: what stands on the target afterwards."""

from kafka_mirror.__main__ import main
from kafka_mirror.config import load
from services.consumers import read_offsets, set_offsets
from services.flow_in_process import Mirroring

SETTINGS = {"sync.group.offsets.enabled": "true", "source->target.mirror.lanes": "2"}
STEPS = (
    ("refresh-topics",),
    ("copy", "--without-spark"),
    ("topic-configs",),
    ("topic-acls",),
    ("heartbeats",),
    ("refresh-groups",),
    ("checkpoints",),
    ("group-offsets",),
    ("refresh-topics",),  # for the heartbeats
    ("copy", "--without-spark"),
    ("audit", "--complete", "--without-spark"),
)
COMMITTED = 700
"""How many records of each partition the group has read: past aborted ones, so the target's offsets are others."""


def assert_carried(pair, oracle, capfd, codec="lz4"):
    """Records, some of them aborted, a topic's configs and a group's positions come over, and the audit finds nothing missing."""
    source, topic, group = pair.source_bootstrap, pair.topic("orders"), f"readers-{pair.mark}"
    file = pair.properties(extra=SETTINGS | {"groups": f".*-{pair.mark}"})
    oracle.create_topic(source, topic, 2, {"retention.ms": "7200000"})
    oracle.produce(source, topic, 2000, seed=1, codec=codec, headers=2, transactions=200, abort_percent=30)
    set_offsets(source, group, {(topic, 0): COMMITTED, (topic, 1): COMMITTED})
    for step in STEPS:
        code = main(["--config", str(file), *step])
        assert code == 0, (step, capfd.readouterr())
    mirroring = Mirroring(pair, oracle, load([file]).flow(pair.flow))
    mirroring.assert_mirrored(topic)
    remote = pair.remote(topic)
    assert oracle.topics(pair.target_bootstrap, [remote])[remote].configs["retention.ms"] == "7200000"
    left = {tp.partition: at for tp, at in read_offsets(pair.target_bootstrap, group).items()}
    assert left == {partition: _position(mirroring, topic, remote, partition) for partition in (0, 1)}


def _position(mirroring, topic, remote, partition):
    """Where the same records begin on the target that the group has not read on the source."""
    unread = [each for each in mirroring.oracle.dump(mirroring.source, topic) if each.partition == partition and each.offset >= COMMITTED]
    mirrored = [each for each in mirroring.oracle.dump(mirroring.target, remote) if each.partition == partition]
    return mirrored[-len(unread)].offset
