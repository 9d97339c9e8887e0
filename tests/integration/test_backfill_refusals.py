"""What a backfill cannot have or may not do, and what it says before it does anything."""

from kafka_mirror.__main__ import main
from kafka_mirror.backfill.model import ANY_ORDER, TimeInterval
from services.oracle import Record, Side
from tests.integration.backfill_flow import ALL, DAY, DAYS, FIRST, PARTITIONS, Backfilling, day


def test_older_history_behind_newer_one_is_refused_unless_order_does_not_matter(backfilling):
    name = backfilling.topic("orders", backfilling.records)
    backfilling.mirroring.copy()
    backfilling.fill(day(3), name)
    before = backfilling.ends(backfilling.into(name))

    refused = backfilling.fill(day(1), name)

    assert {error.code for error in refused.history.errors} == {"HistoryOutOfOrder"}
    assert (refused.history.owed, backfilling.ends(backfilling.into(name))) == (40, before)
    assert backfilling.fill(day(1), name, order=ANY_ORDER).history.records == 40


def test_what_a_log_that_begins_inside_the_interval_has_no_more_is_said_and_the_rest_comes(backfilling):
    shortened = backfilling.topic("shortened", backfilling.records)
    backfilling.mirroring.copy()
    backfilling.oracle.delete_records(backfilling.mirroring.source, shortened, {0: 30, 1: 30})

    done = backfilling.fill(ALL, shortened)
    assert (done.history.records, done.history.errors) == (2 * 70, ())
    assert [text.split(":")[0] for text in done.history.not_had] == [f"{shortened}-0", f"{shortened}-1"]
    assert backfilling.assert_history(shortened) == 140
    gone = backfilling.fill(day(0), shortened)
    assert (gone.history.records, len(gone.history.not_had)) == (0, 2)


def test_an_interval_that_a_wild_timestamp_would_leave_empty_is_refused_unless_it_is_accepted(backfilling):
    wild = backfilling.topic("wild", backfilling.records, **{"message.timestamp.after.max.ms": str(2**62)})
    ahead = Record(value=b"from the future", timestamp=FIRST + 9000 * DAY)
    backfilling.oracle.produce_records(backfilling.mirroring.source, wild, [ahead])
    backfilling.records(wild, DAYS)
    backfilling.records(wild, DAYS + 1)
    backfilling.mirroring.copy()

    backfilling.fill(ALL, wild)
    refused = backfilling.fill(day(DAYS), wild)
    assert [(error.code, error.partition, error.offset) for error in refused.resolution.errors] == [("WildTimestamp", 0, 100)]
    assert refused.history.records == 20, "the other partition was filled"
    taken = backfilling.fill(day(DAYS), wild, accept_wild=True)
    assert (taken.resolution.errors, taken.history.records) == ((), 0)
    behind = backfilling.fill(TimeInterval(FIRST, FIRST + 9001 * DAY), wild)
    assert (behind.resolution.errors, behind.history.errors) == ((), ())
    assert backfilling.assert_history(wild) == (DAYS + 2) * 40 + 1


def test_history_goes_into_no_compacted_or_forbidden_topic_and_no_paused_one_is_filled(backfilling):
    mirroring, compacted, other = backfilling.mirroring, *(backfilling.topic(name, backfilling.records) for name in ("compacted", "other"))
    mirroring.copy()

    into = backfilling.into(compacted)
    backfilling.oracle.create_topic(mirroring.target, into, PARTITIONS, configs={"cleanup.policy": "compact"})
    refused = backfilling.fill(ALL, compacted)
    assert [(error.code, error.topic) for error in refused.history.errors] == [("HistoryIntoCompacted", compacted)]
    assert backfilling.ends(into) == {into: [0, 0]}
    for name in ("elsewhere", mirroring.pair.remote(other), f"mm2-ledger.{mirroring.pair.source}.internal", "history.no/name"):
        refused = backfilling.fill(ALL, compacted, into=name)
        assert [error.code for error in refused.history.errors] == ["HistoryTopicRefused"], name
    assert backfilling.fill(ALL, compacted, into="history.{topic}").history.records == DAYS * 40

    config = ["--config", str(mirroring.pair.directory / "mm2.properties")]
    assert main([*config, "decide", "pause", "--flow", mirroring.pair.flow, "--topic", compacted, "--reason", "a test"]) == 0
    paused = backfilling.fill(ALL, compacted)
    assert (paused.resolution.intervals, paused.history.owed) == ((), 0)
    assert [text.split(":")[0] for text in paused.resolution.not_had] == [compacted]


def test_a_topic_that_was_recreated_is_not_filled_though_the_old_watermark_stands_past_the_interval(backfilling):
    mirroring = backfilling.mirroring
    name = backfilling.topic("orders", lambda topic, number: backfilling.records(topic, number, 40))
    mirroring.copy()
    backfilling.oracle.delete_topic(mirroring.source, name)
    backfilling.oracle.create_topic(mirroring.source, name, PARTITIONS)
    backfilling.records(name, 1)

    for asked in (ALL, day(1)):
        refused = backfilling.fill(asked, name)
        told = [(error.code, error.topic) for error in (*refused.live.errors, *refused.history.errors)]
        assert told, "nothing of the new topic was copied"
        assert set(told) == {("SourceRecreated", name)}
    assert backfilling.into(name) not in backfilling.oracle.topics(mirroring.target)


def test_a_topic_that_was_recreated_below_a_copy_from_its_beginning_is_not_filled_either(make_mirroring, pair):
    backfilling = Backfilling(make_mirroring(pair))
    name = backfilling.topic("orders", lambda topic, number: backfilling.records(topic, number, 40))
    backfilling.mirroring.copy()
    backfilling.oracle.delete_topic(backfilling.mirroring.source, name)
    backfilling.oracle.create_topic(backfilling.mirroring.source, name, PARTITIONS)
    backfilling.records(name, 1)

    refused = backfilling.fill(ALL, name)

    assert {(error.code, error.topic) for error in refused.live.errors} == {("SourceRecreated", name)}
    assert refused.live.owed == 40


def test_dry_run_says_what_there_is_to_do_and_writes_nothing(backfilling, capsys):
    name = backfilling.topic("orders", backfilling.records)
    config = str(backfilling.mirroring.pair.directory / "mm2.properties")
    names = set(backfilling.oracle.topics(backfilling.mirroring.target))
    arguments = ["--config", config, "backfill", "--from", "2026-11-01", "--to", "2026-11-03", "--topics", name, "--dry-run"]

    assert main(arguments) == 0

    shown = capsys.readouterr().out
    assert f"{name}  0" in shown
    assert "80 offsets of history would be copied" in shown
    assert f"history.{backfilling.mirroring.pair.remote(name)} would be created with 2 partitions" in shown
    assert set(backfilling.oracle.topics(backfilling.mirroring.target)) == names
    assert main([*arguments[:-1], "--without-spark"]) == 0
    of_two_days = {number: start // DAYS * 2 for number, start in backfilling.starts(name).items()}
    target = Side(backfilling.mirroring.target, backfilling.into(name))
    assert backfilling.oracle.assert_mirrored(backfilling.side(name, end=of_two_days), target).records == 80
