"""Which checkpoints are emitted and which group offsets committed, as MirrorCheckpointTask decides; and its clients read ours."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.__main__ import main
from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, due, key_of
from kafka_mirror.groups.group_offsets import plan_commit
from kafka_mirror.policy import DefaultReplicationPolicy
from services.consumers import set_offsets
from services.flows import ClusterPair
from services.oracle import Oracle
from tests.compat.peer import Peer, compared

partitions = st.tuples(st.sampled_from(["orders", "bills", "north.stock"]), st.integers(0, 1))
rounds = st.lists(
    st.dictionaries(partitions, st.tuples(st.integers(0, 6), st.none() | st.integers(-1, 6), st.sampled_from(["", "note"]))), max_size=8
)
offsets = st.dictionaries(partitions, st.integers(0, 6))


@compared(300)
@given(rounds)
def test_checkpoints_are_emitted_as_by_mirrormaker_2(peer: Peer, rounds: list[dict[Any, Any]]) -> None:
    policy = DefaultReplicationPolicy({})
    rows = [
        [
            {"topic": topic, "partition": partition, "upstream": upstream, "downstream": downstream, "metadata": metadata}
            for (topic, partition), (upstream, downstream, metadata) in each.items()
        ]
        for each in rounds
    ]
    expected = peer.ask("emitted_checkpoints", source="east", target="west", rounds=rows)
    stored: dict[Any, NotedCheckpoint] = {}
    for each, theirs in zip(rows, expected, strict=True):
        peer.cases["rounds of checkpoints"] += 1
        candidates = [
            NotedCheckpoint(
                Checkpoint(
                    "group",
                    policy.format_remote_topic("east", row["topic"]),
                    row["partition"],
                    row["upstream"],
                    row["downstream"],
                    row["metadata"],
                )
            )
            for row in each
            if row["downstream"] is not None and row["downstream"] >= 0
        ]
        ours = due(candidates, stored)
        stored |= {key_of(candidate.checkpoint): NotedCheckpoint(candidate.checkpoint, None) for candidate in ours}
        assert sorted(list(candidate.checkpoint[1:]) for candidate in ours) == sorted(theirs)


@compared(300)
@given(st.dictionaries(st.sampled_from("abc"), st.tuples(offsets, st.none() | offsets)))
def test_offsets_are_committed_for_the_groups_for_which_mirrormaker_2_commits(peer: Peer, groups: dict[str, Any]) -> None:
    """For groups that are idle on the target or not there. One that is not idle is refused there by the broker, and left alone by us."""
    asked = {
        group: {"wanted": _rows(wanted), "committed": None if committed is None else _rows(committed)}
        for group, (wanted, committed) in groups.items()
    }
    expected = peer.ask("synced_groups", groups=asked)
    for group, (wanted, committed) in groups.items():
        peer.cases["decisions about group offsets"] += 1
        translated = {TopicPartition(*tp): offset for tp, offset in wanted.items()}
        there = {TopicPartition(*tp): offset for tp, offset in (committed or {}).items()}
        found = plan_commit(translated, there, dict.fromkeys(translated, (0, 100)))
        assert sorted([*tp, offset] for tp, offset in found.write.items()) == sorted(expected.get(group, []))


def _rows(found: dict[Any, int]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition, "offset": offset} for (topic, partition), offset in found.items()]


def test_javas_client_finds_the_positions_that_translate_gives(
    peer: Peer, pair: ClusterPair, oracle: Oracle, mm2_properties: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    file, topic = str(mm2_properties(extra={"groups": f".*-{pair.mark}", "source->target.mirror.lanes": "4"})), pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic, 3)
    oracle.produce(pair.source_bootstrap, topic, 90, seed=1, transactions=7, abort_percent=20)

    def mirror(*arguments: str) -> Any:
        capsys.readouterr()
        assert main(["--config", file, "--json", *arguments, "--flow", pair.flow]) == 0
        return json.loads(capsys.readouterr().out)["flows"][0]["result"]

    mirror("copy", "--without-spark")
    group = f"shop-{pair.mark}"
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 0, (topic, 1): 11, (topic, 2): 20}, "ä note")
    assert mirror("checkpoints")["written"] == 3
    ours = {f"{row['remote_topic']}-{row['partition']}": row["position"] for row in mirror("translate", "--group", group)["partitions"]}
    theirs = peer.ask("translated", properties={"bootstrap.servers": pair.target_bootstrap}, alias=pair.source, group=group)
    assert theirs == {partition: [position, "ä note"] for partition, position in ours.items()}
    assert len(theirs) == 3
