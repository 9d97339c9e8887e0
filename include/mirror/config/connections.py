"""`${conn:<Airflow connection>:<field>}`: settings of Kafka clients out of Airflow's connections, whatever secret backend is behind them.

The configuration knows no Airflow: `provide` tells it whom to ask. A Spark job's driver is no Airflow task and may not ask; who starts it
hands it the values in its environment, where neither a command line nor a file shows them.
"""

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mirror.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from mirror.config.flow import Flow

HANDED_OVER = "MIRROR_CONNECTIONS"
"""The environment variable of a job's process with what it needs of the connections: JSON, `<connection>:<field>` -> value."""

FIELDS = ("host", "port", "login", "password", "schema")
_EXTRA = ("extra.", "extra__")

Lookup = Callable[[str, str], str]
"""(connection, field) -> value. Raises ValueError with the reason."""

_lookup: list[Lookup] = []


def provide(lookup: Lookup) -> None:
    """Makes this the way to ask Airflow."""
    _lookup[:] = [lookup]


def extra_key(field: str) -> str | None:
    """The key inside the connection's extra that `extra.<key>` or `extra__<key>` names; None for any other field."""
    return next((field.removeprefix(prefix) for prefix in _EXTRA if field.startswith(prefix) and field != prefix), None)


class Connections:
    """The provider `conn`. It is called when a task runs, never while DAG files are parsed."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = environ

    def check(self, connection: str, field: str) -> None:
        """Raises ValueError if this cannot be a reference to a connection, whatever connections there are."""
        if not connection:
            raise ValueError("no connection is named; write ${conn:<Airflow connection>:<field>}")
        if field not in FIELDS and extra_key(field) is None:
            raise ValueError(f"a connection has no such field; known are {', '.join(FIELDS)} and extra.<key>")

    def __call__(self, connection: str, field: str) -> str:
        """The value of the field. Raises ValueError with the reason why there is none."""
        self.check(connection, field)
        variables = os.environ if self._environ is None else self._environ
        handed_over = json.loads(variables.get(HANDED_OVER, "{}"))
        if f"{connection}:{field}" in handed_over:
            return str(handed_over[f"{connection}:{field}"])
        if not _lookup:
            raise ValueError("Airflow's connections are known to Airflow's tasks alone; use ${env:…}, ${file:…} or ${dir:…} here")
        return _lookup[0](connection, field)


def handed_over(flow: "Flow") -> dict[str, str]:
    """What the environment of a job's process has to hold beside everything else: nothing, or one variable, which holds secrets.

    Raises ConfigurationError with every reference that cannot be read.
    """
    from mirror.config.flow import CLIENTS

    values: dict[str, str] = {}
    problems: list[Problem] = []
    for side, role in CLIENTS:
        for setting in flow.java_settings(side, role).values():
            try:
                values |= flow.references.connection_values(setting)
            except ConfigurationError as error:
                problems += error.problems
    if problems:
        raise ConfigurationError(list(dict.fromkeys(problems)), flow=flow.name)
    return {HANDED_OVER: json.dumps(values)} if values else {}
