"""Import paths of the version before, for DAG files and plugins that users copied from it.

`import mirror` lets Python find them. A former path gives what its new module has, and a DeprecationWarning that names the new path.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

FORMER_PATHS = {
    "mirror.airflow.audit_operator": "mirror.airflow.audit",
    "mirror.airflow.backfill_audit": "mirror.airflow.audit",
    "mirror.airflow.backfill_operator": "mirror.airflow.backfill",
    "mirror.airflow.backfill_tasks": "mirror.airflow.backfill",
    "mirror.airflow.copy_operator": "mirror.airflow.copy",
    "mirror.airflow.copy_tasks": "mirror.airflow.copy",
    "mirror.airflow.flows": "mirror.airflow.dags.factory",
    "mirror.airflow.freshness_task": "mirror.airflow.freshness",
    "mirror.airflow.group_operator": "mirror.airflow.groups",
    "mirror.airflow.heartbeat_operator": "mirror.airflow.heartbeats",
    "mirror.airflow.step_task": "mirror.airflow.tasks",
    "mirror.web.airflow_access": "mirror.web.airflow_view",
}


class FormerPathFinder(MetaPathFinder, Loader):
    """Finds the modules of FORMER_PATHS, behind all other finders: a file of that name comes first."""

    def find_spec(self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """The module under its former path; None for any other path."""
        return ModuleSpec(fullname, self) if fullname in FORMER_PATHS else None

    def exec_module(self, module: ModuleType) -> None:
        """Fills it with the public names of the new module."""
        path = FORMER_PATHS[module.__name__]
        message = f"{module.__name__} is now {path}: copy dags/ and plugins/ of the version of include/ that you use."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        vars(module).update({name: value for name, value in vars(import_module(path)).items() if not name.startswith("_")})


def register() -> None:
    """Lets Python's import system ask for former paths, once for each process."""
    if not any(isinstance(finder, FormerPathFinder) for finder in sys.meta_path):
        sys.meta_path.append(FormerPathFinder())
