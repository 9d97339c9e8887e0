"""Errors of the configuration, of the command line, and of telling people."""

from collections.abc import Collection, Sequence
from dataclasses import field, replace

from kafka_mirror.errors.base import DeclaredError, ErrorReport, MirrorError, Problem
from kafka_mirror.errors.next_step import Part


class ConfigurationError(DeclaredError):
    """Properties are wrong or missing, or a reference cannot be read."""

    problems: Sequence[Problem]
    file: str = field(default="", kw_only=True)
    flow: str = field(default="", kw_only=True)
    next_text = "Correct what is named, and run again; nothing was written."
    lost = "No, nothing was written."
    more = "The message names all of them, with file and line; in `--json` they are `problems`."

    def _describe(self) -> str:
        in_file = f" in {self.file}" if self.file and not any(problem.file for problem in self.problems) else ""
        listed = f" {self.problems[0]}." if len(self.problems) == 1 else "".join(f"\n  {problem}" for problem in self.problems)
        return f"The configuration{in_file}{f' for {self.flow}' if self.flow else ''} cannot be used:{listed}"

    def report(self) -> ErrorReport:
        """This error as a value, with its problems."""
        return replace(super().report(), problems=tuple(self.problems))


class ConfigurationMissing(ConfigurationError):
    """No configuration is named: `MIRROR_CONFIG` is not set, and the command line had no `--config`.

    The example that comes with the mirror is never taken by itself.
    """

    problems: Sequence[Problem] = field(init=False)
    variable: str
    option: str
    next_text = (
        "Name your mm2.properties: {shell:export {variable}=/path/to/mm2.properties}, or {option} FILE on the command line. "
        "Airflow's processes need the variable in their environment."
    )
    lost = "No."
    do = "Set `MIRROR_CONFIG` to your `mm2.properties`, for each process of Airflow and in the shell in which you run commands."

    def _describe(self) -> str:
        missing = f"is not set, and {self.option} was not given"
        self.problems = (Problem(self.variable, missing),)
        return f"No configuration: {self.variable} {missing}."


class UsageError(MirrorError):
    """The command line, or a DAG's parameters, ask for something that does not exist, such as an unknown flow.

    `names`: topics that a flow does not mirror, where it was asked for them.
    """

    lost = "No, nothing was written."
    do = "Use one of the names that the message lists."

    def __init__(self, message: str, *, next: str | Sequence[Part] = "", names: Collection[str] = ()) -> None:
        super().__init__(message, next=next)
        self.names = tuple(names)


class NothingSelected(DeclaredError):
    """A topic or group was named that no flow knows; to `take-over`, a topic of which MirrorMaker 2 left nothing.

    What the command did says nothing of these names.
    """

    command: str
    names: Collection[str]
    text = "{command} was asked for {names}, and no flow that could be looked at knows it. Nothing was done about it."
    next_text = "Check the name: topics and groups have the names of the source here. What a flow mirrors: {mirror:status}."


class AlertConnectionUnusable(DeclaredError):
    """An Airflow connection of `mirror.alert.connections` is missing, or lacks something that the message names."""

    connection: str
    reason: str
    text = "Alerts cannot be sent by the connection '{connection}': {reason}. The alerts are kept."
    lost = "No. The alerts are kept until it is mended."
    do = "Correct the connection. For alerts of missed runs it must be in the environment."

    def _advise(self) -> Sequence[Part]:
        return (
            f"Correct the connection '{self.connection}', or mirror.alert.connections; the next freshness run sends what is kept. The "
            f"alert of a missed run reads connections from the environment alone (AIRFLOW_CONN_{self.connection.upper()}).",
        )


class AlertNotifierUnusable(DeclaredError):
    """A class of `mirror.alert.notifiers` cannot be imported, is no notifier, or does not take the arguments that stand there."""

    notifier: str
    reason: str
    text = "Alerts cannot be sent by the {notifier}: {reason}. The alerts are kept."
    next_text = (
        "Correct `mirror.alert.notifiers`, or install the package of the class where tasks run; the next freshness run sends what is kept."
    )
    lost = "No. The alerts are kept until it is mended."


class NotificationFailed(DeclaredError):
    """A mail server or a web service did not take an alert.

    `this_alone`: the service is there and refused what this alert says; others it may take.
    """

    connection: str
    where: str
    reason: str
    this_alone: bool = field(default=False, kw_only=True)
    retriable = True
    text = "{where} (connection '{connection}') did not take the alert: {reason}. It is kept."
    next_text = "Check that the service is up and that this host reaches it; the next run of the freshness DAG sends what is kept."
    lost = "No. The alert is kept, and the next run of `freshness` sends it."
    do = "Check that the service is up and reachable, and that its secret is still valid."
