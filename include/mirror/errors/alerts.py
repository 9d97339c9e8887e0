"""Errors of telling people."""

from mirror.errors.base import MirrorError


class AlertConnectionUnusable(MirrorError):
    """Raised when an Airflow connection cannot be used to send alerts: it is not there, or lacks something."""

    def __init__(self, connection: str, reason: str) -> None:
        super().__init__(
            f"Alerts cannot be sent by the connection '{connection}': {reason}. What was to be sent is kept.",
            next=f"Correct the connection '{connection}', or mirror.alert.connections; the next freshness run sends what is kept."
            f" The alert of a missed run reads connections from the environment alone (AIRFLOW_CONN_{connection.upper()}).",
        )
        self.connection = connection


class NotificationFailed(MirrorError):
    """Raised when a mail server or a web service did not take an alert."""

    retriable = True

    def __init__(self, connection: str, where: str, reason: str, *, this_alone: bool = False) -> None:
        """`this_alone`: the service is there and refused what this alert says; others it may take."""
        super().__init__(
            f"The alert was not taken by {where} (connection '{connection}'): {reason}. It is kept.",
            next="Check that the service is up and that this host reaches it; the next run of the freshness DAG sends what is kept.",
        )
        self.connection = connection
        self.this_alone = this_alone
