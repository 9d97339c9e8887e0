"""What the logs of a copy's tasks tell: of a run that went well, of one that was retried, and of a red one.

They stand in the handbook, where an engineer on call learns to read them; MIRROR_WRITE_LOGS=1 writes them there.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from services.kafka import KafkaCluster
from services.oracle import Record
from services.waiting import eventually
from tests.airflow.scheduler.in_airflow import InAirflow
from tests.airflow.scheduler.task_logs import PAGE, TRACEBACK, Line, RunLogs, logs_of, read, wordings, write

GOOD, RETRIED, RED = "A run that went well", "A run whose target was cut off for a while", "A red run"
LANES = 2
RUN = r"east-to-west\.copy / manual__\S+"
WORK = r"3 partitions of 1 topic with work, \d[\d,]* offsets in all\."
PLANNED = [
    rf"INFO east->west: run {RUN} plans, try 1\.",
    r"INFO orders: 3 partitions, \d[\d,]* offsets: \d from \d+ to \d+ \((?:behind|first sight)\), ",
    r"INFO Planned at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, ",
    f"INFO {WORK}",
]
BEGUN = [
    rf"INFO east->west: run {RUN} copies, try 1\. {WORK}",
    r"INFO east->west: Spark \S+ runs on local\S* as local-\d+\.",
    r"INFO Lanes with work: 2; ",
    r"INFO lane \d begins: \d partitions?, [\d,]+ offsets?: orders-\d \[\d+, \d+\) .*; for \d+ s at most, the flow's throttle is "
    r"6,000 bytes a second\. It has fenced earlier attempts \(mirror\.\S+\) and read its ledger mm2-ledger\.east\.internal-\d up to "
    r"\d+; watermarks: orders-\d",
]
REACHED = (
    r"INFO lane \d ended: [\d,]+ records?, [\d,]+ bytes in \d+ transactions?, [\d.]+ s; batches of the source: \d+ forwarded, \d+ joined, "
    r"0 rewritten; all that was planned is reached\."
)
WAYS = r"INFO Batches of the source: \d+ forwarded, \d+ joined, 0 rewritten\."
COPIED = r"INFO \d lanes? copied [\d,]+ records?, [\d,]+ bytes in \d+ transactions?; the slowest took [\d.]+ s\."
SYNCED = r"INFO \d+ offset syncs were written\."
AT_ENDS = r"INFO The ledger has 3 of 3 partitions of 1 topic at their planned ends\."
DONE = [
    rf"INFO east->west: run {RUN}: done: its lanes copied {{}} records, [\d,]+ bytes; all that was planned is reached\.",
    WAYS,
    SYNCED,
]
FOREIGN = (
    r"orders-1: the remote partition east\.orders-1@\d+ holds records beyond what this mirror wrote \(it ends at \d+\)\. "
    r"Nothing was written to it\."
)
UNEXPLAINED = [
    "ERROR UnexplainedTarget: " + FOREIGN,
    r"ERROR Lost: No, nothing was written\.",
    r"ERROR Next: Find out who writes to east\.orders, and stop it ",
    r"ERROR     python -m kafka_mirror decide accept-records --flow 'east->west' --topic orders --partition 1 --reason ",
]
EXPECTED = {
    GOOD: {
        "plan": PLANNED,
        "copy": [*BEGUN, REACHED, REACHED, COPIED, AT_ENDS, *(line.format("600") for line in DONE)],
    },
    RETRIED: {
        "plan": PLANNED,
        "copy": [
            *BEGUN,
            r"WARNING lane \d: attempt 1 of 4 failed, the next begins in 0\.5 s: ClusterUnreachable: Cluster 'west' did not answer at \S+ "
            r"within 4 s: Connecting to '\S+' failed: Connection refused",
            r"INFO lane \d has fenced earlier attempts .*; watermarks: orders-\d@\d+ -> east\.orders@\d+",
            REACHED,
            COPIED,
            AT_ENDS,
            *(line.format("1,200") for line in DONE),
        ],
    },
    RED: {
        "plan": PLANNED,
        "copy": [
            *BEGUN,
            r"WARNING lane \d: orders-1 is left out at \d+, the lane's others go on: UnexplainedTarget: " + FOREIGN,
            r"WARNING lane \d ended: 0 records, 0 bytes in 0 transactions, .*; left: \d+ offsets \(orders-1@\d+ of \d+\); "
            r"1 partition left out\.",
            COPIED,
            r"INFO orders is behind: orders-1@\d+ of \d+\.",
            r"INFO The ledger has 2 of 3 partitions of 1 topic at their planned ends\.",
            rf"INFO east->west: run {RUN}: failed: its lanes copied \d+ records, [\d,]+ bytes; \d+ offsets of what was planned are left\.",
            SYNCED,
            r"INFO What failed follows, each with what to do next\. .* python -m kafka_mirror status --flow 'east->west'\.",
            *UNEXPLAINED,
            r"ERROR east->west: \d+ records were copied, and this failed: each error above has its next step\.",
        ],
    },
}
SHOWN = {GOOD: tuple(EXPECTED[GOOD]), RED: ("copy",)}
"""Whose logs of a run stand in the handbook: those that say something else than those of the run before."""
AIRFLOWS_OWN = 16
"""So many lines of a task's log are not the mirror's, at most: where the log is, groups, the DAG's file, XCom, the command of Spark."""
NOISE = re.compile(r"jdk\.incubator|NativeCodeLoader|log4j|SparkContext|Spark log level|CONFWARN")
PAYLOAD = "a payload that nobody may read"


def test_the_logs_of_a_run_tell_what_happened(flow: Callable[[str], InAirflow], west: KafkaCluster) -> None:
    logged = flow("logged")
    topic = logged.create_topic("orders")
    logs = {RETRIED: retried(logged, topic, west), GOOD: good(logged, topic), RED: red(logged, topic)}

    for example, found in logs.items():
        for task, expected in EXPECTED[example].items():
            said = [line for name, lines in found.ours.items() if name.partition(",")[0] == task for line in lines]
            assert missing(expected, said) is None, f"{example}, {task}: {texts(said)}"
        for task, others in found.others.items():
            assert len(others) <= AIRFLOWS_OWN, (example, task, others)
            every = [*others, *texts(found.ours[task])]
            assert [text for text in every if NOISE.search(text) or PAYLOAD in text or text.endswith(TRACEBACK)] == [], (example, task)
        client = [line for lines in found.ours.values() for line in lines if "librdkafka" in line.text]
        assert len(client) <= (40 if example == RETRIED else 0), texts(client)
    if os.environ.get("MIRROR_WRITE_LOGS"):
        write({example: shown(example, logs[example].ours) for example in SHOWN})
    written = read()
    for example in SHOWN:
        for task, expected in shown(example, EXPECTED[example]).items():
            known = [line for name, lines in written[example].items() if name.partition(",")[0] == task for line in lines]
            assert missing(expected, known) is None, f"{PAGE.name}: {example}, {task}"
            said = wordings(logs[example].ours[task])
            assert wordings(known) == said, f"{PAGE.name} is out of date: write it anew with MIRROR_WRITE_LOGS=1"


def shown(example: str, of_tasks: Mapping[str, Any]) -> dict[str, Any]:
    """What the handbook has of a run."""
    return {name: said for name, said in of_tasks.items() if name.partition(",")[0] in SHOWN[example]}


def good(logged: InAirflow, topic: str) -> RunLogs:
    logged.produce(topic, 600, seed=2)
    run = logged.api.trigger(logged.dag)
    assert logged.ended(run) == "success"
    return logs_of(logged, run)


def retried(logged: InAirflow, topic: str, west: KafkaCluster) -> RunLogs:
    """The network to the target is cut in the middle of the copy, when every lane has copied something, until one has tried again."""
    logged.produce(topic, 1_200, seed=1)
    run = logged.api.trigger(logged.dag)
    eventually(lambda: logged.has_begun(topic, LANES), "the first records of every lane")
    west.network.refuse()
    try:
        eventually(lambda: "attempt 1 of 4 failed" in logged.api.log(logged.dag, run, "copy"), "a lane's next attempt")
    finally:
        west.network.heal()
    assert logged.ended(run) == "success"
    assert logged.assert_mirrored(topic) == 1_200
    return logs_of(logged, run)


def red(logged: InAirflow, topic: str) -> RunLogs:
    """Somebody else has written to the remote topic."""
    foreign = Record(value=PAYLOAD.encode(), key=PAYLOAD.encode(), headers=((PAYLOAD, PAYLOAD.encode()),), partition=1)
    logged.oracle.produce_records(logged.pair.target_bootstrap, logged.pair.remote(topic), [foreign])
    logged.oracle.produce_records(logged.pair.source_bootstrap, topic, [Record(value=PAYLOAD.encode(), partition=1)])
    logged.produce(topic, 100, seed=3)
    run = logged.api.trigger(logged.dag)
    assert logged.ended(run) == "failed"
    return logs_of(logged, run)


def missing(expected: Sequence[str], lines: Iterable[Line]) -> str | None:
    """The first of the expected patterns that no line has behind those of the patterns before it; None if all are there, in order."""
    left = iter(texts(lines))
    return next((pattern for pattern in expected if not any(re.match(pattern, text) for text in left)), None)


def texts(lines: Iterable[Line]) -> list[str]:
    return [f"{line.level} {line.text}" for line in lines]
