"""What packs the batches that are rewritten: the remote topic's compression.type, or the producer's where every batch is rewritten."""

from dataclasses import replace

import pytest

from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.copy.model import AUTO, RECORDS
from kafka_mirror.copy.remote_partitions import TargetView
from kafka_mirror.kafka.model import ConfigEntry
from tests.unit.copy.memory_cluster import QuietCluster


class Configured(QuietCluster):
    """A target whose topics have this compression.type."""

    compression = ""

    def configs(self, names, errors=None, entries=None):
        entry = ConfigEntry("compression.type", self.compression, "DYNAMIC_TOPIC_CONFIG", read_only=False, sensitive=False)
        return {name: {entry.name: entry} for name in names}


@pytest.mark.parametrize(
    ("engine", "remote", "producer", "packs"),
    [
        (AUTO, "producer", "zstd", "producer"),
        (AUTO, "gzip", "zstd", "gzip"),
        (RECORDS, "producer", "zstd", "zstd"),
        (RECORDS, "producer", "none", "uncompressed"),
        (RECORDS, "gzip", "zstd", "gzip"),
    ],
)
def test_the_remote_topic_says_what_packs_its_batches_and_the_producer_where_all_are_rewritten(
    lane_task, monkeypatch, engine, remote, producer, packs
):
    monkeypatch.setattr(Configured, "compression", remote)
    settings = {"bootstrap.servers": "127.0.0.1:1"}
    clients = ClientSettings(settings, settings, settings, settings, {**settings, "compression.type": producer})
    task = replace(lane_task, engine=engine, clients=clients)
    assert TargetView(task, Configured("west", settings, 1.0)).find_limits("east.orders").compression == packs
