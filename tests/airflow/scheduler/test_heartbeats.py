"""Hearts that beat in the triggerer."""

import time
from itertools import pairwise

from kafka_mirror.formats.mm2 import decode_heartbeat
from services.airflow import AirflowServices
from services.flows import ClusterPair
from services.oracle import Oracle
from services.waiting import eventually


def gaps_of(beats: list[int]) -> list[int]:
    """How many seconds each beat is behind the one before; a machine that stands still may miss one."""
    return [later // 1000 - earlier // 1000 for earlier, later in pairwise(beats)]


def test_the_triggerer_beats_every_second_from_one_run_into_the_next_until_it_is_stopped(
    airflow: AirflowServices, pairs: dict[str, ClusterPair], oracle: Oracle
) -> None:
    pair, api = pairs["beating"], airflow.api()
    dag = f"{pair.source}-to-{pair.target}.heartbeats"

    def beats() -> list[int]:
        if oracle.topic_id(pair.target_bootstrap, "heartbeats") is None:
            return []
        records = oracle.dump(pair.target_bootstrap, "heartbeats")
        found = [decode_heartbeat(record.key, record.value) for record in records]
        assert {(beat.source, beat.target) for beat in found} <= {(pair.source, pair.target)}
        assert [beat.timestamp for beat in found] == [record.timestamp for record in records]
        return [beat.timestamp for beat in found]

    api.wait_for_dags([dag])
    api.unpause(dag)
    eventually(lambda: len(beats()) > 3, "the first beats")
    # There are two when the clock has just passed five full minutes, and the first of them may not have come to beat.
    begun = [run["dag_run_id"] for run in reversed(api.runs(dag))]
    api.trigger(dag)
    assert {api.wait_for_run(dag, run)["state"] for run in begun} == {"success"}, "each ends when the next run beats"
    done = next(result for result in (api.xcom(dag, run, "heartbeats") for run in begun) if result["beats"])
    eventually(lambda: beats()[-1] > done["last"] + 3000 and gaps_of(beats()).count(1) > 5, "a beat every second, more than five times")

    found = beats()
    gaps = gaps_of(found)
    assert min(gaps) == 1, "no second has two beats"
    assert found[done["beats"] - 1] == done["last"]
    handover = gaps.pop(done["beats"] - 1)
    assert handover < 4 + max(gaps), "from one run into the next; a machine that stands still does so for both"
    api.pause(dag)
    for run in api.runs(dag):
        if run["state"] in ("queued", "running"):
            api.fail(dag, run["dag_run_id"])
    eventually(lambda: time.time() * 1000 > beats()[-1] + 3000, "the end of the beats")
    api.close()
