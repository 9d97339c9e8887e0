"""Errors of a Spark server that stays (Spark Connect). What a job of spark-submit may end with is among the lanes' errors."""

from collections.abc import Sequence

from kafka_mirror.errors.base import DeclaredError

_EXACT = "What was committed stays, and the next run does what is left."


class SparkServerUnavailable(DeclaredError):
    """A Spark Connect server does not answer, ended or was restarted during the job, or has no room for it."""

    address: str
    detail: str
    retriable = True
    text = f"The Spark server at {{address}} ended, was restarted, has no room, or does not answer: {{detail}}. {_EXACT}"
    next_text = "Look whether the server runs, and what its log says; the next try does what is left."


class PysparkMixed(DeclaredError):
    """`pyspark` and `pyspark-client`, which Airflow's Spark provider requires, are installed in two versions. Both own the folder
    `pyspark/`, so its files are mixed, and `pip check` finds nothing wrong.
    """

    pyspark: str
    client: str
    text = "pyspark {pyspark} and pyspark-client {client} are installed in one environment, and each overwrites files of the other."
    next_text = "Install both in one version: pip install --force-reinstall --no-deps pyspark=={client} pyspark-client=={client}"
    lost = "No, nothing ran."
    do = "Run the command that the message names. It takes the version of `pyspark-client`."


class SparkServerRefused(DeclaredError):
    """A Spark Connect server refuses the token, its certificate is not trusted, another user of the host listens on its port, its Spark
    or Python is of another version than the mirror's, or a task is too large for it.
    """

    address: str
    detail: str
    advice: str
    text = "The Spark server at {address} {detail}. Nothing ran there."
    next_text = "{advice}"
    lost = "No, nothing ran there."
    do = (
        "The message says which. Give the connection the server's token as its password; run the server with the same minor versions of "
        "Spark and of Python."
    )

    @classmethod
    def for_its_token(cls, address: str) -> "SparkServerRefused":
        """Of a server that does not accept the token, or wants one."""
        return cls(
            address,
            "refuses the token",
            "Put the server's token into the connection's password, or by hand into SPARK_CONNECT_AUTHENTICATE_TOKEN.",
        )

    @classmethod
    def for_its_owner(cls, address: str, owner: str) -> "SparkServerRefused":
        """Of a port of this host that another user listens on, without TLS."""
        return cls(
            address,
            f"is no server of ours: {owner} holds its port, who would get the token and the passwords of the Kafka clients",
            "Look who listens there, and start the server as the user who runs this, or as root. A server of another user needs TLS.",
        )

    @classmethod
    def for_its_version(cls, address: str, what: str, server: str, client: str) -> "SparkServerRefused":
        """Of a server whose Spark or Python is not the client's."""
        return cls(
            address,
            f"runs {what} {server}, and this is {what} {client}",
            f"Run the server with {what} {client}, or install its version here.",
        )

    @classmethod
    def for_a_task_too_large(cls, address: str, size: int, largest: int) -> "SparkServerRefused":
        """Of a task that has more bytes than a message to a server may have."""
        return cls(
            address,
            f"cannot be sent a task of {size / 1e6:,.0f} MB: {largest / 1e6:,.0f} MB is the most",
            "Raise mirror.lanes, so that each lane has fewer partitions, or copy by a Spark of spark-submit, which has no such limit.",
        )

    @classmethod
    def for_its_message_size(cls, address: str, detail: str) -> "SparkServerRefused":
        """Of a server that takes only smaller messages than the mirror sends."""
        return cls(address, f"takes no message of that size: {detail}", "Raise the server's spark.connect.grpc.maxInboundMessageSize.")

    @classmethod
    def for_its_certificate(cls, address: str, detail: str) -> "SparkServerRefused":
        """Of a server whose certificate this client does not trust, or that does not speak TLS."""
        return cls(
            address,
            f"cannot be reached by TLS: {detail}",
            "Give the server a certificate for this name. Name the authority's file in GRPC_DEFAULT_SSL_ROOTS_FILE_PATH where tasks run.",
        )

    @classmethod
    def for_its_workers_python(cls, address: str, worker: str, client: str, hosts: Sequence[str]) -> "SparkServerRefused":
        """Of a server whose executors, which run on these hosts, have a Python of another minor version than this client."""
        listed = ", ".join(hosts[:5]) + (" …" if len(hosts) > 5 else "")
        return cls(
            address,
            f"has workers with Python {worker}" + (f" (it runs tasks on {listed})" if listed else "") + f", and this is Python {client}",
            f"Run its workers with Python {client} (PYSPARK_PYTHON in the server's environment names it), or the mirror with {worker}.",
        )


class SparkJobInterrupted(DeclaredError):
    """A job on a Spark Connect server was interrupted: its next run began, or an administrator ended it."""

    address: str
    retriable = True
    text = f"The job on the Spark server at {{address}} was interrupted, by its next run or by hand. {_EXACT}"
    next_text = "Nothing, the next run goes on. If it stays, look for somebody else who runs the same."
