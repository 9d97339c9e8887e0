"""A broker that loses a disk: what lies there has no leader from then on, and the broker goes on with the rest."""

import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path

from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.waiting import eventually

_CHECKPOINTS = {"replica.high.watermark.checkpoint.interval.ms": "500"}
"""How soon a broker writes to all its disks, and so notices that one is gone."""


class SecondDisk:
    """A cluster of one broker that is given an empty disk beside its full one: the next partitions are put there, as Kafka puts them where
    there are fewest."""

    def __init__(self, make_cluster: Callable[..., KafkaCluster], alias: str, tmp_path: Path) -> None:
        self._make = make_cluster
        self._directory = tmp_path / f"kafka-{alias}"
        self._disk = self._directory / "data-second"
        self.cluster = make_cluster(alias)

    def add(self) -> None:
        """Starts the broker again, with the empty disk."""
        self.cluster.stop()
        first = self._directory / "data-1"
        own = urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=").replace("-", "A")
        self._disk.mkdir()
        text = (first / "meta.properties").read_text()
        (self._disk / "meta.properties").write_text(re.sub("directory.id=.*", f"directory.id={own}", text))
        self.cluster = self._make(self.cluster.alias, properties={"log.dirs": f"{first},{self._disk}", **_CHECKPOINTS})

    def lose(self, oracle: Oracle, *partitions: tuple[str, int]) -> None:
        """Takes the disk away; returns when these partitions, and they must lie there, have no leader."""
        self._disk.rename(self._directory / "lost")
        for topic, number in partitions:
            eventually(partial(self._is_leaderless, oracle, topic, number), f"{topic}-{number} without leader")

    def _is_leaderless(self, oracle: Oracle, topic: str, number: int) -> bool:
        return oracle.partitions(self.cluster.bootstrap, topic)[number].leader is None
