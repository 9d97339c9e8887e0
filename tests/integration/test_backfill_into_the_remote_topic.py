"""History that is asked for in the remote topic itself, between live copies."""

from services.oracle import Side
from tests.integration.backfill_flow import ALL, DAYS, PARTITIONS, day


def test_history_into_the_remote_topic_leaves_the_copy_and_its_translation_alone(backfilling):
    name = backfilling.topic("orders", backfilling.records)
    backfilling.mirroring.copy()
    remote, starts = backfilling.mirroring.pair.remote(name), backfilling.starts(name)
    backfilling.records(name, DAYS)
    backfilling.mirroring.copy()

    first = backfilling.fill(day(0, 2), name, into="{remote}")
    backfilling.records(name, DAYS + 1)
    assert backfilling.mirroring.copy().errors == ()
    second = backfilling.fill(ALL, name, into="{remote}")
    backfilling.records(name, DAYS + 2)
    judged = backfilling.mirroring.copy()

    assert (first.history.records, second.history.records, judged.errors) == (80, 120, ())
    found = backfilling.oracle.account(backfilling.side(name), Side(backfilling.mirroring.target, remote))
    assert [(each.lost, each.doubled, each.foreign) for each in found] == [(0, 0, 0)] * PARTITIONS
    shown = backfilling.oracle.dump(backfilling.mirroring.target, remote)
    source = {(each.partition, each.offset): each for each in backfilling.oracle.dump(backfilling.mirroring.source, name)}
    by_offset = {(each.partition, each.offset): each for each in shown}
    for tp, record in backfilling.mirroring.ledger().items():
        if tp.topic == name:
            assert len(record.places_of_history) == 2
            for run in record.offset_map.runs:
                assert run.source >= starts[tp.partition], "history is not in the offset map"
                for number in range(run.length):
                    copied = by_offset[tp.partition, run.target + number]
                    assert copied.value == source[tp.partition, run.source + number].value
            for place in record.places_of_history:
                copies = [each for each in shown if each.partition == tp.partition and place.target_start <= each.offset < place.target_end]
                assert [each.value for each in copies] == [source[tp.partition, offset].value for offset in range(place.start, place.end)]
