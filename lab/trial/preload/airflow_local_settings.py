"""Airflow imports this when it starts: tasks are forked from the scheduler, and each would import the mirror anew, for most of its time."""

import sys
from importlib import import_module

_MODULES = ("kafka_mirror.airflow.dags.cutover", "kafka_mirror.cutover.wave.run", "kafka_mirror.cutover.wave.report")

if "scheduler" in sys.argv:
    for module in _MODULES:
        import_module(module)
