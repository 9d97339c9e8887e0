"""A first trial on clusters of one broker each, with a configuration that asks for more replicas."""

import pytest

from kafka_mirror.copy.plan.run import plan
from kafka_mirror.errors import TooFewBrokers
from kafka_mirror.ledger.clusters import clusters

OF_TARGET = {f"{topic}.topic.replication.factor": "3" for topic in ("checkpoints", "heartbeats")}


def topics_of(mirroring):
    """The names of the topics on both clusters."""
    with clusters(mirroring.flow) as both:
        return [set(cluster.names()) for cluster in both]


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "plan"])
@pytest.mark.parametrize(
    ("extra", "side", "named"),
    [
        ({**OF_TARGET, "offset-syncs.topic.replication.factor": "3"}, "target", ("mirror.ledger", "checkpoints.topic")),
        ({"offset-syncs.topic.replication.factor": "3", "mirror.ledger.replication.factor": "1"}, "source", ("offset-syncs.topic",)),
    ],
    ids=["target", "source"],
)
def test_more_replicas_than_brokers_are_told_with_every_property_and_nothing_is_created(
    pair, make_mirroring, topic, extra, side, named, dry_run
):
    trial = make_mirroring(pair, extra)
    before = topics_of(trial)
    with pytest.raises(TooFewBrokers) as refused:
        plan(trial.flow, dry_run)
    assert not refused.value.retriable
    assert refused.value.cluster == getattr(pair, side)
    assert set(refused.value.settings) >= {f"{name}.replication.factor=3" for name in named}
    assert topics_of(trial) == before


def test_topics_that_are_there_are_taken_as_they_are(pair, make_mirroring, topic):
    assert make_mirroring(pair).copy().state == "done"
    assert make_mirroring(pair, {**OF_TARGET, "offset-syncs.topic.replication.factor": "3"}).plan().errors == ()
