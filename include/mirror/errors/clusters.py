"""Errors of talking to a cluster."""

from mirror.errors.base import MirrorError


class ClusterUnreachable(MirrorError):
    """Raised when no broker of a cluster answered within the deadline."""

    retriable = True

    def __init__(self, cluster: str, bootstrap: str, seconds: float, detail: str = "") -> None:
        super().__init__(
            f"Cluster '{cluster}' did not answer at {bootstrap} within {seconds:g} s{': ' + detail if detail else ''}.",
            next="Check that the brokers run and that this host reaches the addresses they advertise; the next run goes on by itself.",
        )
        self.cluster = cluster
        self.bootstrap = bootstrap


class AuthenticationFailed(MirrorError):
    """Raised when a cluster refuses our credentials, or its certificate cannot be trusted."""

    def __init__(self, cluster: str, bootstrap: str, detail: str) -> None:
        super().__init__(
            f"Cluster '{cluster}' at {bootstrap} refused the connection: {detail}.",
            next=f"Check {cluster}.security.protocol, {cluster}.sasl.* and {cluster}.ssl.*; the next run goes on where the ledger ends.",
        )
        self.cluster = cluster


class AuthorizationRefused(MirrorError):
    """Raised when the cluster knows us but does not let us do this."""

    def __init__(self, cluster: str, operation: str, resource: str, *, topic: str | None = None) -> None:
        super().__init__(
            f"Cluster '{cluster}' refuses {operation} on {resource}.",
            topic=topic,
            next=f"Grant the mirror's principal {operation} on {resource} of '{cluster}'; the next run goes on where the ledger ends.",
        )
        self.cluster = cluster
        self.operation = operation
        self.resource = resource


class DeadlineExceeded(MirrorError):
    """Raised when a step did not end in the time it may take."""

    retriable = True


class KafkaFailure(MirrorError):
    """Raised when a broker or the client failed in a way that a new attempt may mend. `reason` is Kafka's name for it, if it has one."""

    retriable = True

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        next: str = "",
    ) -> None:
        super().__init__(message, topic=topic, partition=partition, offset=offset, next=next)
        self.reason = reason
