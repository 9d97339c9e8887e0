"""`mm2.properties` -> typed, validated flows."""

from mirror.config.flow import Configuration, Flow, InvalidFlow
from mirror.config.load import load, together
from mirror.config.per_topic import StartPosition

__all__ = ["Configuration", "Flow", "InvalidFlow", "StartPosition", "load", "together"]
