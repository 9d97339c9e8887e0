"""A Spark that stays: the tasks of a job as tasks of `mapInArrow` in a named session of a Spark Connect server.

Each Spark task gets its share of the pickled tasks in the function itself, as bytes: no plan, log or event log of Spark shows more than the
first few of them, which are pickle's own. gRPC takes 128 MiB in a message, but a server has no room left long before: it holds a message
several times. With a heap of 512 MB, one died of messages of 30 MB, and took 250 MB in messages of 8.
"""

import logging
import pickle
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from kafka_mirror.config import Flow
from kafka_mirror.errors import ConfigurationError, JobFailed, Problem, SparkServerRefused, SparkServerUnavailable
from kafka_mirror.spark import worker
from kafka_mirror.spark.connect_errors import as_our_errors, first_line, is_handshake_failure, translate_failure, worker_error
from kafka_mirror.spark.connect_url import ConnectUrl, connect_url, session_id, stranger_on
from kafka_mirror.spark.files import code_digest, package
from kafka_mirror.spark.log import LEVEL, SayLines, level_for_job, require_prepared_workers, write_lines

_MOST_SESSIONS = 16
_MOST_RETRIES = 6
_MOST_BACKOFF_MS = 4_000
"""pyspark's own wait ten minutes for a server that does not answer; these wait about twelve seconds."""
_KEEPALIVE = {"grpc.keepalive_time_ms": 310_000, "grpc.keepalive_timeout_ms": 30_000, "grpc.http2.max_pings_without_data": 0}
"""A host that hangs closes no connection: without pings a job would wait for its answer for ever. A server allows one in five minutes."""
_PROGRESS_INTERVAL = "60s"
"""How often a server reports the progress of a job, which is not shown. Its default is two seconds, and the client answers each time."""
_ROWS = 4_096
"""More than any cluster has cores: so each partition that Spark makes by itself has a row."""
Share = list[bytes]
"""The pickled tasks of one task of Spark, in their order."""
MESSAGE_BYTES = 8 * 1024 * 1024
"""The tasks in one message together, unless a single one is larger."""
LARGEST_TASK_BYTES = 96 * 1024 * 1024

log = logging.getLogger(__name__)


class ConnectSession:
    """A session on a server. Not for several threads, but for `interrupt`."""

    def __init__(self, url: ConnectUrl, session: Any, tag: str, say: SayLines) -> None:
        self.url = url
        self._session = session
        self._tag = tag
        self._say = say
        self._package_sent = False

    @cached_property
    def cores(self) -> int:
        """How many tasks the server's cluster runs at once, as Spark itself counts it for a job of its own."""
        from pyspark.sql.connect.functions import spark_partition_id

        with as_our_errors(self.url):
            rows = self._session.range(0, _ROWS).select(spark_partition_id().alias("partition")).toArrow()
        return len(rows.column(0).unique())

    def run(self, function: str, tasks: Sequence[Any], slices: int) -> list[Any]:
        """The answers of a function ('module:name') to the tasks, in their order, from `slices` tasks of Spark. The workers' lines go where
        the caller wants them. What still runs when it fails is interrupted. Raises WorkerUnprepared when a worker lacks a module, and what
        `as_our_errors` raises."""
        try:
            return self._run(function, tasks, slices)
        except BaseException:
            self.interrupt()
            raise

    def _run(self, function: str, tasks: Sequence[Any], slices: int) -> list[Any]:
        shares = shares_of([pickle.dumps(task) for task in tasks], slices, self.url.address)
        answers: dict[int, list[Any]] = {}
        while missing := [number for number in range(len(shares)) if number not in answers]:
            numbers = missing[: count_for_message([shares[number] for number in missing])]
            came = self._run_shares(function, [shares[number] for number in numbers])
            answers |= {numbers[index]: given for index, given in came.items() if worker.OTHER_CODE not in given}
            if any(number not in answers for number in numbers):
                self._send_package()
        return list(require_prepared_workers([answer for number in sorted(answers) for answer in answers[number]], self._say))

    def interrupt(self) -> None:
        """Ends what runs with this session's tag; safe in a signal handler's thread, waits for five seconds at most."""

        def ask() -> None:
            with suppress(Exception):
                self._session.interruptTag(self._tag)

        asking = threading.Thread(target=ask, name="interrupt", daemon=True)
        asking.start()
        asking.join(5.0)

    def _run_shares(self, function: str, shares: list[list[bytes]]) -> dict[int, list[Any]]:
        digest, level = code_digest(), level_for_job()[LEVEL]
        from kafka_mirror.spark.worker import run_on_same_code

        def work(batches: Iterator[Any]) -> Iterator[Any]:
            """Runs on a worker: the numbers of shares come in, each answer goes out pickled, with its share's number."""
            import pickle

            import pyarrow

            for batch in batches:
                for number in batch.column(0).to_pylist():
                    given = [pickle.dumps(answer) for answer in run_on_same_code(digest, function, level, shares[number])]
                    yield pyarrow.RecordBatch.from_arrays(
                        [pyarrow.array([number] * len(given), pyarrow.int64()), pyarrow.array(given, pyarrow.binary())], ["share", "answer"]
                    )

        count = len(shares)
        try:
            # Not `toArrow`, which first asks the server for the schema.
            rows = self._session.range(0, count, 1, count).mapInArrow(work, "share long, answer binary").collect()
        except Exception as failure:  # noqa: BLE001 — the client raises its own, gRPC's and plain ones; each is raised as ours
            raise worker_error(self._session, self.url.address, failure) or translate_failure(self.url.address, failure) from None
        answers: dict[int, list[Any]] = {number: [] for number in range(count)}
        for number, answer in rows:
            answers[number].append(pickle.loads(answer))  # noqa: S301 — of our own code, on a server that has our secrets
        return answers

    def _send_package(self) -> None:
        """Sends the library to the session. Raises JobFailed where it was sent and a worker still has another one."""
        if self._package_sent:
            raise JobFailed(
                f"A worker of the Spark server at {self.url.address} does not use the mirror's code that was sent to it.",
                next="Restart the server; if it stays, remove the other version of airflow-kafka-mirror from its workers' Python.",
            )
        log.info("Sending the mirror's code to the Spark server at %s, whose workers lack it or have another.", self.url.address)
        paths = list(sys.path)
        with tempfile.TemporaryDirectory(prefix="mirror-package-") as directory, as_our_errors(self.url):
            self._session.addArtifacts(str(package(Path(directory), f"mirror-{code_digest()}.zip")), pyfile=True)
        sys.path[:] = paths  # the client put the zip there, in front of what it was made of
        self._package_sent = True


@contextmanager
def open_server_session(master: str, installation: str, tag: str, say: SayLines = write_lines) -> Iterator[ConnectSession]:
    """The installation's session on a server; it stays when the block ends, for its Python workers are warm.

    What an earlier job with this tag still does there is interrupted first. `say` takes the workers' lines. Raises ConfigurationError, and
    what `as_our_errors` raises.
    """
    url = connect_url(master)
    if not url.use_ssl and (stranger := stranger_on(url.host, url.port)):
        raise SparkServerRefused.for_its_owner(url.address, stranger)
    _check_client()
    session = _open(url, installation)
    try:
        with as_our_errors(url):
            if session.interruptTag(tag):
                log.warning("What a run before this one still did on the Spark server at %s was interrupted.", url.address)
            session.addTag(tag)
            session.conf.set("spark.connect.progress.reportInterval", _PROGRESS_INTERVAL)
        log.info("Spark %s runs on the Spark server at %s, session %s.", session.version, url.address, session.session_id)
        yield ConnectSession(url, session, tag, say)
    finally:
        _close(session)


@contextmanager
def flow_session(flow: Flow, step: str, by: str, master: str, say: SayLines = write_lines) -> Iterator[ConnectSession]:
    """The session in which a step of a flow runs.

    What an earlier run of the step `by` the same (a DAG, a command by hand) still does is interrupted: its task is gone. Others go on, also
    those of an installation that has no name either and mirrors into another cluster. A copy by one plan is by no one: this one would
    fence the lanes of an earlier one anyway. Raises as `open_server_session`.
    """
    servers = flow.client("target", "admin")["bootstrap.servers"]
    tag = f"mirror {step} {flow.name} into {servers}{' by ' * bool(by)}{by}".replace(",", " ")  # Spark takes no comma
    with open_server_session(master, flow.value("mirror.installation"), tag, say) as session:
        yield session


def _open(url: ConnectUrl, installation: str) -> Any:
    """A session that answers. The server remembers sessions that it closed, and refuses their ids."""
    from pyspark import __version__ as pyspark_version

    for number in range(_MOST_SESSIONS):
        session = _session(url.with_session(session_id(installation, code_digest(), number)))
        try:
            with as_our_errors(url, _SessionClosed):
                version = session.version
            if version.split(".")[:2] != pyspark_version.split(".")[:2]:
                raise SparkServerRefused.for_its_version(url.address, "Spark", version, pyspark_version)
        except _SessionClosed:
            _close(session)
            continue
        except BaseException:
            _close(session)
            raise
        return session
    raise SparkServerUnavailable(url.address, f"it closed {_MOST_SESSIONS} sessions of this installation and remembers their ids")


def _session(url: str) -> Any:
    """pyspark's session on a channel of its own, which ends by `_close` alone.

    pyspark's own closes its channel once more when it is collected, at Python's exit too. There gRPC may wait for ever for a lock that one
    of its threads had when Python stopped it.
    """
    from pyspark.sql.connect.session import SparkSession

    class Session(SparkSession):
        """Without what pyspark does when the last reference is gone."""

        def __del__(self) -> None:
            pass

    session = Session(_channel(url))
    session.client.set_retry_policies([_retry_policy()])
    return session


def _close(session: Any) -> None:
    with suppress(Exception):
        session.client.close()


def _retry_policy() -> Any:
    """pyspark's own for less long, and not for a server whose certificate is refused: it has no other one the next time."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    class PolicyOfHandshakes(DefaultPolicy):
        """What pyspark asks whether to try again."""

        def can_retry(self, e: BaseException) -> bool:
            return not is_handshake_failure(str(e)) and bool(super().can_retry(e))

    return PolicyOfHandshakes(max_retries=_MOST_RETRIES, max_backoff=_MOST_BACKOFF_MS)


class _SessionClosed(Exception):
    """The server closed the session of this id, for it was idle or somebody ended it."""


def _channel(url: str) -> Any:
    """pyspark's own channel, but without TLS, which is to this host: each call looks first whose port it is, and then sends the token."""
    import grpc
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    class TokenForOurOwn(grpc.AuthMetadataPlugin):  # type: ignore[misc]
        """What gRPC asks before each call for the token, on a connection that is open. The server may have ended since the last one."""

        def __init__(self, host: str, port: int, token: str | None) -> None:
            self._host, self._port = host, port
            self._metadata = (("authorization", f"Bearer {token}"),) if token is not None else ()

        def __call__(self, _context: Any, callback: Any) -> None:
            stranger = stranger_on(self._host, self._port)
            callback(*(((), PermissionError(f"its port is held by {stranger}")) if stranger else (self._metadata, None)))

    class LoopbackChannel(DefaultChannelBuilder):
        """The builder of pyspark's client, which asks it for a channel."""

        def toChannel(self) -> Any:  # noqa: N802 — pyspark's name
            if self.use_ssl:
                return super().toChannel()
            host, _, port = self.endpoint.rpartition(":")
            token = grpc.metadata_call_credentials(TokenForOurOwn(host.strip("[]"), int(port), self.token))
            return self._secure_channel(self.endpoint, grpc.composite_channel_credentials(grpc.local_channel_credentials(), token))

    return LoopbackChannel(url, list(_KEEPALIVE.items()))


def _check_client() -> None:
    """Raises ConfigurationError where pyspark's client lacks a package. Its log, which would hold whole requests, is silent."""
    try:
        from pyspark import cloudpickle
        from pyspark.sql.connect.logging import logger
        from pyspark.sql.connect.session import SparkSession  # noqa: F401 — it imports all that the client needs
    except ImportError as error:
        needs = f"a Spark Connect server needs more packages: pip install 'airflow-kafka-mirror[connect]' ({first_line(error)})"
        raise ConfigurationError([Problem("mirror.spark.connection", needs)]) from None
    logger.setLevel(logging.CRITICAL)
    cloudpickle.register_pickle_by_value(worker)  # type: ignore[no-untyped-call]


def shares_of(tasks: Sequence[bytes], slices: int, address: str) -> list[Share]:
    """The tasks in `slices` shares that keep their order, none of them empty; in more, where one would be too large for a message.

    Raises SparkServerRefused where a single task is.
    """
    largest = max(map(len, tasks), default=0)
    if largest > LARGEST_TASK_BYTES:
        raise SparkServerRefused.for_a_task_too_large(address, largest, LARGEST_TASK_BYTES)
    count = min(slices, len(tasks))
    bounds = [len(tasks) * number // count for number in range(count + 1)] if count else [0]
    return [share for start, end in pairwise(bounds) for share in _divide(list(tasks[start:end]))]


def count_for_message(shares: Iterable[Share]) -> int:
    """How many of the shares, from the first on, one message takes: at least one."""
    count = size = 0
    for share in shares:
        size += _size(share)
        if count and size > MESSAGE_BYTES:
            break
        count += 1
    return count


def _divide(share: Share) -> list[Share]:
    if len(share) == 1 or _size(share) <= MESSAGE_BYTES:
        return [share]
    middle = len(share) // 2
    return [*_divide(share[:middle]), *_divide(share[middle:])]


def _size(share: Share) -> int:
    return sum(map(len, share))
