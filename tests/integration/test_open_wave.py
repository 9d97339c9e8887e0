"""`open` on real brokers: each record exactly once on both sides and in order, forth and back, with names kept and with remote names."""

from itertools import count

import pytest

from kafka_mirror.copy import lane_writer
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.cutover.wave.step import DONE, STOPPED
from kafka_mirror.errors import MovedTopicsNotExcluded
from kafka_mirror.ledger.clusters import clusters, control_of
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.migration.hand_back import HandBackRequest, hand_back
from kafka_mirror.status.observe import status
from kafka_mirror.status.snapshot_groups import group_position
from kafka_mirror.status.status import MOVED
from services.consumers import set_offsets
from services.oracle import Record
from tests.integration.left_behind import refusal
from tests.integration.moving_waves import both_ways
from tests.wave_notes import Killed


@pytest.fixture
def ways(pair, oracle):
    return both_ways(pair, oracle)


@pytest.fixture
def orders(pair, oracle):
    """A topic of three partitions on the source."""
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic, 3)
    return topic


def produced(mirroring, topic, seed, records=60):
    mirroring.oracle.produce(mirroring.source, topic, records, seed=seed, transactions=5, abort_percent=30)


def values(mirroring, topic):
    """Key and value of all committed records of a topic on the flow's source, by partition, in their order."""
    rows = {}
    for record in mirroring.oracle.dump(mirroring.source, topic):
        rows.setdefault(record.partition, []).append((record.key, record.value))
    return rows


def copied(mirroring):
    done = mirroring.copy()
    assert done.errors == (), done
    return done.records


def decisions(mirroring):
    with clusters(mirroring.flow) as (_, target):
        return Decisions(control_of(mirroring.flow, target).read())


def test_with_names_kept_a_topic_moves_forth_and_back_and_each_record_stands_once_on_both_sides(ways, orders):
    here, there = ways.there, ways.back
    for turn in range(3):
        produced(here, orders, seed=turn)
        here.refresh()
        old = plan(here.flow)
        assert old.has_work
        copied(here)
        outcome = ways.open(here, orders)
        assert (outcome.state, outcome.findings) == (DONE, ()), outcome
        stale = copy_in_process(here.flow, old)
        assert sum(result.transactions for result in stale) == 0
        assert {error.code for result in stale for error in result.errors} == {"TopicMoved"}
        of_topic = [row for row in status(here.flow).partitions if row.topic == orders]
        assert {(row.state, row.lag, row.error) for row in of_topic} == {(MOVED, None, None)}
        assert any(notice.startswith(f"{orders} is left out: moved by a person") for notice in here.plan().notices)
        assert copied(here) == copied(there) == 0
        assert values(here, orders) == values(there, orders)
        here, there = there, here
    produced(here, orders, seed=9)
    assert copied(here) > 0
    assert copied(there) == 0
    assert values(here, orders) == values(there, orders)
    here.assert_mirrored(orders, orders)


def test_a_group_behind_the_opening_finds_its_very_place_on_the_way_back(ways, orders, pair):
    produced(ways.there, orders, seed=1)
    copied(ways.there)
    assert ways.open(ways.there, orders).is_done
    produced(ways.back, orders, seed=2)
    copied(ways.back)
    group, ours, theirs = f"readers-{pair.mark}", ways.back, ways.there
    rows = [row for row in ours.oracle.dump(ours.source, orders) if row.partition == 0]
    place = {(row.key, row.value): row.offset for row in theirs.oracle.dump(theirs.source, orders) if row.partition == 0}
    for row in (rows[0], rows[len(rows) // 3], rows[-1]):
        set_offsets(ours.source, group, {(orders, 0): row.offset})
        (position,) = group_position(ours.flow, group).offsets
        assert (position.translated.kind, position.translated.target) == ("exact", place[row.key, row.value])


def test_killed_between_any_two_writes_and_run_again_it_copies_every_record_once(ways, pair, oracle, monkeypatch):
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic, 1)
    writes = count()
    deadly = {"at": -1}

    def dying(write):
        def run(*arguments, **named):
            if next(writes) == deadly["at"]:
                raise Killed
            answer = write(*arguments, **named)
            if next(writes) == deadly["at"]:
                raise Killed
            return answer

        return run

    monkeypatch.setattr(lane_writer, "write_lane", dying(lane_writer.write_lane))
    monkeypatch.setattr(Control, "write_next", dying(Control.write_next))
    here, there = ways.there, ways.back
    killed = 0
    for turn in count():
        produced(here, topic, seed=2 * turn, records=10)
        copied(here)
        writes, deadly["at"] = count(), turn
        try:
            ways.open(here, topic)
        except Killed:
            killed += 1
        deadly["at"] = -1
        copied(there)
        if decisions(here).find_moved(topic):
            produced(there, topic, seed=2 * turn + 1, records=7)  # somebody was told too early
        copied(here)
        again = ways.open(here, topic, anew=False)
        assert (again.state, again.findings) == (DONE, ()), (turn, again)
        copied(there)
        copied(here)
        assert values(here, topic) == values(there, topic), turn
        here, there = there, here
        if killed <= turn:
            break
    assert killed == 8, "twice each: the lane's mark, the decision, the way back's record, its decision"


def test_what_is_not_copied_to_the_end_or_has_others_behind_it_is_not_opened_and_nothing_is_changed(ways, orders):
    produced(ways.there, orders, seed=1)
    copied(ways.there)
    before = ways.there.ledger()
    produced(ways.there, orders, seed=2)
    outcome = ways.open(ways.there, orders)
    assert (outcome.state, [finding.code for finding in outcome.findings]) == (STOPPED, ["NotCopiedToTheEnd"])
    assert ways.there.ledger() == before
    copied(ways.there)
    assert ways.open(ways.there, orders, dry_run=True).is_done
    ways.back.oracle.produce_records(ways.back.source, orders, [Record(b"k", b"v", partition=0)])
    outcome = ways.open(ways.there, orders)
    assert (outcome.state, [finding.code for finding in outcome.findings]) == (STOPPED, ["TargetWritten"])
    assert {record.moved for record in ways.there.ledger().values()} == {None}
    assert decisions(ways.there).moved_topics == {}


def test_with_remote_names_all_that_is_produced_from_open_on_flows_back_whenever_the_flow_sees_it_first(pair, oracle):
    ways = both_ways(pair, oracle, {"target->source.mirror.start": "latest"}, names_kept=False)
    orders, payments = pair.topic("orders"), pair.topic("payments")
    for topic in (orders, payments):
        oracle.create_topic(pair.source_bootstrap, topic, 2)
        oracle.produce(pair.source_bootstrap, topic, 20, seed=1)
    oracle.create_topic(pair.target_bootstrap, payments, 2)
    oracle.produce(pair.target_bootstrap, payments, 8, seed=2)
    copied(ways.there)
    assert ways.open(ways.there, orders, payments).is_done
    oracle.create_topic(pair.target_bootstrap, orders, 2)
    for topic in (orders, payments):
        oracle.produce(pair.target_bootstrap, topic, 30, seed=3)
    ways.back.refresh()
    assert copied(ways.back) == 60, "of payments those alone that came after the opening"
    ways.back.assert_mirrored(orders)
    assert copied(ways.there) == 0, "nothing that came from there goes back"
    error = refusal(MovedTopicsNotExcluded, lambda: hand_back(ways.there.flow, HandBackRequest("a test")))
    assert error.topics == (orders, payments)

    assert ways.open(ways.back, orders, payments).is_done
    oracle.produce(pair.source_bootstrap, orders, 10, seed=4)
    assert (copied(ways.there), copied(ways.back)) == (10, 0)
    ways.there.assert_mirrored(orders)
