"""The mirror in Airflow's UI: its status page in the navigation, its web application under `/mirror`."""

from functools import cached_property
from typing import Any

from airflow.plugins_manager import AirflowPlugin


class MirrorPlugin(AirflowPlugin):
    """Every process of Airflow loads this, each task too: what costs something is only built where it is asked for, in the api-server."""

    name = "mirror"

    @cached_property
    def fastapi_apps(self) -> list[dict[str, Any]]:
        """The web application."""
        from mirror.web.app import PREFIX, airflow_app

        return [{"app": airflow_app(), "url_prefix": PREFIX, "name": "Mirror"}]

    @cached_property
    def external_views(self) -> list[dict[str, Any]]:
        """The page in the navigation, at the top level, in a frame."""
        from mirror.web.airflow_access import base_path
        from mirror.web.app import PREFIX

        page = f"{base_path()}{PREFIX}/"
        icons = {"icon": f"{page}static/icon.svg", "icon_dark_mode": f"{page}static/icon-dark.svg"}
        return [{"name": "Mirror", "href": page, "url_route": "mirror", "destination": "nav", "nav_top_level": True, **icons}]
