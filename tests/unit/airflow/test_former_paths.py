"""DAG files and plugins are copied into users' folders: what those of the version before import is still there."""

import sys
from importlib import import_module

import pytest

from mirror.former_paths import FORMER_PATHS, FormerPathFinder, register

IMPORTS_OF_THE_VERSION_BEFORE = """
from mirror.airflow.audit_operator import AuditOperator
from mirror.airflow.backfill_audit import IntervalAuditOperator
from mirror.airflow.backfill_operator import FillOperator
from mirror.airflow.backfill_tasks import resolve_times, summarize
from mirror.airflow.copy_operator import CopyOperator
from mirror.airflow.copy_tasks import plan, publish, verdict
from mirror.airflow.flows import failing_dag
from mirror.airflow.flows import flow_dags
from mirror.airflow.freshness_task import freshness_task
from mirror.airflow.group_operator import GroupOperator
from mirror.airflow.heartbeat_operator import RUN_SECONDS, HeartbeatOperator
from mirror.airflow.step_task import step_task
from mirror.config import Configuration, Flow
from mirror.config import load, together
from mirror.config.heartbeats import seconds_between_beats
from mirror.errors import ConfigurationError
from mirror.web.airflow_access import base_path
from mirror.web.app import PREFIX, airflow_app
""".strip().splitlines()
"""Each import of the library in its dags/ and plugins/."""


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No former module was imported yet in this process."""
    for path in FORMER_PATHS:
        monkeypatch.delitem(sys.modules, path, raising=False)


@pytest.mark.parametrize("line", IMPORTS_OF_THE_VERSION_BEFORE)
@pytest.mark.filterwarnings("ignore:mirror:DeprecationWarning")
def test_import_of_the_version_before_works(fresh: None, line: str) -> None:
    imported: dict[str, object] = {}
    exec(line, imported)
    names = line.partition(" import ")[2].split(", ")
    assert all(names)
    assert [name for name in names if imported.get(name) is None] == []


@pytest.mark.parametrize(("former", "path"), FORMER_PATHS.items())
def test_former_path_gives_the_new_modules_names_and_says_the_new_path(fresh: None, former: str, path: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{former} is now {path}:") as caught:
        module = import_module(former)
    assert caught[0].filename != import_module("mirror.former_paths").__file__
    now = vars(import_module(path))
    assert {name: now[name] for name in now if not name.startswith("_")}.items() <= vars(module).items()


def test_former_paths_are_registered_once() -> None:
    register()
    assert [isinstance(finder, FormerPathFinder) for finder in sys.meta_path].count(True) == 1


def test_any_other_module_that_is_missing_stays_missing() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("mirror.airflow.never_was_there")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("mirror.policy", "ReplicationPolicy"),
        ("mirror.policy", "DefaultReplicationPolicy"),
        ("mirror.policy", "IdentityReplicationPolicy"),
        ("mirror.policy", "TopicFilter"),
        ("mirror.policy", "GroupFilter"),
        ("mirror.policy", "ConfigPropertyFilter"),
        ("mirror.client", "MirrorClient"),
        ("mirror.airflow.webhook_notifier", "WebhookNotifier"),
        ("mirror.airflow.heartbeat_trigger", "HeartbeatTrigger"),
        ("mirror.airflow.deadlines", "tell_missed_run"),
    ],
)
def test_public_and_stored_import_paths_stay(module: str, name: str) -> None:
    assert getattr(import_module(module), name).__module__.startswith("mirror.")
