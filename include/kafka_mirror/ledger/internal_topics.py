"""The mirror's own topics as a plan finds them, or begins them: the control topic and the ledger."""

import socket
from datetime import UTC, datetime

from kafka_mirror.config import Flow
from kafka_mirror.errors import ControlMissing, LedgerMissing
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.clusters import ledger_of
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import LEDGER, Decision
from kafka_mirror.ledger.current_topics import check_ledger_name
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.topic import LedgerView


def read_decisions(flow: Flow, control: Control, dry_run: bool) -> Decisions:
    """What people decided. Creates the control topic where there is none, unless in a dry run."""
    if control.exists():
        return Decisions(control.read())
    if not dry_run:
        control.create(flow.value("mirror.ledger.replication.factor"))
    return Decisions()


def read_ledger(flow: Flow, target: Cluster, control: Control, decisions: Decisions, dry_run: bool) -> tuple[str, LedgerView]:
    """The ledger's topic id ('': a dry run found none) and what it says. Creates it where there is none, unless in a dry run.

    The control topic keeps the id, so that a ledger that was lost, or whose name follows another separator now, is not silently begun
    again: that raises LedgerMissing. A ledger that holds partitions without the control topic naming it says that decisions were lost: that
    raises ControlMissing.
    """
    ledger = ledger_of(flow, target)
    noted_id, ledger_id = decisions.ledger_id, ledger.topic_id()
    if noted_id is not None and noted_id != ledger_id and not decisions.begins_ledger(ledger_id):
        raise LedgerMissing(ledger.topic, noted_id, ledger_id)
    if noted_id is None and ledger_id is None:
        check_ledger_name(ledger.topic, flow.source, target, decisions)
    view = LedgerView()
    if ledger_id is not None:
        view = ledger.read()
        if noted_id is None and view.records:
            raise ControlMissing(control.topic, ledger.topic, len(view.records))
    elif dry_run:
        return "", view
    else:
        ledger_id = ledger.create(flow.value("mirror.ledger.replication.factor"))
    if not view.records and not view.unreadable:
        ledger.check_readable()
    if noted_id != ledger_id and not dry_run:
        control.write(Decision(LEDGER, f"plan@{socket.gethostname()}", datetime.now(UTC), "the ledger of this flow", ledger_id=ledger_id))
    return ledger_id, view
