"""What a Spark Connect server answers that cannot serve a job: by gRPC on 127.0.0.1, with Spark's own messages, without Spark."""

import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pyspark
import pytest
from pyspark.sql.connect.client import SparkConnectClient
from pyspark.sql.connect.proto import base_pb2 as messages
from pyspark.sql.connect.proto import base_pb2_grpc as service

from kafka_mirror.errors import SparkServerRefused, SparkServerUnavailable
from kafka_mirror.spark import connect
from kafka_mirror.spark.connect import open_server_session

VERSION, JOB = "spark_version", "schema"
"""What a client asks first of a server, and of a job."""
Refusal = tuple[grpc.StatusCode, str]


class Answers(service.SparkConnectServiceServicer):  # type: ignore[misc]
    """A server of this version that runs nothing; `refusals` are how it answers a call of this name, one after the other."""

    def __init__(self) -> None:
        self.version = pyspark.__version__
        self.refusals: dict[str, list[Refusal]] = {}
        self.seconds = 0.0
        self.sessions: list[str] = []

    def AnalyzePlan(self, request: Any, context: Any) -> Any:
        self.sessions.append(request.session_id)
        time.sleep(self.seconds)
        self._refuse(request.WhichOneof("analyze"), context)
        version = messages.AnalyzePlanResponse.SparkVersion(version=self.version)
        return messages.AnalyzePlanResponse(session_id=request.session_id, spark_version=version)

    def Interrupt(self, request: Any, _context: Any) -> Any:
        return messages.InterruptResponse(session_id=request.session_id)

    def Config(self, request: Any, _context: Any) -> Any:
        operation = request.operation
        asked = getattr(operation, operation.WhichOneof("op_type"))
        pairs = list(asked.pairs) if operation.HasField("set") else [messages.KeyValue(key=key, value="-1") for key in asked.keys]
        return messages.ConfigResponse(session_id=request.session_id, pairs=pairs)

    def _refuse(self, call: str, context: Any) -> None:
        if self.refusals.get(call):
            context.abort(*self.refusals[call].pop(0))


@pytest.fixture
def server() -> Iterator[tuple[Answers, str]]:
    """The server, and what --master takes."""
    answers = Answers()
    with ThreadPoolExecutor(4) as threads:
        running = grpc.server(threads)
        service.add_SparkConnectServiceServicer_to_server(answers, running)
        port = running.add_insecure_port("127.0.0.1:0")
        running.start()
        yield answers, f"sc://127.0.0.1:{port}"
        running.stop(0).wait()


@pytest.fixture(autouse=True)
def soon_tired(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client asks twice more, at once."""
    monkeypatch.setattr(connect, "_MOST_RETRIES", 2)
    monkeypatch.setattr(connect, "_MOST_BACKOFF_MS", 10)


def cores(master: str) -> int:
    with open_server_session(master, "", "a tag") as session:
        return session.cores


@pytest.mark.parametrize("version", ["3.5.1", "4.1.0", "5.0.0"])
def test_a_server_of_another_version_is_refused_with_both_versions(server: tuple[Answers, str], version: str) -> None:
    answers, master = server
    answers.version = version
    with pytest.raises(SparkServerRefused, match=f"runs Spark {version}, and this is Spark {pyspark.__version__}. Nothing ran there"):
        cores(master)


@pytest.mark.parametrize("call", [VERSION, JOB])
def test_a_server_without_room_is_one_error_that_the_next_try_may_mend(server: tuple[Answers, str], call: str) -> None:
    answers, master = server
    answers.refusals[call] = [(grpc.StatusCode.RESOURCE_EXHAUSTED, "all threads are busy")] * 20
    with pytest.raises(SparkServerUnavailable, match=r"has no room.*all threads are busy") as failure:
        cores(master)
    assert failure.value.retriable


def test_a_server_that_is_slow_or_does_not_answer_once_is_waited_for(server: tuple[Answers, str]) -> None:
    answers, master = server
    answers.seconds = 1.0
    answers.refusals[VERSION] = [(grpc.StatusCode.UNAVAILABLE, "not yet")]
    with open_server_session(master, "", "a tag"):
        assert len(answers.sessions) == 2


def test_a_session_that_the_server_closed_is_followed_by_the_next_one(server: tuple[Answers, str]) -> None:
    answers, master = server
    answers.refusals[VERSION] = [(grpc.StatusCode.INTERNAL, "[INVALID_HANDLE.SESSION_CLOSED] closed")] * 2
    with open_server_session(master, "", "a tag"):
        assert len(set(answers.sessions)) == 3


def test_a_sessions_channel_is_closed_once_and_not_again_when_the_session_is_collected(
    server: tuple[Answers, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, master = server
    closed: list[str] = []
    monkeypatch.setattr(SparkConnectClient, "close", lambda client: closed.append(client._session_id))
    answers.refusals[VERSION] = [(grpc.StatusCode.INTERNAL, "[INVALID_HANDLE.SESSION_CLOSED] closed")]
    with open_server_session(master, "", "a tag") as session:
        opened = {session._session.session_id, *answers.sessions}
    del session
    gc.collect()
    assert sorted(closed) == sorted(opened)

    answers.version = "3.5.1"
    with pytest.raises(SparkServerRefused):
        cores(master)
    gc.collect()
    assert len(closed) == len(opened) + 1


@pytest.fixture
def of_plan(server: tuple[Answers, str]) -> Callable[[str], None]:
    """Opens a session, whose first job is refused so."""
    answers, master = server

    def run(text: str) -> None:
        answers.refusals[JOB] = [(grpc.StatusCode.INTERNAL, text)] * 20
        cores(master)

    return run


@pytest.mark.parametrize(
    "text", ["[INVALID_HANDLE.SESSION_CHANGED] x", "Cannot call methods on a stopped SparkContext.", "Java heap space"]
)
def test_a_server_that_was_restarted_or_whose_spark_ended_is_unavailable(of_plan: Callable[[str], None], text: str) -> None:
    with pytest.raises(SparkServerUnavailable) as failure:
        of_plan(text)
    assert text.rstrip(".") in str(failure.value)
