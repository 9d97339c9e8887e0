"""Older days where newer ones are there already: the ways on, and who knows afterwards which topic holds what."""

import json
import re
import shlex

from kafka_mirror.__main__ import main
from kafka_mirror.audit.run import audit
from kafka_mirror.status.observe import observe
from kafka_mirror.status.status import status_of
from services.consumers import set_offsets
from services.oracle import Side
from tests.integration.backfill_flow import ALL, DAYS, day

OLDER, NEWER = day(0, 3), day(3, DAYS - 3)


def offsets_before(backfilling, name, days):
    """Where the given number of days ends in each partition, each of which has twenty records a day."""
    return dict.fromkeys(backfilling.starts(name), 20 * days)


def begun(backfilling):
    """A topic whose newest days were written first, as a run by the schedule once did."""
    name = backfilling.topic("orders", backfilling.records)
    backfilling.mirroring.copy()
    assert backfilling.fill(NEWER, name).history.records == (DAYS - 3) * 40
    return name


def test_older_days_go_into_a_topic_of_their_own_by_the_command_that_the_error_names(backfilling, capsys):
    name, mirroring = begun(backfilling), backfilling.mirroring
    group = f"late-{name}"
    refused = backfilling.fill(OLDER, name).history
    commands = {re.search(r"python -m kafka_mirror (backfill .*?) \(in Airflow", error.next).group(1) for error in refused.errors}
    [command] = commands
    assert main(["--config", str(mirroring.pair.directory / "mm2.properties"), *shlex.split(command), "--without-spark"]) == 0

    aside, into, cut = f"{backfilling.into(name)}-older", backfilling.into(name), offsets_before(backfilling, name, 3)
    target = mirroring.target
    assert backfilling.oracle.assert_mirrored(backfilling.side(name, end=cut), Side(target, aside)).records == 120
    newer = backfilling.side(name, start=cut, end=backfilling.starts(name))
    assert backfilling.oracle.assert_mirrored(newer, Side(target, into)).records == (DAYS - 3) * 40

    ends, ledger = backfilling.ends(into, aside), mirroring.ledger()
    whole = backfilling.fill(ALL, name)
    assert (whole.history.records, whole.history.owed, whole.history.errors) == (0, 0, ())
    assert [aside in notice for notice in whole.history.notices] == [True]
    assert (backfilling.ends(into, aside), mirroring.ledger()) == (ends, ledger), "not a byte was written"

    found = audit(mirroring.flow, (name,))
    assert (found.state, found.totals["source_records"]) == ("equal", DAYS * 40)
    assert {each.remote for each in found.partitions if each.source_records} == {into, aside}
    said = {each.partition: each.history for each in status_of(observe(mirroring.flow)).partitions if each.topic == name}
    assert said == dict.fromkeys(cut, f"[0, 60) in {aside}, [60, {DAYS * 20}) in {into}")
    capsys.readouterr()
    set_offsets(mirroring.source, group, {(name, 0): 30})
    assert main(["--config", str(mirroring.pair.directory / "mm2.properties"), "--json", "translate", "--group", group]) == 0
    [answer] = json.loads(capsys.readouterr().out)["flows"][0]["result"]["partitions"]
    assert (answer["answer"], answer["reason"].endswith(f"[30, 60) in {aside}, [60, {DAYS * 20}) in {into}")) == ("incomplete", True)


def test_days_between_two_topics_are_the_only_ones_that_are_written_then(backfilling):
    name = begun(backfilling)
    aside = f"{backfilling.into(name)}-older"
    assert backfilling.fill(day(0, 2), name, into=aside).history.records == 80
    assert {error.code for error in backfilling.fill(ALL, name).history.errors} == {"HistoryOutOfOrder"}

    between = backfilling.fill(ALL, name, order="any").history

    assert (between.records, between.owed, between.errors) == (40, 0, ())
    assert audit(backfilling.mirroring.flow, (name,)).totals["source_records"] == DAYS * 40


def test_topic_that_is_named_takes_all_of_the_interval_and_one_that_was_deleted_is_begun_anew(backfilling):
    name, mirroring = begun(backfilling), backfilling.mirroring
    into, whole = backfilling.into(name), "history.whole"
    assert backfilling.fill(ALL, name, into=whole).history.records == DAYS * 40
    assert backfilling.assert_history(name, into=whole) == DAYS * 40

    backfilling.oracle.delete_topic(mirroring.target, whole)
    backfilling.oracle.delete_topic(mirroring.target, into)
    anew = backfilling.fill(ALL, name).history

    assert (anew.records, anew.errors) == (DAYS * 40, ())
    assert backfilling.assert_history(name) == DAYS * 40
