"""What is read for the age of what is not copied yet, and what is not read twice; whose an error is that comes while one looks."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import ClassVar

import pytest

from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.errors import AuthenticationFailed, ClusterUnreachable, KafkaFailure
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.status import observe
from kafka_mirror.status.observe import oldest_records

TP, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


class MadeUpFlow:
    name, source, target, reads_committed = "east->west", "east", "west", True

    def client(self, side, role):
        return {}

    def value(self, _name):
        return 16


@pytest.fixture
def source(monkeypatch):
    """Records that are stamped with their offset; `reads` has every range that was read, and whether committed records alone."""

    class Reader:
        reads: ClassVar[list] = []

        def __init__(self, alias, settings, committed):
            self.committed = committed

        def first_visible(self, ranges, seconds, errors, partial):
            Reader.reads += [(tp, start, self.committed) for tp, (start, _) in ranges.items()]
            return {tp: SimpleNamespace(timestamp=(1, start)) for tp, (start, _) in ranges.items()}

    Reader.reads.clear()
    monkeypatch.setattr(observe, "BoundedReader", Reader)
    return Reader


def found(tp=TP, start=0, readable=100, end=100):
    return SourceOffsets(tp, "id", start, readable, end)


def look(*positions, known=None):
    return oldest_records(MadeUpFlow(), positions, {}, known)


def test_the_first_record_that_is_missing_is_read_and_of_what_is_all_there_nothing(source):
    assert look((found(), 40), (found(OTHER), 100)) == {TP: 40}
    assert source.reads == [(TP, 40, True)]


def test_behind_a_gap_it_is_the_first_that_is_left(source):
    assert look((found(start=60), 40)) == {TP: 60}


def test_what_an_open_transaction_holds_back_is_read_uncommitted(source):
    assert look((found(readable=40), 40)) == {TP: 40}
    assert source.reads == [(TP, 40, False)]


def test_a_partition_that_stands_where_it_stood_is_not_read_again(source):
    known = {}
    assert look((found(), 40), (found(OTHER), 10), known=known) == {TP: 40, OTHER: 10}
    source.reads.clear()
    assert look((found(end=200, readable=200), 40), (found(OTHER), 20), known=known) == {TP: 40, OTHER: 20}
    assert source.reads == [(OTHER, 20, True)]


def test_what_is_copied_or_gone_is_forgotten(source):
    known = {}
    look((found(), 40), (found(OTHER), 10), known=known)
    assert look((found(), 100), known=known) == {}
    assert known == {}


def test_an_open_transaction_is_looked_at_each_time_for_it_may_be_aborted(source):
    known = {}
    for _ in range(2):
        assert look((found(readable=40), 40), known=known) == {TP: 40}
    assert len(source.reads) == 2
    assert known == {}


@pytest.fixture
def looked_while(monkeypatch):
    """Looks at a flow whose clusters answer the probe, and meets these errors behind it: comparing, at the target, at the source."""

    def run(compared, target=None, source=None):
        asked = []

        def meets(side, error):
            def ask(_flow, *others):
                asked.append(side)
                if error is not None:
                    raise error
                return next(each for each in others if isinstance(each, observe.Observation))

            return ask

        monkeypatch.setattr(observe, "check_readable", lambda _flow: None)
        monkeypatch.setattr(observe, "_silent", lambda _flow: {})
        monkeypatch.setattr(observe, "clusters", lambda _flow: nullcontext((None, None)))
        monkeypatch.setattr(observe, "_compare", meets("both", compared))
        monkeypatch.setattr(observe, "_target_alone", meets("west", target))
        monkeypatch.setattr(observe, "_source_alone", meets("east", source))
        return observe.observe(MadeUpFlow()), asked

    return run


def down(alias, detail=""):
    return ClusterUnreachable(alias, f"{alias}:9092", 10, detail)


@pytest.mark.parametrize("error", [down("west"), AuthenticationFailed("west", "west:9092", "expired")], ids=["dead", "refusing"])
def test_a_cluster_that_falls_silent_behind_the_probe_is_a_silent_cluster_and_is_not_asked_again(looked_while, error):
    seen, asked = looked_while(error)
    assert seen.silent == {"west": error.report()}
    assert seen.errors == (error.report(),)
    assert asked == ["both", "east"]


def test_so_is_one_that_falls_silent_later(looked_while):
    seen, asked = looked_while(KafkaFailure("The ledger has no leader."), target=down("west"), source=down("east"))
    assert {alias: report.code for alias, report in seen.silent.items()} == {"east": "ClusterUnreachable", "west": "ClusterUnreachable"}
    assert [report.code for report in seen.errors] == ["KafkaFailure", "ClusterUnreachable", "ClusterUnreachable"]
    assert asked == ["both", "west", "east"]


def test_another_error_makes_no_cluster_silent(looked_while):
    seen, asked = looked_while(KafkaFailure("The ledger has no leader."))
    assert (seen.silent, [report.code for report in seen.errors]) == ({}, ["KafkaFailure"])
    assert asked == ["both", "west", "east"]
