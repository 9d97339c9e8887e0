"""Waves forth and back between clusters with Kafka's own authorizer: whom the ACLs of their fences hold off, and when they go."""

from types import SimpleNamespace

import pytest

from kafka_mirror.cutover.steps import open_wave
from kafka_mirror.cutover.steps.preflight import preflight
from kafka_mirror.cutover.wave.run import run_wave
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import OPEN
from services.waiting import eventually
from tests.integration.access import acl
from tests.integration.moving_waves import both_ways
from tests.integration.test_cutover_fence import CLUSTER, LOGIN, client, denials, no_denials, produced
from tests.wave_notes import Killed
from tests.wave_notes import waiting_options as options

__all__ = ["no_denials"]


@pytest.fixture
def ways(guarded, make_pair, oracle, allow):
    """`ways(names_kept)`: both flows log in as `mirror`, and `writer` may write to `topic` on either side."""

    def make(*, names_kept):
        pair = make_pair(*guarded)
        sides = dict(zip(("source", "target"), guarded, strict=True))
        secured = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN}
        settings = {f"{side}.{name}": value for side in sides for name, value in secured.items()}
        settings |= {f"{side}.bootstrap.servers": cluster.secure_bootstrap for side, cluster in sides.items()}
        topic = pair.topic("orders")
        for cluster in guarded:
            allow(
                cluster,
                acl("mirror", "*", "ALL"),
                acl("mirror", "*", "ALL", kind="TRANSACTIONAL_ID"),
                acl("mirror", "*", "ALL", kind="GROUP"),
            )
            allow(cluster, acl("mirror", CLUSTER, "ALTER", kind="CLUSTER"), acl("writer", topic, "WRITE"))
        both = both_ways(pair, oracle, settings, names_kept=names_kept)
        oracle.create_topic(pair.source_bootstrap, topic, 2)
        oracle.produce(pair.source_bootstrap, topic, 20, seed=1)
        return SimpleNamespace(there=both.there, back=both.back, topic=topic, source=guarded[0], target=guarded[1])

    return make


def moved(mirroring, topic, name):
    assert mirroring.copy().errors == ()
    return run_wave(mirroring.flow, Wave((topic,)), options(by="acl", wave=name))


def test_names_kept_the_way_back_writes_after_open_although_a_kill_came_between_and_a_wave_back_lets_producers_in(
    ways, oracle, monkeypatch
):
    both = ways(names_kept=True)
    topic, there, back = both.topic, both.there, both.back
    with monkeypatch.context() as patched:
        patched.setattr(open_wave, "lift_for_way_back", kill)
        with pytest.raises(Killed):
            moved(there, topic, "forth")
    assert denials(oracle, both.source, topic) == ["User:*"]
    run = run_wave(there.flow, Wave((topic,)), options(by="acl", wave="forth"))
    assert ([each.step for each in run.outcomes], run.record.state) == ([OPEN], "open"), run
    assert denials(oracle, both.source, topic) == ["User:writer"]
    assert produced(client(both.target, "writer"), topic) == ""
    assert produced(client(both.source, "writer"), topic) == "TOPIC_AUTHORIZATION_FAILED"
    copied = back.copy()
    assert (copied.errors, copied.records) == ((), 1)

    assert "FenceGoes" in {each.code for each in preflight(back.flow, Wave((topic,))).findings}
    run = moved(back, topic, "back")
    assert run.record.state == "open", run
    assert denials(oracle, both.source, topic) == []
    assert eventually(lambda: produced(client(both.source, "writer"), topic) == "")
    assert denials(oracle, both.target, topic) == ["User:writer"]


def test_with_remote_names_a_wave_back_lets_producers_write_again_where_they_came_from(ways, oracle):
    both = ways(names_kept=False)
    topic, there, back = both.topic, both.there, both.back
    assert moved(there, topic, "forth").record.state == "open"
    assert denials(oracle, both.source, topic) == ["User:*"]
    oracle.create_topic(both.target.bootstrap, topic, 2)
    oracle.produce(both.target.bootstrap, topic, 10, seed=2)
    back.refresh()
    run = moved(back, topic, "back")
    assert run.record.state == "open", run
    assert denials(oracle, both.source, topic) == []
    assert eventually(lambda: produced(client(both.source, "writer"), topic) == "")


def kill(*_):
    raise Killed
