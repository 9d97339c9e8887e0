"""Errors of the configuration, of the command line, and of telling people."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from mirror.errors.base import ErrorReport, MirrorError, Problem, Runbook
from mirror.errors.next_step import Command, NextStep, Part, own


class ConfigurationError(MirrorError):
    """Raised when the configuration cannot be used; `problems` has all of them at once."""

    runbook = Runbook(
        "Properties are wrong or missing, or a reference cannot be read.",
        "No, nothing was written.",
        "Correct the named properties.",
        more="The message names all of them at once, a line each, with file and line; in `--json` they are `problems`.",
    )

    def __init__(self, problems: list[Problem], *, file: str = "", flow: str = "") -> None:
        in_file = f" in {file}" if file and not any(problem.file for problem in problems) else ""
        listed = f" {problems[0]}." if len(problems) == 1 else "".join(f"\n  {problem}" for problem in problems)
        super().__init__(
            f"The configuration{in_file}{f' for {flow}' if flow else ''} cannot be used:{listed}",
            next="Correct what is named, and run again; nothing was written.",
        )
        self.problems = tuple(problems)
        self.file = file
        self.flow = flow

    def report(self) -> ErrorReport:
        """This error as a value, with its problems."""
        return replace(super().report(), problems=self.problems)


class ConfigurationMissing(ConfigurationError):
    """Raised when nobody has said which configuration to take. The example that comes with the mirror is never taken by itself."""

    runbook = Runbook(
        "No configuration is named: `MIRROR_CONFIG` is not set, and the command line had no `--config`.",
        "No.",
        "Set `MIRROR_CONFIG` to your `mm2.properties`, for each process of Airflow and in the shell in which you run commands.",
        more="Several files stand behind each other, separated by commas.",
    )

    def __init__(self, variable: str, option: str) -> None:
        super().__init__([Problem(variable, f"is not set, and {option} was not given")])
        self.message = f"No configuration: {variable} is not set, and {option} was not given."
        self.step = NextStep.of(
            "Name your mm2.properties: ",
            Command(f"export {variable}=/path/to/mm2.properties"),
            f", or {option} FILE on the command line. Airflow's processes need the variable in their environment.",
        )


class UsageError(MirrorError):
    """Raised when the command line asks for something that does not exist, such as an unknown flow. `names`: topics that a flow does not
    mirror, where it was asked for them."""

    runbook = Runbook(
        "The command line, or a DAG's parameters, ask for something that does not exist, such as an unknown flow.",
        "No, nothing was written.",
        "Use one of the names that the message lists.",
    )

    def __init__(self, message: str, *, next: str | Sequence[Part] = "", names: Collection[str] = ()) -> None:
        super().__init__(message, next=next)
        self.names = tuple(names)


class NothingSelected(MirrorError):
    """Raised when a command was asked for something by name that none of the flows knows: what it did says nothing of it."""

    runbook = Runbook(
        "`audit`, `backfill`, `status` or `translate` was asked, for all flows, about a topic or group that none of them knows; or "
        "`take-over` about a topic of which MirrorMaker 2 left nothing.",
        "No.",
        "Check the name, which is that of the source.",
    )

    def __init__(self, command: str, names: Collection[str]) -> None:
        super().__init__(
            f"{command} was asked for {', '.join(names)}, and no flow that could be looked at knows it. Nothing was done about it.",
            next=("Check the name: topics and groups have the names of the source here. What a flow mirrors: ", own("status"), "."),
        )
        self.names = tuple(names)


class AlertConnectionUnusable(MirrorError):
    """Raised when an Airflow connection cannot be used to send alerts: it is not there, or lacks something."""

    runbook = Runbook(
        "An Airflow connection of `mirror.alert.connections` is missing, or lacks something that the message names.",
        "No. The alerts are kept until it is mended.",
        "Correct the connection. For alerts of missed runs it has to be in the environment.",
    )

    def __init__(self, connection: str, reason: str) -> None:
        super().__init__(
            f"Alerts cannot be sent by the connection '{connection}': {reason}. The alerts are kept.",
            next=f"Correct the connection '{connection}', or mirror.alert.connections; the next freshness run sends what is kept."
            f" The alert of a missed run reads connections from the environment alone (AIRFLOW_CONN_{connection.upper()}).",
        )
        self.connection = connection


class AlertNotifierUnusable(MirrorError):
    """Raised when a notifier cannot be used to send alerts: its class is not there, or does not take its arguments."""

    runbook = Runbook(
        "A class of `mirror.alert.notifiers` cannot be imported, is no notifier, or does not take the arguments that stand there.",
        "No. The alerts are kept until it is mended.",
        "Correct `mirror.alert.notifiers`, or install the package of the class where Airflow's tasks run.",
    )

    def __init__(self, notifier: str, reason: str) -> None:
        super().__init__(
            f"Alerts cannot be sent by the {notifier}: {reason}. The alerts are kept.",
            next="Correct mirror.alert.notifiers, or install the package of the class where tasks run; the next freshness run sends "
            "what is kept.",
        )
        self.notifier = notifier


class NotificationFailed(MirrorError):
    """Raised when a mail server or a web service did not take an alert."""

    retriable = True
    runbook = Runbook(
        "A mail server or a web service did not take an alert.",
        "No. The alert is kept, and the next run of `freshness` sends it.",
        "Check that the service is up and reachable, and that its secret is still valid.",
    )

    def __init__(self, connection: str, where: str, reason: str, *, this_alone: bool = False) -> None:
        """`this_alone`: the service is there and refused what this alert says; others it may take."""
        super().__init__(
            f"{where} (connection '{connection}') did not take the alert: {reason}. It is kept.",
            next="Check that the service is up and that this host reaches it; the next run of the freshness DAG sends what is kept.",
        )
        self.connection = connection
        self.this_alone = this_alone
