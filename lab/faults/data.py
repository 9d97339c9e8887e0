"""What happens to the source while it is copied: nothing that loses anything, and all of it every day."""

import socket
import threading
from functools import partial

from lab.faults.faults import Fault, Round, await_end

_MOST_PARTITIONS = 16


def produce(now: Round) -> bool:
    """Producers go on while the copy runs."""
    seed = now.chance.getrandbits(30)
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    producer = threading.Thread(target=now.site.produce, args=(now.records, seed))
    producer.start()
    await_end(copy)
    while producer.is_alive():
        await_end(now.site.copy_here())
    producer.join()
    return hit


def add_partitions(now: Round) -> bool:
    """The topic grows under the copy, and the new partitions get records at once."""
    topic, bootstrap = now.site.topic, now.site.source.bootstrap
    grown = min(len(now.site.oracle.partitions(bootstrap, topic)) + now.chance.randint(1, 2), _MOST_PARTITIONS)
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    if grown < _MOST_PARTITIONS:
        now.site.oracle.create_partitions(bootstrap, topic, grown)
    now.site.produce(now.records // 4, now.chance.getrandbits(30))
    await_end(copy)
    return hit


def delete_records(now: Round) -> bool:
    """Retention takes what was copied before."""
    before = {partition: now.chance.randint(0, offset) for partition, offset in now.site.read_below.items()}
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    if before:
        now.site.oracle.delete_records(now.site.source.bootstrap, now.site.topic, before)
    await_end(copy)
    return hit and bool(before)


def quotas(now: Round) -> bool:
    """One of the clusters holds the mirror back, far below what it could do."""
    pair, oracle = now.site.mirroring.pair, now.site.oracle
    if now.chance.random() < 0.5:
        bootstrap, quota = pair.source_bootstrap, "consumer_byte_rate"
        clients = ["rdkafka", "mirror"]  # as each engine's client calls itself
    else:
        bootstrap, quota = pair.target_bootstrap, "producer_byte_rate"
        clients = [f"{pair.source}->{pair.target}|lane-{lane}@{socket.gethostname()}" for lane in range(4)]
    for client in clients:
        now.add_cleanup(partial(oracle.alter_quotas, bootstrap, client, {quota: None}))
        oracle.alter_quotas(bootstrap, client, {quota: now.chance.choice((20_000.0, 100_000.0))})
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    await_end(copy)
    return hit


DATA = (
    Fault("produce", "records produced during the copy", produce),
    Fault("partitions", "partitions added during the copy", add_partitions),
    Fault("delete-records", "DeleteRecords below the watermark", delete_records),
    Fault("quotas", "quotas on the mirror's clients", quotas, own_clusters=True),
)
