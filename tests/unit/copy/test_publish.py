"""The ledger that is read after a copy: at least as far as the lanes have seen it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from kafka_mirror.copy import publish as publishing
from kafka_mirror.copy.model import LaneResult, Watermark
from kafka_mirror.copy.plan.model import Plan, Range
from kafka_mirror.copy.publish import read_reached
from kafka_mirror.errors import DeadlineExceeded, ErrorReport, KafkaFailure, LanesChanged, LedgerDamaged, StaleAnswer
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.offset_syncs import OffsetSyncsResult
from kafka_mirror.kafka.polling import repeat
from kafka_mirror.ledger.record import Blocked, Writer
from kafka_mirror.ledger.topic import LedgerView
from tests.unit.ledger_records import ledger_record

PLAN = Plan("east->west", (Range("orders", 0, "id", 10, 20, "behind"),))
TP = PLAN.ranges[0].topic_partition
OLD, NEW = (LedgerView({TP: ledger_record(watermark=mark, target_next=mark)}, {}, {0: end, 1: 3}) for mark, end in ((10, 5), (20, 7)))
RESULTS = [LaneResult(0, ledger_end=7), LaneResult(1, ledger_end=3)]
SERVERS = {"bootstrap.servers": "a:1,b:1"}


class Clusters:
    timeout = 1.0

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self, self

    def __exit__(self, *_):
        pass


@pytest.fixture
def asked(monkeypatch):
    """Makes a ledger that answers so; gives the bootstrap servers that were asked."""
    servers = []

    def make(*answers, waits=(False,)):
        left, waited = list(answers), list(waits)

        class Told:
            def __init__(self, topic="ledger", lanes=2, target=None, settings=SERVERS):
                self.topic, self.lanes, self.settings = topic, lanes, settings

            def await_ended(self, _ends):
                return waited.pop(0)

            def topic_id(self):
                return "of the ledger"

            def read(self):
                servers.append(self.settings["bootstrap.servers"])
                answer = left.pop(0) if len(left) > 1 else left[0]
                if isinstance(answer, Exception):
                    raise answer
                return answer

        monkeypatch.setattr(publishing, "clusters", Clusters)
        for name, fake in (("Ledger", Told), ("ledger_of", lambda *_: Told()), ("Cluster", Clusters)):
            monkeypatch.setattr(publishing, name, fake)
        monkeypatch.setattr(publishing.time, "sleep", lambda _seconds: None)
        return servers

    return make


MADE_AT = datetime(2026, 11, 21, 8, tzinfo=UTC)
FLOW = SimpleNamespace(target="west", client=lambda *_: SERVERS)


def reached(plan=PLAN, results=RESULTS):
    """How far the plan's partitions are by the ledger."""
    return [mark.source_offset for mark in read_reached(FLOW, plan, results).watermarks]


def test_a_ledger_that_trails_what_the_lanes_wrote_is_read_again_elsewhere(asked):
    servers = asked(OLD, OLD, NEW)
    assert reached() == [20]
    assert servers == ["a:1,b:1", "b:1", "a:1"]


def test_a_commit_that_shows_a_moment_later_is_waited_for_where_it_was_asked(asked):
    servers = asked(OLD, NEW, waits=[True])
    assert reached() == [20]
    assert servers == ["a:1,b:1", "a:1,b:1"]


def test_a_ledger_that_stays_stale_is_said_and_no_run_is_judged_by_it(asked):
    asked(OLD)
    with pytest.raises(StaleAnswer) as raised:
        read_reached(FLOW, PLAN, RESULTS)
    assert (raised.value.log, raised.value.read, raised.value.furthest, raised.value.retriable) == (("ledger", 0), 5, 7, True)


def test_a_broker_that_does_not_answer_is_passed_over_and_what_is_wrong_with_the_ledger_is_not(asked):
    asked(OLD, DeadlineExceeded("late"), NEW)
    assert reached() == [20]
    asked(OLD, LanesChanged("ledger", 2, 4))
    with pytest.raises(LanesChanged):
        read_reached(FLOW, PLAN, RESULTS)


def test_a_ledger_that_was_created_anew_is_not_taken_for_a_stale_answer(asked):
    servers = asked(OLD)
    assert reached(replace(PLAN, ledger_id="of the one before")) == [10]
    assert len(servers) == 1


def test_a_ledger_whose_end_one_broker_told_and_another_never_reaches_is_read_again_elsewhere(asked):
    servers = asked(DeadlineExceeded("the end was not reached"), NEW)
    assert reached() == [20]
    assert servers == ["a:1,b:1", "b:1"]
    asked(DeadlineExceeded("the end was not reached"))
    with pytest.raises(DeadlineExceeded):
        read_reached(FLOW, PLAN, RESULTS)


def test_a_lane_whose_end_a_broker_does_not_tell_is_asked_of_the_others_and_judged_as_it_is_if_nobody_tells(asked):
    leaderless = KafkaFailure("The ledger partition ledger-0 has no leader, so its lane copies nothing.")
    untold = LedgerView({}, {0: leaderless}, {1: 3})
    servers = asked(untold, NEW)
    assert reached() == [20]
    assert servers == ["a:1,b:1", "b:1"]
    asked(untold)
    assert read_reached(FLOW, PLAN, RESULTS).watermarks == ()
    servers.clear()
    asked(LedgerView({}, {0: LedgerDamaged("ledger-0@3", "it is a tombstone")}, {0: 7, 1: 3}))
    read_reached(FLOW, PLAN, RESULTS)
    assert len(servers) == 1


def test_without_results_the_ledger_is_taken_as_it_is(asked):
    servers = asked(OLD)
    assert reached(results=()) == [10]
    assert len(servers) == 1


def test_offset_syncs_of_a_run_that_was_killed_are_written_by_the_next_one(asked, monkeypatch):
    """A partition is due that was copied in the half hour before the plan: whatever this run copies, and though it copies nothing."""

    def copied(minutes, **fields):
        writer = Writer("", "host", "killed", MADE_AT - timedelta(minutes=minutes))
        offset_map = OffsetMap((Run(0, 0, 20),))
        return ledger_record(**{"watermark": 20, "target_next": 20, "offset_map": offset_map, "writer": writer, **fields})

    stuck = Blocked(20, "RecordRefused", "too large", MADE_AT, 1)
    records = {
        TP: copied(60, records=3),
        TopicPartition("killed", 0): copied(29),
        TopicPartition("long ago", 0): copied(31),
        TopicPartition("stuck", 0): copied(1, blocked=stuck),
        TopicPartition("begun", 0): copied(1, offset_map=OffsetMap()),
    }
    due = []
    monkeypatch.setattr(publishing, "emit", lambda *arguments: due.append(arguments[-1]) or OffsetSyncsResult())
    asked(LedgerView(records, {}, {}))
    publishing.publish(FLOW, replace(PLAN, time=MADE_AT))
    publishing.publish(FLOW, Plan("east->west", time=MADE_AT))
    assert due == [{TopicPartition("killed", 0): 20, TP: 10}, {TopicPartition("killed", 0): 20}]


# ---------------------------------------------------------------- offset syncs while lanes follow


@pytest.mark.parametrize(
    ("writer", "mark", "is_said"),
    [("e.copy / 2", 15, False), ("e.copy / 2", 9, True), ("e.copy / 1", 15, True), ("by hand", 15, True)],
    ids=["the run that took over", "the same, and less than was reported", "the run itself", "somebody else"],
)
def test_what_the_run_that_took_over_copied_beyond_the_report_is_no_disagreement(writer, mark, is_said):
    record = ledger_record(watermark=mark, target_next=mark, writer=Writer("", "host", writer, datetime.now(UTC)))
    reports = [LaneResult(0, (Watermark(*TP, 12, 12, 2, 20),))]
    assert bool(publishing.compare_results(PLAN, reports, {TP: record}, "e.copy / 1").disagreements) == is_said


OTHERWISE = "somebody else writes them"


class Minutes:
    """The minutes in which lanes follow: what happens in each; after the last one they have ended."""

    def __init__(self, *happenings):
        self.happenings = list(happenings)

    def wait(self, _seconds):
        if not self.happenings:
            return True
        self.happenings.pop(0)()
        return False


@pytest.fixture
def minutes(monkeypatch):
    """Lets minutes pass, in which happenings change the ledger's records; gives the partitions of each request to write offset syncs."""
    records, answers, requests = {}, [], []

    def emit(_flow, _source, _target, _records, copied):
        requests.append({tp: (start, records[tp].watermark) for tp, start in copied.items()})
        return answers.pop(0) if answers else OffsetSyncsResult()

    def read():
        if not records:
            raise answers.pop(0)
        return LedgerView(dict(records))

    monkeypatch.setattr(publishing, "clusters", Clusters)
    monkeypatch.setattr(publishing, "emit", emit)
    monkeypatch.setattr(publishing, "ledger_of", lambda *_: SimpleNamespace(read=read))

    def pass_by(*watermarks, failing=()):
        answers.extend(failing)

        def reach(mark):
            return lambda: records.update({TP: ledger_record(watermark=mark, target_next=mark, records=mark)}) if mark else records.clear()

        repeat(publishing.SyncsOfPlan(FLOW, replace(PLAN, follow_for=600.0)).write, 60.0, OTHERWISE, Minutes(*map(reach, watermarks)))
        return requests

    return pass_by


def test_offset_syncs_of_what_was_copied_are_asked_for_each_minute_that_has_more(minutes):
    assert minutes(12, 12, 15) == [{TP: (12, 12)}, {}, {TP: (15, 15)}]


@pytest.mark.parametrize("failure", [DeadlineExceeded("the ledger was not read"), TypeError("nobody foresaw it")])
def test_offset_syncs_that_could_not_be_written_are_written_the_next_minute(minutes, caplog, failure):
    failed = OffsetSyncsResult(errors=(ErrorReport("AuthorizationRefused", "not allowed"),))
    assert minutes(None, 12, 12, 12, failing=[failure, failed]) == [{TP: (12, 12)}, {TP: (12, 12)}, {}]
    assert OTHERWISE in caplog.text
    assert "not allowed" in caplog.text
