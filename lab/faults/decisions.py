"""What people decide while the flow runs. Records that a decision copies again or leaves out are right; all others are judged as ever."""

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from kafka_mirror.errors import NothingToDecide
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import ACCEPT_GAP, ACCEPT_RECORDS, PAUSE, RESTART, RESUME, TAKE_OWNERSHIP, UNLIMITED
from lab.faults.faults import Fault, Round, await_end
from lab.faults.site import Stuck
from services.flow_in_process import Mirroring
from services.oracle import Record

_IN_FRONT = 400
_HEARD_SECONDS = 2
"""How soon lanes that follow act on a decision, after their turn."""
_NOTICED_SECONDS = 1
"""How soon the process that starts lanes announces a changed configuration, on a busy machine."""
_SLOW = 1000
"""A rate, in bytes a second, by which a round takes more than an hour."""


def restart(now: Round) -> bool:
    """Restarts of some partitions at offsets of any age, and the groups asked before and while their records are copied again."""
    now.site.catch_up()
    now.site.produce(now.records // 4, now.chance.getrandbits(30))
    _restart_some(now)
    now.judge()
    part = _part(now)
    for _ in range(now.chance.randint(1, 3)):
        part.copy()
        now.judge()
    return True


def restart_again(now: Round) -> bool:
    """A second restart, decided while what the first one led to is copied, or before it is."""
    now.site.catch_up()
    _restart_some(now)
    if now.chance.random() < 0.7:
        _part(now).copy()
    _restart_some(now)
    now.judge()
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    await_end(copy)
    return hit


def restart_meanwhile(now: Round) -> bool:
    """A restart that is decided while a copy runs, with the network cut or not before it is acted on."""
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    _restart_some(now)
    if now.chance.random() < 0.5:
        network = now.chance.choice((now.site.source, now.site.target)).network
        now.add_cleanup(network.heal)
        network.refuse()
        time.sleep(1 + 2 * now.chance.random())
        now.heal()
    await_end(copy)
    now.judge()
    return hit


def accept_gap(now: Round) -> bool:
    """Retention takes what was not copied yet, and a person accepts that."""
    _part(now).copy()
    now.site.witness.read_source()
    ends = now.site.read_below
    watermarks = {tp.partition: record.watermark for tp, record in now.site.mirroring.ledger().items()}
    before = {partition: now.chance.randint(min(at, ends[partition]), ends[partition]) for partition, at in watermarks.items()}
    now.site.oracle.delete_records(now.site.source.bootstrap, now.site.topic, before)
    now.judge()
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    with suppress(NothingToDecide):
        for result in now.site.decide(ACCEPT_GAP):
            partition = result.decision.partition or 0
            now.site.witness.note_decision(partition, result.decision.watermark, before[partition])
    await_end(copy)
    now.judge()
    return hit


def skip_record(now: Round) -> bool:
    """A record that is larger than the target takes it, and a person has it skipped."""
    site, partition = now.site, now.chance.choice(sorted(now.site.ends()))
    site.oracle.alter_configs(site.source.bootstrap, site.topic, {"max.message.bytes": "4000000"})
    large = Record(b"large", now.chance.randbytes(1_500_000), partition=partition)
    site.oracle.produce_records(site.source.bootstrap, site.topic, [large])
    site.produce(now.records // 8, now.chance.getrandbits(30))
    copy = site.copy_here()
    hit = now.await_moment(copy)
    await_end(copy)
    for _ in range(20):
        with suppress(NothingToDecide):
            site.skip(partition)
            now.judge()
            return hit
        await_end(site.copy_here())
    raise Stuck(f"partition {partition} was never blocked by a record of 1.5 MB")


def pause(now: Round) -> bool:
    """The topic or a partition is paused while it is copied, stands still, and is resumed. Lanes that follow keep to it soon."""
    partition = now.chance.choice([None, *now.site.ends()])
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    now.site.decide(PAUSE, partition)
    now.add_cleanup(lambda: now.site.decide(RESUME, partition))
    if now.site.follow_seconds:
        time.sleep(now.site.mirroring.flow.value("mirror.follow.seconds") + _HEARD_SECONDS)
    else:
        await_end(copy)
    before = now.site.count_written(partition)
    now.site.produce(now.records // 8, now.chance.getrandbits(30))
    await_end(copy if now.site.follow_seconds else now.site.copy_here())
    now.judge()
    assert now.site.count_written(partition) == before, f"a copy wrote to what is paused: {partition}"
    return hit


def throttle(now: Round) -> bool:
    """The flow is throttled while it is copied, hardly goes on, and is let go. Lanes that follow keep to it soon."""
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    now.site.throttle(_SLOW)
    now.add_cleanup(lambda: now.site.throttle(UNLIMITED))
    _assert_slow(now)
    now.heal()
    await_end(copy)
    return hit


def configure(now: Round) -> bool:
    """The flow's file is changed while it is copied, so that it hardly goes on, and changed back. A copy that does not follow goes on."""
    site, file = now.site, Path(now.site.mirroring.flow.file)
    before = file.read_text()
    copy = site.copy_here()
    hit = now.await_moment(copy)
    now.add_cleanup(lambda: file.write_text(before))
    file.write_text(f"{before}\n{site.mirroring.flow.name}.mirror.max.bytes.per.second = {_SLOW}\n")
    if site.follow_seconds:
        time.sleep(_NOTICED_SECONDS)
        _assert_slow(now)
    now.heal()
    await_end(copy)
    return hit


def _assert_slow(now: Round) -> None:
    """What was open may still be committed; then only a small part of what there is may come."""
    time.sleep(now.site.mirroring.flow.value("mirror.follow.seconds") + _HEARD_SECONDS)
    now.site.produce(now.records // 8, now.chance.getrandbits(30))
    before = now.site.count_written()
    time.sleep(_HEARD_SECONDS)
    after = now.site.count_written()
    assert after - before < now.records // 20, f"at {_SLOW} bytes a second {after - before} offsets were written in {_HEARD_SECONDS} s"


def accept_records(now: Round) -> bool:
    """Another application writes to remote partitions, and a person accepts those records."""
    site = now.site
    for partition in _choose_some(now, site.ends()):
        foreign = [Record(b"foreign", now.chance.randbytes(20), partition=partition) for _ in range(now.chance.randint(1, 9))]
        site.witness.copies[partition].note_planted(site.oracle.produce_records(site.target.bootstrap, site.remote, foreign))
    copy = site.copy_here()
    hit = now.await_moment(copy)
    await_end(copy)
    with suppress(NothingToDecide):
        site.decide(ACCEPT_RECORDS)
    now.judge()
    return hit


def take_ownership(now: Round) -> bool:
    """Another installation takes the flow over, copies a part of it, and the first one takes it back while the other one copies."""
    other = _part(now, installation="second")
    _take_over(now, other)
    other.copy()
    now.judge()
    copy = now.site.copy_here(by=other)
    hit = now.await_moment(copy)
    _take_over(now, now.site.mirroring)
    await_end(now.site.copy_here())
    await_end(copy)
    # The other one may have written once more after what was decided.
    _take_over(now, now.site.mirroring)
    return hit


def _part(now: Round, **settings: str) -> Mirroring:
    """The flow with runs that end long before a round is copied, in the middle of its partitions."""
    return now.site.variant(run_max_bytes=str(5 * now.records), transaction_max_bytes="16384", **settings)


def _take_over(now: Round, by: Mirroring) -> None:
    with suppress(NothingToDecide):
        now.site.decide(TAKE_OWNERSHIP, by=by)


def _restart_some(now: Round) -> None:
    """Decides restarts of some partitions, most of them at an older offset, and lets a group commit a little before each: the offset map
    ends there. The target shows which decisions were acted on."""
    now.site.witness.read_source()
    fronts: dict[int, int] = {}
    starts, ledger = now.site.log_starts(), now.site.mirroring.ledger()
    for partition, end in now.site.ends().items():
        if now.chance.random() < 0.6:
            record = ledger.get(TopicPartition(now.site.topic, partition))
            newest = record.watermark if record and now.chance.random() < 0.8 else end
            start = now.chance.randint(starts[partition], max(newest, starts[partition]))
            fronts[partition] = now.chance.randint(max(start - _IN_FRONT, 0), start)
            with suppress(NothingToDecide):
                for result in now.site.decide(RESTART, partition, start):
                    now.site.witness.note_decision(partition, result.decision.watermark, result.decision.offset)
    now.place_group(fronts)


def _choose_some(now: Round, partitions: Iterable[int]) -> list[int]:
    candidates = list(partitions)
    return now.chance.sample(candidates, now.chance.randint(1, len(candidates)))


DECISIONS = (
    Fault("restart", "restarts decided, copied in parts", restart),
    Fault("restart-again", "restarts decided on top of restarts", restart_again),
    Fault("restart-meanwhile", "restarts decided while a copy runs", restart_meanwhile),
    Fault("gap", "DeleteRecords above the watermark, accepted", accept_gap),
    Fault("skip", "a record that the target refuses, skipped", skip_record),
    Fault("pause-topic", "paused and resumed", pause),
    Fault("throttle", "throttled and let go", throttle),
    Fault("configure", "a configuration changed and changed back", configure),
    Fault("foreign", "records of somebody else, accepted", accept_records),
    Fault("ownership", "two installations that take the flow from each other", take_ownership),
)
