"""Audits that compare batch by batch: that what was forwarded, joined or rewritten is proven there, and that differences are found."""

import re
from dataclasses import replace

import pytest

from kafka_mirror.audit.run import audit
from tests.integration.planter import by_topic, numbered

CLOSED = re.compile(r"(\d+) of (\d+) ranges are equal; of their (\d+) records (\d+) were compared batch by batch")


@pytest.fixture
def audited(caplog):
    """Audits a flow; its result, and how many ranges, of all, how many records, and of them how many were compared batch by batch."""

    def run(mirroring, topics=()):
        caplog.clear()
        with caplog.at_level("INFO", "kafka_mirror.audit"):
            result = audit(mirroring.flow, topics)
        (figures,) = CLOSED.findall(caplog.text)
        return result, tuple(map(int, figures))

    return run


def test_batches_that_were_forwarded_and_those_that_were_rewritten_are_compared_where_they_are_fetched(pair, make_mirroring, audited):
    topic = pair.topic("orders")
    for seed, engine in enumerate(("batches", "records", "batches")):
        mirroring = make_mirroring(pair, {"source->target.mirror.engine": engine})
        if not seed:
            mirroring.oracle.create_topic(mirroring.source, topic, 2)
        produced = {"seed": seed, "min_size": 500, "max_size": 1000, "headers": 2, "batch_size": 30_000}
        mirroring.oracle.produce(mirroring.source, topic, 300, partition=0, codec="none", **produced)
        mirroring.oracle.produce(mirroring.source, topic, 300, partition=1, codec="lz4", transactions=150, abort_percent=30, **produced)
        assert mirroring.copy().state == "done"
    result, (equal, ranges, records, closed) = audited(mirroring)
    counted = sum(each.records for each in mirroring.oracle.count(mirroring.source, topic))
    assert (result.state, result.errors, result.totals["source_records"], result.totals["target_records"]) == (
        "equal",
        (),
        counted,
        counted,
    )
    assert (equal, ranges, records, closed) == (2, 2, counted, counted)


def test_where_every_batch_was_rewritten_none_is_read_record_by_record(pair, make_mirroring, audited):
    mirroring, topic = make_mirroring(pair, {"source->target.mirror.engine": "records"}), pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, topic, 1)
    for seed in range(2):
        mirroring.oracle.produce(mirroring.source, topic, 200, seed=seed)
    assert mirroring.copy().state == "done"
    result, figures = audited(mirroring)
    assert (result.state, result.totals["source_records"], figures) == ("equal", 400, (1, 1, 400, 400))
    assert all(each.source_digest == each.target_digest == "" for each in result.partitions)


def test_a_difference_behind_equal_batches_is_found_and_named(mirroring, planter, audited):
    first, second, third = numbered(100), numbered(100, 100), numbered(100, 200)
    spoilt = {
        "changed value": [*second[:50], replace(second[50], value=b"spoilt"), *second[51:]],
        "missing record": [*second[:50], *second[51:]],
        "doubled record": [*second[:50], second[49], *second[50:]],
        "swapped records": [*second[:50], second[51], second[50], *second[52:]],
    }
    oracle, topics = mirroring.oracle, {}
    for kind, copies in {"equal": second, **spoilt}.items():
        topics[kind] = name = planter.plant(kind.replace(" ", "-"), first, first)
        for side, remote, batches in (
            (mirroring.source, name, (second, third)),
            (mirroring.target, mirroring.pair.remote(name), (copies, third)),
        ):
            for batch in batches:
                oracle.produce_records(side, remote, batch)
        planter.vouch(name, 300, 200 + len(copies))
    result, (equal, ranges, _, closed) = audited(mirroring, topics.values())
    found = by_topic(result)
    assert (equal, ranges, closed) == (1, 5, 300)
    assert (found[topics["equal"]].state, found[topics["equal"]].source_records) == ("equal", 300)
    for kind in spoilt:
        difference = found[topics[kind]].difference
        assert (difference.kind, difference.source_offset in (149, 150), difference.target_offset) == (kind, True, 150), kind
        assert found[topics[kind]].source_digest != found[topics[kind]].target_digest
