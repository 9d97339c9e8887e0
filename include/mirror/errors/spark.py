"""Errors of a Spark server that stays (Spark Connect). What a job of spark-submit may end with is among the lanes' errors."""

from mirror.errors.base import MirrorError, Runbook

_EXACT = "What was committed is in the ledger, and the next run goes on behind it."


class SparkServerUnavailable(MirrorError):
    """Raised when a Spark Connect server does not answer, ended or was restarted in the middle of a job, or has no room for it."""

    retriable = True
    runbook = Runbook(
        "A Spark Connect server does not answer, ended or was restarted during the job, or has no room for it.",
        "No.",
        "Look whether the server runs, and read its log. The next try begins at the ledger.",
    )

    def __init__(self, address: str, detail: str) -> None:
        super().__init__(
            f"The Spark server at {address} ended, was restarted, has no room, or does not answer: {detail}. {_EXACT}",
            next="Look whether the server runs, and what its log says; the next try begins at the ledger.",
        )
        self.address = address
        self.detail = detail


class SparkServerRefused(MirrorError):
    """Raised when a Spark Connect server refuses the token, or is of another version than this client."""

    runbook = Runbook(
        "A Spark Connect server refuses the token, or its Spark or its workers' Python is of another version than the mirror's.",
        "No, nothing was copied.",
        "Give the connection the server's token as its password; run the server with the same minor versions of Spark and of Python.",
    )

    def __init__(self, address: str, detail: str, next: str) -> None:
        super().__init__(f"The Spark server at {address} {detail}. No lane was copied.", next=next)
        self.address = address

    @classmethod
    def for_its_token(cls, address: str) -> "SparkServerRefused":
        """Of a server that does not accept the token, or wants one."""
        return cls(
            address,
            "refuses the token",
            "Put the server's token into the connection's password, or by hand into SPARK_CONNECT_AUTHENTICATE_TOKEN.",
        )

    @classmethod
    def for_its_version(cls, address: str, what: str, server: str, client: str) -> "SparkServerRefused":
        """Of a server whose Spark or Python is not the client's."""
        return cls(
            address,
            f"runs {what} {server}, and this is {what} {client}",
            f"Run the server with {what} {client}, or install its version here.",
        )


class SparkJobInterrupted(MirrorError):
    """Raised when somebody ended the job on a Spark Connect server: a later run of the same flow, or an administrator."""

    retriable = True
    runbook = Runbook(
        "A job on a Spark Connect server was interrupted: a later run of the same flow began, or an administrator ended it.",
        "No.",
        "Nothing: the next run goes on behind what was committed. If it stays, look for a second run of the flow.",
    )

    def __init__(self, address: str) -> None:
        super().__init__(
            f"The job on the Spark server at {address} was interrupted, by a later run of the flow or by hand. {_EXACT}",
            next="Nothing, the next run goes on. If it stays, look for somebody else who copies this flow.",
        )
        self.address = address
