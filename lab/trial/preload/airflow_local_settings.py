"""Airflow imports this when it starts. Tasks are forked from the scheduler; else each would import the mirror for most of its time."""

import sys
from importlib import import_module

_MODULES = ("kafka_mirror.airflow.dags.cutover", "kafka_mirror.airflow.work.cutover")

if "scheduler" in sys.argv:
    for module in _MODULES:
        import_module(module)
