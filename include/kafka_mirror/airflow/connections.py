"""Airflow's connections, with its secret backends and its masking in logs: they resolve `${conn:<connection>:<field>}`."""

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kafka_mirror.config.references import EXTRA, extra_key
from kafka_mirror.config.setting import is_secret

_NOT_SECRET = ("conn_type", "host", "port", "schema", "login")


def lookup(connection: str, field: str) -> str:
    """The value of a connection's field. Airflow masks it in logs from now on if it may be a secret. Raises ValueError with the reason."""
    airflow_connection = connection_of(connection)
    if field == EXTRA:
        return _whole_extra(connection, airflow_connection.extra)
    key = extra_key(field)
    value = _extra(connection, airflow_connection.extra, key) if key else getattr(airflow_connection, field)
    if value is None or value == "":
        raise ValueError(f"Airflow's connection '{connection}' has no {field}")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if field in _NOT_SECRET else mask(text)


def require_airflow() -> None:
    """Raises ValueError where no Airflow is set up for this process: to import Airflow there would create one in the home directory."""
    if not (
        "airflow" in sys.modules
        or any(name == "AIRFLOW_HOME" or name.startswith(("AIRFLOW__", "AIRFLOW_CONN_")) for name in os.environ)
        or Path("~/airflow/airflow.cfg").expanduser().exists()
    ):
        raise ValueError(
            "Airflow's connections are known where Airflow is; on the command line set AIRFLOW_HOME as for `airflow connections get`, "
            "or use ${env:…}, ${file:…} or ${dir:…}"
        )
    if find_spec("airflow") is None:
        raise ValueError("Airflow's connections cannot be asked for: apache-airflow is not installed here")


def connection_of(connection: str) -> Any:
    """The connection, as a task sees it, or on the command line as `airflow connections get` does. Raises ValueError with the reason."""
    require_airflow()
    from kafka_mirror.airflow.compat import get_connection

    return get_connection(connection)


def mask(secret: str) -> str:
    """The secret, which Airflow masks in logs from now on."""
    from airflow.sdk.log import mask_secret

    mask_secret(secret)
    return secret


def _whole_extra(connection: str, extra: str | None) -> str:
    """All of it as JSON, each secret in it masked in logs from now on."""
    document = _document(connection, extra)
    for key, value in document.items():
        if is_secret(key) or key.endswith("key.pem"):
            mask(str(value))
    return json.dumps(document)


def _document(connection: str, extra: str | None) -> dict[str, Any]:
    try:
        document = json.loads(extra or "{}")
    except ValueError:
        document = None
    if not isinstance(document, dict):
        # Its text may be a secret, and so may a parser's complaint about it.
        raise ValueError(f"the extra of Airflow's connection '{connection}' is no JSON object")
    return document


def _extra(connection: str, extra: str | None, key: str) -> Any:
    value = _document(connection, extra).get(key)
    if isinstance(value, (dict, list)):
        raise ValueError(f"extra.{key} of Airflow's connection '{connection}' is neither text nor number")
    return value
