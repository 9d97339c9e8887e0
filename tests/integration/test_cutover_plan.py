"""`cutover plan` on real brokers: a wave with everything against it at once, and one that may move."""

import json

import pytest

from mirror.__main__ import main
from services.oracle import Record
from tests.integration.consumers import member, read, set_offsets
from tests.waiting import ADMIN_TIMEOUT_MS


@pytest.fixture
def mirror(pair, capsys):
    """The command line on the pair's flow: exit code and the flow's part of the document."""
    file = pair.properties(extra={"source->target.mirror.lanes": "4", "admin.timeout.ms": ADMIN_TIMEOUT_MS})

    def run(*arguments):
        code = main(["--config", str(file), *arguments, "--flow", pair.flow, "--json"])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow

    return run


def findings(flow, kind):
    """Code and message of the findings of one kind."""
    return {each["code"]: each["message"] for each in flow["result"]["findings"] if each["kind"] == kind}


def test_a_wave_that_is_copied_and_read_to_its_end_may_move(pair, oracle, topic, mirror):
    group = f"billing-{pair.mark}"
    with member(pair.source_bootstrap, group, topic) as consumer:
        read(consumer, 60)
    assert mirror("copy", "--without-spark")[0] == 0
    code, flow = mirror("cutover", "plan", "--topics", topic, "--groups", f"billing-{pair.mark}", "--max-lag", "0")
    assert (code, flow["state"], findings(flow, "stop")) == (0, "done", {}), flow["result"]["findings"]
    result = flow["result"]
    assert (result["may_move"], result["topics"], [each["lag"] for each in result["partitions"]]) == (True, [topic], [0, 0])
    (of_group,) = result["groups"]
    assert (of_group["group"], {each["answer"] for each in of_group["positions"]}, of_group["members"]) == (group, {"exact"}, [])


def test_everything_against_a_wave_is_said_at_once(pair, oracle, topic, mirror):
    other, unread, gone = pair.topic("payments"), pair.topic("unread"), "not-replicated-" + pair.mark[::-1]
    for name in (other, unread, gone):
        oracle.create_topic(pair.source_bootstrap, name, 1)
    oracle.produce(pair.source_bootstrap, other, 10, seed=2)
    early, reader = f"late-{pair.mark}", f"reader-{pair.mark}"
    assert mirror("copy", "--without-spark")[0] == 0
    set_offsets(pair.source_bootstrap, early, {(topic, 0): 1, (other, 0): 1})
    oracle.produce(pair.source_bootstrap, topic, 30, seed=3)
    oracle.open_transaction(pair.source_bootstrap, topic, f"tx-{pair.mark}", [Record(b"k", b"v")])
    oracle.alter_configs(pair.source_bootstrap, topic, {"segment.bytes": "2097152"})
    names = f"{topic},{unread},{gone},nothing-at-all"
    try:
        with member(pair.source_bootstrap, reader, topic) as here, member(pair.target_bootstrap, reader, pair.remote(topic)):
            read(here, 60)
            code, flow = mirror("cutover", "plan", "--topics", names, "--max-lag", "5")
    finally:
        oracle.end_transaction(f"tx-{pair.mark}", "abort")
    print(json.dumps(flow["result"]["findings"], indent=1))
    assert code == 1
