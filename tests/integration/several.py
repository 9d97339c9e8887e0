"""A flow in several situations at once: to start clusters for each costs more than to look at them all."""

import time

from kafka_mirror.topics.heartbeats import Heart
from services.consumers import set_offsets
from services.oracle import Record


def framed(number, payload=b"payload"):
    return b"\x00" + number.to_bytes(4, "big") + payload


class Several:
    """A flow with six topics in as many situations, not copied yet: `produce("orders", b"value", …)`."""

    def __init__(self, mirroring):
        self.mirroring, self.pair, self.oracle = mirroring, mirroring.pair, mirroring.oracle
        self.names = {name: self.pair.topic(name) for name in ("orders", "framed", "longs", "gapped", "skipped", "empty")}
        for name in self.names.values():
            self.oracle.create_topic(self.pair.source_bootstrap, name, 2)
        self.now = int(time.time() * 1000)
        self.produce("orders", *[b"x" * 100] * 10, timestamp=self.now - 90_000)
        self.produce("framed", framed(7), framed(12), framed(7))
        self.produce("framed", framed(12), partition=1)
        self.produce("longs", self.now.to_bytes(8, "big"), self.now.to_bytes(8, "big"))
        self.produce("gapped", b"a", b"b")
        self.produce("skipped", b"a", b"b")

    def produce(self, name, *values, partition=0, **fields):
        records = [Record(value=each, partition=partition, **fields) for each in values]
        self.oracle.produce_records(self.pair.source_bootstrap, self.names[name], records)

    def fall_behind(self, decide):
        """Copied, with a gap that was accepted and one that was not, a group that can fail over and one that cannot, and a throttle."""
        names, pair = self.names, self.pair
        self.mirroring.copy()
        self.produce("orders", *[b"y" * 300] * 5, timestamp=self.now - 50_000)
        self.produce("gapped", b"gone", b"next")
        self.produce("skipped", b"gone", b"next")
        self.oracle.delete_records(pair.source_bootstrap, names["gapped"], {0: 3})
        self.oracle.delete_records(pair.source_bootstrap, names["skipped"], {0: 3})
        decide("accept-gap", "--topic", names["skipped"])
        set_offsets(pair.source_bootstrap, f"exact-{pair.mark}", {(names["orders"], 0): 4, (names["orders"], 1): 0})
        set_offsets(pair.source_bootstrap, f"beyond-{pair.mark}", {(names["orders"], 0): 10_000})
        self.mirroring.copy()
        self.produce("orders", *[b"z" * 100] * 4)
        decide("throttle", "--bytes-per-second", "1000")
        heart = Heart(self.mirroring.flow)
        heart.prepare()
        heart.beat()
