"""Rules about the ledger as a whole."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.errors import ForeignWriter, LedgerMissing, OtherCluster
from kafka_mirror.ledger.checks import check_clusters, check_ledger, check_writer
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Writer
from tests.unit.decision_records import decision
from tests.unit.ledger_records import ledger_record

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
RECORD = ledger_record(writer=Writer("theirs", "h", "r", NOW - timedelta(seconds=599)))


def test_the_clusters_of_the_ledger_are_accepted():
    check_clusters([RECORD], "east", "source-id", "west", "target-id")


@pytest.mark.parametrize(("source", "target", "alias"), [("other", "target-id", "east"), ("source-id", "other", "west")])
def test_another_cluster_behind_an_alias_is_named(source, target, alias):
    with pytest.raises(OtherCluster, match=alias):
        check_clusters([RECORD], "east", source, "west", target)


def test_a_record_by_another_installation_whose_clock_is_ahead_says_so():
    ahead = ledger_record(writer=Writer("theirs", "h", "r", NOW + timedelta(days=1)))
    with pytest.raises(ForeignWriter, match=r"still 86400 s ahead of this host's clock"):
        check_writer([ahead], "ledger", 3, "ours", 60, NOW)


def test_a_recent_record_by_another_installation_keeps_us_out():
    with pytest.raises(ForeignWriter, match="theirs"):
        check_writer([RECORD], "ledger", 3, "ours", 60, NOW)


@pytest.mark.parametrize(
    ("installation", "record"),
    [
        ("", RECORD),
        ("theirs", RECORD),
        ("ours", replace(RECORD, writer=replace(RECORD.writer, installation=""))),
        ("ours", replace(RECORD, writer=replace(RECORD.writer, time=NOW - timedelta(seconds=600)))),
    ],
)
def test_our_own_unnamed_and_long_silent_writers_do_not(installation, record):
    check_writer([record], "ledger", 3, installation, 60, NOW)


def test_a_cluster_that_was_adopted_is_accepted_and_the_other_side_is_still_looked_at():
    adopted = Decisions([decision("adopt-cluster")])
    check_clusters([RECORD], "east", "new-source-id", "west", "target-id", adopted)
    with pytest.raises(OtherCluster, match="west"):
        check_clusters([RECORD], "east", "new-source-id", "west", "other", adopted)


def test_what_was_written_until_ownership_was_taken_does_not_keep_us_out_and_what_came_later_does():
    taken = Decisions([decision("take-ownership", until=RECORD.writer.time)])
    check_writer([RECORD], "ledger", 3, "ours", 60, NOW, taken)
    later = replace(RECORD, writer=replace(RECORD.writer, time=NOW))
    with pytest.raises(ForeignWriter):
        check_writer([RECORD, later], "ledger", 3, "ours", 60, NOW, taken)
    with pytest.raises(ForeignWriter):
        check_writer([RECORD], "ledger", 3, "a third", 60, NOW, taken)


@pytest.mark.parametrize(("planned", "found"), [("", None), ("", "another"), ("id", "id")])
def test_the_ledger_that_was_planned_with_is_accepted_and_so_is_any_where_none_was(planned, found):
    check_ledger("mm2-ledger.east.internal", planned, found)


@pytest.mark.parametrize("found", [None, "another"])
def test_a_ledger_that_is_gone_or_another_one_is_named(found):
    with pytest.raises(LedgerMissing) as raised:
        check_ledger("mm2-ledger.east.internal", "id", found)
    assert (raised.value.known_id, raised.value.found_id) == ("id", found)
