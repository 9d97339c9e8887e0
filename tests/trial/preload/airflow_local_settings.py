"""Airflow imports this when it starts: tasks are forked from the scheduler, and each would import the mirror anew, for most of its time."""

import sys
from importlib import import_module

from mirror.cutover.steps import STEP_MODULES

_MODULES = ("mirror.airflow.dags.cutover", "mirror.cutover.run", "mirror.cutover.report", *STEP_MODULES.values())

if "scheduler" in sys.argv:
    for module in _MODULES:
        import_module(module)
