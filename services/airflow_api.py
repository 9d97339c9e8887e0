"""Airflow's REST API as tests and demo use it: trigger, wait, look at XCom."""

import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import httpx

_PAUSE_SECONDS = 0.5  # between two looks, each of which costs api-server and database as much as a task does


class AirflowApiError(RuntimeError):
    """Raised when Airflow answered with an error, or a run did not end in time."""


class AirflowApi:
    """One user's view of a running Airflow; logs in with the first call."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url = url
        self._login = {"username": user, "password": password}
        # With its first task the api-server builds the Execution API, and answers no request meanwhile: on a busy machine most of a minute.
        self._client = httpx.Client(base_url=url, timeout=120, trust_env=False)

    # ------------------------------------------------------------ DAGs and runs

    def dags(self) -> dict[str, dict[str, Any]]:
        """Every DAG that Airflow knows, by id."""
        dags: dict[str, dict[str, Any]] = {}
        while True:  # a page is never larger than Airflow's maximum_page_limit, whatever is asked for
            page = self.call("GET", "dags", params={"limit": 100, "offset": len(dags), "order_by": "dag_id"})
            dags |= {dag["dag_id"]: dag for dag in page["dags"]}
            if len(dags) >= page["total_entries"] or not page["dags"]:
                return dags

    def import_errors(self) -> dict[str, str]:
        """File name to traceback."""
        return {error["filename"]: error["stack_trace"] for error in self.call("GET", "importErrors")["import_errors"]}

    def wait_for_dags(self, wanted: Iterable[str], timeout: float = 180) -> None:
        """Returns when Airflow has parsed all of these DAGs; raises with those that it has and with its import errors."""
        missing = set(wanted)
        deadline = time.monotonic() + timeout
        while missing := missing - set(self.dags()):
            if time.monotonic() > deadline:
                raise AirflowApiError(
                    f"Airflow did not find {sorted(missing)}; it has {sorted(self.dags())}; errors: {self.import_errors()}"
                )
            time.sleep(_PAUSE_SECONDS)

    def pause(self, dag: str, paused: bool = True) -> None:
        """Pauses or unpauses a DAG."""
        self.call("PATCH", f"dags/{dag}", json={"is_paused": paused})

    def unpause(self, dag: str) -> None:
        """Lets the scheduler run it."""
        self.pause(dag, paused=False)

    def trigger(self, dag: str, conf: Mapping[str, Any] | None = None, logical_date: str | None = None) -> str:
        """Triggers a run, without a logical date as the UI may, and gives its run id."""
        return str(self.call("POST", f"dags/{dag}/dagRuns", json={"conf": dict(conf or {}), "logical_date": logical_date})["dag_run_id"])

    def run(self, dag: str, run: str) -> dict[str, Any]:
        """A run as it is now; its `state` among others."""
        answer: dict[str, Any] = self.call("GET", f"dags/{dag}/dagRuns/{quote(run)}")
        return answer

    def runs(self, dag: str) -> list[dict[str, Any]]:
        """A DAG's newest runs, at most 100, the newest first."""
        answer: list[dict[str, Any]] = self.call("GET", f"dags/{dag}/dagRuns", params={"order_by": "-run_after", "limit": 100})["dag_runs"]
        return answer

    def clear(self, dag: str, run: str, *tasks: str) -> None:
        """Lets tasks of a run, and those downstream of them, run again, whatever state they are in."""
        request = {"dry_run": False, "dag_run_id": run, "task_ids": list(tasks), "only_failed": False, "include_downstream": True}
        self.call("POST", f"dags/{dag}/clearTaskInstances", json=request)

    def asset_events(self, uri: str) -> list[dict[str, Any]]:
        """The events of an asset, the oldest first."""
        assets = self.call("GET", "assets", params={"uri_pattern": uri})["assets"]
        events: list[dict[str, Any]] = []
        for asset in (asset for asset in assets if asset["uri"] == uri):
            while True:
                query = {"asset_id": asset["id"], "limit": 100, "offset": len(events), "order_by": "timestamp"}
                page = self.call("GET", "assets/events", params=query)
                events += page["asset_events"]
                if len(events) >= page["total_entries"] or not page["asset_events"]:
                    break
        return events

    def fail(self, dag: str, run: str) -> None:
        """Marks a run failed, as a person does; it ends."""
        self.call("PATCH", f"dags/{dag}/dagRuns/{quote(run)}", json={"state": "failed"})

    def wait_for_run(self, dag: str, run: str, timeout: float = 600) -> dict[str, Any]:
        """The run when it has ended (success or failed); raises when it has not in time, with the states of its tasks."""
        deadline = time.monotonic() + timeout
        while True:
            current = self.run(dag, run)
            if current["state"] in ("success", "failed"):
                return current
            if time.monotonic() > deadline:
                raise AirflowApiError(f"{dag} {run} is {current['state']} after {timeout:g} s; its tasks: {self.states(dag, run)}")
            time.sleep(_PAUSE_SECONDS)

    def tasks(self, dag: str, run: str) -> list[dict[str, Any]]:
        """The run's task instances: `task_id`, `state`, `try_number`, `duration` ..."""
        answer: list[dict[str, Any]] = self.call("GET", f"dags/{dag}/dagRuns/{quote(run)}/taskInstances")["task_instances"]
        return answer

    def states(self, dag: str, run: str) -> dict[str, str | None]:
        """Task id to state."""
        return {task["task_id"]: task["state"] for task in self.tasks(dag, run)}

    def xcom(self, dag: str, run: str, task: str, key: str = "return_value") -> Any:
        """The value of one XCom entry."""
        path = f"dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}/xcomEntries/{key}"
        return self.call("GET", path, params={"deserialize": False, "stringify": False})["value"]

    def xcom_keys(self, dag: str, run: str, task: str) -> list[str]:
        """The keys of a task's XCom entries."""
        entries = self.call("GET", f"dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}/xcomEntries")["xcom_entries"]
        return [entry["key"] for entry in entries]

    def links(self, dag: str, run: str, task: str) -> dict[str, str | None]:
        """The links that the UI shows on a task, by their names; None where one leads nowhere now."""
        return dict(self.call("GET", f"dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}/links")["extra_links"])

    def log(self, dag: str, run: str, task: str, attempt: int = 1) -> str:
        """What a task logged in one attempt, exceptions included."""
        return "\n".join(_line_text(line) for line in self.log_lines(dag, run, task, attempt))

    def errors(self, dag: str, run: str, task: str, attempt: int = 1) -> str:
        """The lines of it that were logged as errors."""
        lines = self.log_lines(dag, run, task, attempt)
        return "\n".join(_line_text(line) for line in lines if isinstance(line, dict) and line.get("level") in ("error", "critical"))

    def log_lines(self, dag: str, run: str, task: str, attempt: int = 1) -> list[Any]:
        """A task's log line by line, each as Airflow gives it: a document with `event`, `level`, `logger` and `timestamp`, or a text."""
        path = f"dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}/logs/{attempt}"
        lines: list[Any] = self.call("GET", path, params={"full_content": True})["content"]
        return lines

    # ------------------------------------------------------------ connections

    def add_connection(self, connection: str, kind: str, **fields: Any) -> None:
        """Adds a connection, such as ("spark_default", "spark", host="local[2]")."""
        self.call("POST", "connections", json={"connection_id": connection, "conn_type": kind, **fields})

    # ------------------------------------------------------------ the wire

    def health(self) -> dict[str, dict[str, Any]]:
        """Airflow's own view of its components; needs no login."""
        answer: dict[str, dict[str, Any]] = self._client.get("/api/v2/monitor/health", timeout=30).raise_for_status().json()
        return answer

    def call(self, method: str, path: str, **request: Any) -> Any:
        """One call below /api/v2, or of a whole path (`/mirror/…`), with the user's token. Raises AirflowApiError with the answer."""
        if "Authorization" not in self._client.headers:
            token = _check(self._client.post("/auth/token", json=self._login))["access_token"]
            self._client.headers["Authorization"] = f"Bearer {token}"
        return _check(self._client.request(method, path if path.startswith("/") else f"/api/v2/{path}", **request))

    def text(self, path: str) -> str:
        """A page of this Airflow as its user sees it, in the end of all redirects."""
        self.call("GET", "version")  # with it comes the login
        return self._client.get(path, follow_redirects=True, headers={"Accept": "text/html"}).text

    def close(self) -> None:
        """Closes its connections."""
        self._client.close()


def _line_text(line: Any) -> str:
    if isinstance(line, str):
        return line
    exceptions = [f"{error['exc_type']}: {error['exc_value']}" for error in line.get("error_detail") or ()]
    return "\n".join([str(line.get("event", line)), *exceptions])


def _check(response: httpx.Response) -> Any:
    if response.is_error:
        raise AirflowApiError(f"{response.request.method} {response.request.url}: {response.status_code} {response.text}")
    return response.json() if response.content else None
