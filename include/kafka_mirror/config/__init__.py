"""Reads `mm2.properties` into typed, validated flows. Knows no Airflow and no cluster.

`load` is the way in, `flow` what comes out; `inheritance` follows MirrorMaker 2's prefixes; `catalogue` has the properties; `clients`
makes librdkafka's settings of Java's.

`ledger`, `spark` and every room above them may import it.
"""

from kafka_mirror.config.catalogue.values import StartPosition
from kafka_mirror.config.flow import Configuration, Flow, InvalidFlow
from kafka_mirror.config.load import join_errors, load, load_again

__all__ = ["Configuration", "Flow", "InvalidFlow", "StartPosition", "join_errors", "load", "load_again"]
