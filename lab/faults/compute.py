"""Faults of the processes that copy: killed or frozen, two runs at once, an old plan copied again."""

import time

from lab.faults.faults import Fault, Round, await_end


def kill(now: Round) -> bool:
    """kill -9 of everything at once, as a host that dies."""
    copy = now.site.spark_copy()
    hit = now.await_moment(copy)
    copy.kill()
    return hit


def freeze(now: Round) -> bool:
    """Every process is stopped, another run takes over and finishes, and the zombie wakes up."""
    copy = now.site.spark_copy()
    hit = now.await_moment(copy)
    copy.freeze()
    now.add_cleanup(copy.kill)
    now.site.catch_up()
    copy.thaw()
    await_end(copy)
    return hit


def freeze_past_timeout(now: Round) -> bool:
    """No other run takes over: the broker aborts the zombie's transaction for its age, and then the zombie continues with it."""
    copy = now.site.spark_copy()
    hit = now.await_moment(copy)
    copy.freeze()
    now.add_cleanup(copy.kill)
    time.sleep(now.site.mirroring.flow.value("mirror.transaction.timeout.ms") / 1000 + 2)
    copy.thaw()
    await_end(copy)
    return hit


def kill_workers(now: Round) -> bool:
    """The Python workers die; Spark starts their tasks again."""
    copy = now.site.spark_copy()
    hit = now.await_moment(copy)
    killed = copy.kill_workers()
    await_end(copy)
    return hit and killed > 0


def kill_driver(now: Round) -> bool:
    """The JVM dies; its workers go on for a while, and the next run meets them."""
    copy = now.site.spark_copy()
    hit = now.await_moment(copy)
    killed = copy.kill_driver()
    now.site.catch_up()
    copy.kill()
    return hit and killed > 0


def two_copies(now: Round) -> bool:
    """A second run of the same plan, somewhere into the first: Airflow's retry of a task whose first attempt still runs."""
    planned = now.site.plan()
    first = now.site.copy_here(planned)
    hit = now.await_moment(first)
    second = now.site.copy_here(planned)
    await_end(first)
    await_end(second)
    return hit


def stale_plan(now: Round) -> bool:
    """A plan of an earlier run is copied again beside a run of today, as when an old task is cleared."""
    old = now.chance.choice(now.site.plans[:-1] or now.site.plans) if now.site.plans else None
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    again = now.site.copy_here(old)
    await_end(copy)
    await_end(again)
    if old is not None:
        await_end(now.site.copy_here(old))  # once more, when everything that it plans is long done
    return hit and old is not None


COMPUTE = (
    Fault("kill", "kill -9 of the Spark job", kill, spark=True),
    Fault("freeze", "SIGSTOP of the Spark job, overtaken, thawed", freeze, spark=True),
    Fault("zombie", "SIGSTOP past the transaction timeout, thawed", freeze_past_timeout, spark=True, own_clusters=True),
    Fault("worker", "kill -9 of Spark's Python workers", kill_workers, spark=True),
    Fault("driver", "kill -9 of Spark's JVM", kill_driver, spark=True),
    Fault("two", "two copies at once", two_copies),
    Fault("stale-plan", "an old plan copied again", stale_plan),
)
