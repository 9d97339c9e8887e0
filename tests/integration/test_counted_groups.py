"""Groups far back on a source that writes in transactions, on real brokers: counted places are exact, record by record."""

import json
from dataclasses import replace

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.groups import group_translation as translated_groups
from kafka_mirror.groups import hole_reader
from kafka_mirror.groups.checkpoints import emit
from kafka_mirror.groups.context import group_context
from kafka_mirror.groups.mm2_topics import read_stored
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.status.snapshot_groups import read_groups
from services.consumers import set_offsets
from services.waiting import ADMIN_TIMEOUT_MS

RECORDS, PER_TRANSACTION = 9_000, 3
FAR_BACK = {"day": 0.12, "evening": 0.27, "noon": 0.5, "morning": 0.61, "last hour": 0.88}


@pytest.fixture
def busy(mirroring, pair, oracle):
    """A mirrored topic of one partition with thousands of transactions, some aborted; its records by offset, and how far it goes."""
    topic = pair.topic("payments")
    oracle.create_topic(pair.source_bootstrap, topic, 1)
    oracle.produce(pair.source_bootstrap, topic, RECORDS, seed=5, transactions=PER_TRANSACTION, abort_percent=10, seconds=400)
    assert mirroring.refresh().errors == ()
    assert not mirroring.copy().errors
    return topic


@pytest.fixture
def mirror(pair, capsys):
    """`translate` on the pair's flow with these properties."""

    def translate(group, **properties):
        extra = {"source->target.mirror.lanes": "4", "admin.timeout.ms": ADMIN_TIMEOUT_MS}
        extra |= {name.replace("_", "."): str(value) for name, value in properties.items()}
        capsys.readouterr()
        assert main(["--config", str(pair.properties(extra=extra)), "translate", "--group", group, "--flow", pair.flow, "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["flows"][0]["result"]["partitions"]
        return row

    return translate


def contents(oracle, bootstrap, topic):
    """(offset, value) of all records that a reader of committed records finds."""
    return [(each.offset, each.value) for each in oracle.dump(bootstrap, topic)]


class Counts:
    """How often holes were read, and what that cost."""

    def __init__(self, monkeypatch):
        self.holes, self.bytes = [], 0
        counted, take = hole_reader.HoleCounter.count, hole_reader._ReadBudget.take

        def count(this, holes):
            self.holes.append(len(holes))
            return counted(this, holes)

        def spend(this, size):
            self.bytes += size
            take(this, size)

        monkeypatch.setattr(hole_reader.HoleCounter, "count", count)
        monkeypatch.setattr(hole_reader._ReadBudget, "take", spend)


def committed_at(pair, busy, ends, groups):
    offsets = {name: int(ends * share) for name, share in groups.items()}
    for name, offset in offsets.items():
        set_offsets(pair.source_bootstrap, f"{name}-{pair.mark}", {(busy, 0): offset})
    return offsets


def test_groups_far_back_go_on_at_the_very_record_and_are_counted_once(mirroring, pair, oracle, busy, mirror, monkeypatch, capsys):
    (record,) = (each for tp, each in mirroring.ledger().items() if tp.topic == busy)
    offsets = committed_at(pair, busy, record.watermark, FAR_BACK)
    source, target = contents(oracle, pair.source_bootstrap, busy), contents(oracle, pair.target_bootstrap, pair.remote(busy))
    by_map = {name: mirror(f"{name}-{pair.mark}", mirror_translation_count_max_bytes=0) for name in offsets}
    assert any(row["reread"] > PER_TRANSACTION for row in by_map.values()), "the map alone is early, or this shows nothing"
    assert all(row["by"] == "map" for row in by_map.values())

    counts = Counts(monkeypatch)
    found = {name: mirror(f"{name}-{pair.mark}") for name in offsets}
    for name, row in found.items():
        left = [value for offset, value in target if offset >= row["position"]]
        assert left == [value for offset, value in source if offset >= offsets[name]], name
        assert (row["answer"], row["reread"], row["over_budget"]) == ("exact", 0, False)
        assert row["by"] == ("map" if by_map[name]["answer"] == "exact" else "count")
    with capsys.disabled():
        print({name: (by_map[name]["reread"], found[name]["by"]) for name in offsets}, counts.holes, counts.bytes)

    context, names = group_context(mirroring.flow), [f"{name}-{pair.mark}" for name in offsets]
    counts.holes.clear()
    done = emit(context, names)
    early = sum(row["by"] == "count" for row in found.values())
    assert (done.written, done.kinds["exact"], done.beyond_map, done.over_budget) == (len(offsets), len(offsets), early, 0)
    assert counts.holes
    counts.holes.clear()
    again = emit(context, names)
    assert (again.written, again.unchanged, again.beyond_map) == (0, len(offsets), early)
    assert counts.holes == [], "the checkpoints know it"
    assert mirror(names[0])["by"] in ("checkpoint", "map")
    seen = {each.group: each for each in read_groups(mirroring.flow).groups if each.group in names}
    assert all(each.is_exact for each in seen.values())
    assert sum(each.beyond_map for each in seen.values()) == early
    assert counts.holes == []


def test_what_the_budget_leaves_stays_early_and_says_so(mirroring, pair, busy, mirror):
    (record,) = (each for tp, each in mirroring.ledger().items() if tp.topic == busy)
    committed_at(pair, busy, record.watermark, FAR_BACK)
    rows = [mirror(f"{name}-{pair.mark}", mirror_translation_count_max_bytes=1) for name in FAR_BACK]
    early = [row for row in rows if row["answer"] == "early"]
    assert early
    assert all(row["over_budget"] and "mirror.translation.count.max.bytes" in row["reason"] for row in early)


def test_what_retention_took_on_the_source_is_counted_from_behind(mirroring, pair, oracle, busy, mirror):
    (record,) = (each for tp, each in mirroring.ledger().items() if tp.topic == busy)
    offsets = committed_at(pair, busy, record.watermark, FAR_BACK)
    source, target = contents(oracle, pair.source_bootstrap, busy), contents(oracle, pair.target_bootstrap, pair.remote(busy))
    counted = {name: mirror(f"{name}-{pair.mark}") for name in offsets}
    for name, row in counted.items():
        if row["by"] == "count":
            oracle.delete_records(pair.source_bootstrap, busy, {0: offsets[name] - 40})
            cut = mirror(f"{name}-{pair.mark}")
            assert (cut["answer"], cut["position"], cut["by"]) == ("exact", row["position"], "count")
            left = [value for offset, value in target if offset >= cut["position"]]
            assert left == [value for offset, value in source if offset >= offsets[name]]


def test_records_of_others_in_between_leave_it_early_and_are_not_read_twice(mirroring, pair, oracle, busy, mirror, monkeypatch):
    """One record too few on one side of a hole is as good as one of somebody else's on the other: here the map says so."""
    (record,) = (each for tp, each in mirroring.ledger().items() if tp.topic == busy)
    offsets = committed_at(pair, busy, record.watermark, {"noon": 0.5, "morning": 0.61})
    names = [f"{name}-{pair.mark}" for name in offsets]
    told = translated_groups.translate

    def with_another_pair(*arguments, **options):
        answer = told(*arguments, **options)
        hole = answer.hole
        return answer if hole is None else replace(answer, hole=hole._replace(target=hole.target + 1))

    monkeypatch.setattr(translated_groups, "translate", with_another_pair)
    counts = Counts(monkeypatch)
    context = group_context(mirroring.flow)
    first = emit(context, names)
    early = first.kinds["early"]
    assert early and counts.holes, "the hole begins one record too late on one side"
    counts.holes.clear()
    again = emit(context, names)
    assert (again.kinds["early"], again.written, counts.holes) == (early, 0, [])
    with Cluster("seen", context.clients.target_admin, 10) as target:
        stored, damaged = read_stored(target, context.clients.target_consumer, context.checkpoints_topic)
    assert not damaged
    assert sum(each.place.startswith("uncounted ") for each in stored.values() if each.checkpoint.group in names) == early
