"""An audit on real brokers of what cannot be compared record by record: it says what it leaves out, and finds what is wrong in the rest."""

import time
from dataclasses import replace

from kafka_mirror.__main__ import main
from kafka_mirror.audit.compare_ranges import compare_audit_ranges
from kafka_mirror.audit.run import audit
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import History, HistoryTopic
from tests.integration.planter import COARSE, SOURCE, Planter, by_topic, numbered


def test_gaps_and_retention_on_both_sides_are_left_out_by_name_and_the_rest_is_compared(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.on.gap": "skip-and-record"})
    oracle, name = mirroring.oracle, pair.topic("orders")
    oracle.create_topic(mirroring.source, name, 1)
    for seed in range(4):
        oracle.produce(mirroring.source, name, 100, seed=seed, min_size=10)
        if seed == 1:
            oracle.delete_records(mirroring.source, name, {0: 150})
        assert mirroring.copy().state == "done"
    result = audit(mirroring.flow)
    (found,) = result.partitions
    assert (found.state, found.source, found.source_records, found.target_records) == ("equal", (150, 400), 250, 250)
    assert {(left.start, left.end) for left in found.left_out} == {(0, 100), (100, 150)}
    assert any("gap" in left.reason for left in found.left_out)
    oracle.delete_records(mirroring.source, name, {0: 170})
    oracle.delete_records(mirroring.target, pair.remote(name), {0: 220})
    (found,) = audit(mirroring.flow).partitions
    assert found.state == "equal"
    assert found.source[0] > 170
    assert found.source_records == found.target_records == 400 - found.source[0]
    assert any("the target no longer has their copies" in left.reason for left in found.left_out)
    oracle.delete_records(mirroring.source, name, {0: -1})
    result = audit(mirroring.flow)
    assert (result.state, result.partitions[0].state, result.errors) == ("could not be had", "could not be had", ())


def test_a_log_that_begins_between_two_known_pairs_is_counted_from_behind(mirroring, planter):
    source = numbered(300)
    runs = OffsetMap((Run(0, 0, 10), Run(250, 250, 50, thinned=True)))
    planted = planter.plant("coarse", source, source, offset_map=runs)
    spoilt = planter.plant("coarse-spoilt", source, [*source[:180], *source[181:], source[299]], offset_map=runs)
    for name in (planted, spoilt):
        mirroring.oracle.delete_records(mirroring.source, name, {0: 100})
    found = by_topic(audit(mirroring.flow))
    assert (found[planted].state, found[planted].source_records, found[planted].target_records) == ("equal", 200, 200)
    assert (found[spoilt].difference.kind, found[spoilt].difference.source_offset) == ("missing record", 180)
    mirroring.oracle.delete_records(mirroring.source, planted, {0: -1})
    for name in (planted, spoilt):
        mirroring.oracle.delete_records(mirroring.target, mirroring.pair.remote(name), {0: 150})
    found = by_topic(audit(mirroring.flow))
    assert found[planted].state == "could not be had"
    assert (found[spoilt].difference.kind, found[spoilt].difference.source_offset) == ("missing record", 180)


def test_copies_that_others_write_between_are_tolerated_where_that_is_allowed_and_a_missing_one_is_not(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.on.unexplained.target": "append"})
    name = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 1)
    for seed in range(3):
        mirroring.oracle.produce(mirroring.source, name, 100, seed=seed)
        mirroring.copy()
        mirroring.oracle.produce_records(mirroring.target, pair.remote(name), numbered(10))
    (found,) = audit(mirroring.flow).partitions
    assert (found.state, found.difference, found.source_records, found.tolerated) == ("equal", None, 300, 20)
    assert "are no copies" in found.notes[0]
    planter = Planter(mirroring)
    source = numbered(300)
    planted = planter.plant("merged", source, [*source[:50], *numbered(1, 900), *source[51:]], offset_map=COARSE)
    (difference,) = audit(mirroring.flow, [planted]).differences
    assert (difference.kind, difference.source_offset) == ("missing record", 50)


def test_history_is_compared_where_it_was_written(mirroring, planter):
    oracle, name, source = mirroring.oracle, mirroring.pair.topic("old"), numbered(300)
    place, remote = f"history-{name}", mirroring.pair.remote(name)
    oracle.create_topic(mirroring.source, name)
    oracle.produce_records(mirroring.source, name, source)
    for topic, records in ((remote, source[200:]), (place, [*source[:120], replace(source[120], value=b"x"), *source[121:200]])):
        oracle.create_topic(mirroring.target, topic)
        oracle.produce_records(mirroring.target, topic, records)
    written = HistoryTopic(place, oracle.topic_id(mirroring.target, place), 200, ((0, 200),), (History(0, 200, place, 0, 200),))
    live = {"covered": ((200, 300),), "start": 200, "offset_map": OffsetMap((Run(200, 0, 100),)), "history_topics": (written,)}
    planter.vouch(name, 300, 100, **live)
    found = {each.remote: each for each in audit(mirroring.flow, [name]).partitions}
    assert (found[remote].state, found[remote].source) == ("equal", (200, 300))
    assert (found[place].difference.kind, found[place].difference.source_offset) == ("changed value", 120)
    only = audit(mirroring.flow, source_offsets={TopicPartition(name, 0): (250, 300)})
    assert [(each.remote, each.state) for each in only.partitions] == [(remote, "equal")]


def test_history_whose_topic_was_deleted_is_left_out_and_no_error(mirroring, planter):
    oracle, name, source = mirroring.oracle, mirroring.pair.topic("old"), numbered(300)
    place, remote = f"history-{name}", mirroring.pair.remote(name)
    oracle.create_topic(mirroring.source, name)
    oracle.produce_records(mirroring.source, name, source)
    for topic, records in ((remote, source[200:]), (place, source[:200])):
        oracle.create_topic(mirroring.target, topic)
        oracle.produce_records(mirroring.target, topic, records)
    written = HistoryTopic(place, oracle.topic_id(mirroring.target, place), 200, ((0, 200),), (History(0, 200, place, 0, 200),))
    live = {"covered": ((200, 300),), "start": 200, "offset_map": OffsetMap((Run(200, 0, 100),)), "history_topics": (written,)}
    planter.vouch(name, 300, 100, history=((0, 200),), **live)
    oracle.delete_topic(mirroring.target, place)
    for why in ("is gone", "was recreated"):
        if why == "was recreated":
            oracle.create_topic(mirroring.target, place)
        result = audit(mirroring.flow, [name])
        (found,) = result.partitions
        assert (found.remote, found.state, found.source, result.errors) == (remote, "equal", (200, 300), ())
        assert [(left.start, left.end) for left in found.left_out] == [(0, 200)]
        assert f"{place}, which {why}" in found.left_out[0].reason
        asked = audit(mirroring.flow, source_offsets={TopicPartition(name, 0): (50, 100)})
        assert (asked.state, asked.errors) == ("could not be had", ())
        assert [(left.start, left.end) for left in asked.partitions[0].left_out] == [(50, 100)]
    oracle.delete_topic(mirroring.target, remote)  # what the copy wrote is still missed
    assert {error.code for error in audit(mirroring.flow, [name]).errors} == {"TargetMissing"}


def test_what_retention_takes_away_while_it_is_read_is_left_out_and_the_rest_compared(mirroring, planter):
    planted = planter.plant("short", numbered(300), numbered(300))
    calls = []

    def compare(work, stretches):
        if not calls:
            mirroring.oracle.delete_records(mirroring.source, planted, {0: 100})
        calls.append(len(stretches))
        return compare_audit_ranges(work, stretches)

    result = audit(mirroring.flow, [planted], compare=compare)
    (found,) = result.partitions
    assert (found.state, found.source, found.source_records, result.errors) == ("equal", (100, 300), 200, ())
    assert calls == [1, 1]


def test_a_target_that_stamps_its_records_is_compared_without_times(mirroring, planter):
    source = numbered(50)
    stamped = planter.plant("stamped", source, source)
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(stamped), {"message.timestamp.type": "LogAppendTime"})
    other = planter.plant("stamping", source, [])
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(other), {"message.timestamp.type": "LogAppendTime"})
    mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(other), source)
    found = by_topic(audit(mirroring.flow))
    assert (found[stamped].state, found[stamped].notes) == ("equal", ())
    assert (found[other].state, found[other].difference) == ("equal", None)
    assert "timestamps were not compared" in found[other].notes[0]


def test_a_compacted_topic_is_equal_however_its_source_was_cleaned_and_a_spoilt_copy_is_found(mirroring, planter):
    oracle, source, name = mirroring.oracle, mirroring.source, mirroring.pair.topic("compacted")
    configs = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "100"}
    oracle.create_topic(source, name, 1, configs)
    mirroring.refresh()
    oracle.alter_configs(mirroring.target, mirroring.pair.remote(name), {"cleanup.policy": "delete"})
    copied, deadline = 0, time.monotonic() + 60
    while oracle.count(source, name)[0].records == copied:
        assert time.monotonic() < deadline, "the broker did not compact the topic"
        oracle.produce(source, name, 100, seed=copied, key_count=20, null_keys=False)
        copied += mirroring.copy().records
    keyed = [replace(each, key=b"key %d" % (number % 20)) for number, each in enumerate(SOURCE)]
    compact = {"cleanup.policy": "compact"}
    newest = planter.plant("newest", keyed, [*keyed[:290], replace(keyed[290], value=b"x"), *keyed[291:]], compact, offset_map=COARSE)
    tied = planter.plant("tied", keyed, [*keyed[:50], replace(keyed[50], value=b"x"), *keyed[51:]], compact)
    older = planter.plant("older", keyed, [*keyed[:50], replace(keyed[50], value=b"x"), *keyed[51:]], compact, offset_map=COARSE)
    found = by_topic(audit(mirroring.flow))
    assert (found[name].state, found[name].difference) == ("equal", None)
    assert found[name].source_records < found[name].target_records
    assert "compacted" in found[name].notes[0]
    assert (found[newest].difference.kind, found[newest].difference.source_offset) == ("changed value", 290)
    assert (found[tied].difference.kind, found[tied].difference.source_offset) == ("changed value", 50)
    assert (found[older].state, len(found[older].notes)) == ("equal", 1), "which record it was, nobody can tell: the note says so"


def test_what_is_not_copied_yet_is_said_first_and_complete_makes_it_a_failure(mirroring, capsys):
    oracle, name = mirroring.oracle, mirroring.pair.topic("orders")
    oracle.create_topic(mirroring.source, name, 2)
    oracle.produce(mirroring.source, name, 30, seed=1)
    assert mirroring.copy().state == "done"

    def audited(*more):
        file = str(mirroring.pair.directory / "mm2.properties")
        code = main(["--config", file, "audit", "--flow", mirroring.pair.flow, "--topics", name, *more])
        return code, " ".join(capsys.readouterr().out.splitlines()[:2])  # the flow's state stands in front of what it says

    assert audited("--complete")[0] == 0
    oracle.produce(mirroring.source, name, 12, seed=2)
    code, first = audited()
    assert (code, "equal up to where the copy is: 30 records" in first) == (0, True)
    assert "Not copied yet, so not compared: at most 12 records" in first
    assert audited("--complete")[0] == 1
    assert mirroring.copy().state == "done"
    code, first = audited("--complete")
    assert (code, "equal: 42 records" in first, "Not copied" in first) == (0, True, False)
