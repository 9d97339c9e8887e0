"""The mirror in Airflow's UI: its status page in the navigation, its web application under `/mirror`."""

from functools import cached_property
from importlib.util import find_spec
from typing import Any

from airflow.plugins_manager import AirflowPlugin


class MirrorPlugin(AirflowPlugin):
    """Every process of Airflow loads this, each task too: what costs something is only built where it is asked for, in the api-server."""

    name = "mirror"

    @cached_property
    def _has_page(self) -> bool:
        # An exception here would keep the whole api-server from starting.
        return find_spec("prometheus_client") is not None

    @cached_property
    def fastapi_apps(self) -> list[dict[str, Any]]:  # type: ignore[override]  # a list there, which would be built at once
        """The web application; none where the package was installed without its extra `web`."""
        if not self._has_page:
            return []
        from kafka_mirror.airflow.page import AirflowAccess
        from kafka_mirror.web.app import PREFIX, whole_app

        return [{"app": whole_app(AirflowAccess()), "url_prefix": PREFIX, "name": "Mirror"}]

    @cached_property
    def operator_extra_links(self) -> list[Any]:  # type: ignore[override]
        """The links on the tasks of flows."""
        from kafka_mirror.airflow.links import RunbookLink, SparkLink, StatusPageLink

        return [StatusPageLink(), RunbookLink(), SparkLink()] if self._has_page else [SparkLink()]

    @cached_property
    def external_views(self) -> list[dict[str, Any]]:  # type: ignore[override]
        """The page in the navigation, at the top level, in a frame; and a tab on every run, with the verdict of a run that copied.

        Airflow shows a tab on the runs of every DAG, or of none."""
        if not self._has_page:
            return []
        from kafka_mirror.airflow.page import base_path
        from kafka_mirror.web.app import PREFIX

        page = f"{base_path()}{PREFIX}/"
        icons = {"icon": f"{page}static/icon.svg", "icon_dark_mode": f"{page}static/icon-dark.svg"}
        return [
            {"name": "Mirror", "href": page, "url_route": "mirror", "destination": "nav", "nav_top_level": True, **icons},
            {"name": "Mirror", "href": f"{page}runs/{{DAG_ID}}/{{RUN_ID}}", "url_route": "mirror-run", "destination": "dag_run", **icons},
        ]
