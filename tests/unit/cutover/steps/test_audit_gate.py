"""The audit gate asked again: whatever makes its evidence count no more is named, so that the gate runs once more."""

from types import SimpleNamespace

import pytest

from kafka_mirror.cutover.steps import audit_gate
from kafka_mirror.cutover.steps.audit_gate import AUDITED, PartitionEnds, make_evidence, write_evidence
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.wave_notes import NotesInMemory, step_options

TP = TopicPartition("parcels", 3)
COPIED = PartitionEnds(0, 40, 40, 44, "topic ids, no decision")


@pytest.mark.parametrize(
    ("now", "full_audit", "is_named"),
    [
        (COPIED, False, False),
        (PartitionEnds(0, 40, 40, 44, "topic ids, a restart"), False, True),
        (PartitionEnds(0, 41, 41, 45, COPIED.generation), False, True),
        (PartitionEnds(0, 41, 40, 44, COPIED.generation), False, True),
        (COPIED, True, True),
    ],
)
def test_evidence_that_counts_no_more_is_always_named(monkeypatch, now, full_audit, is_named):
    notes = NotesInMemory()
    evidence = make_evidence({TP: SimpleNamespace(start=12)}, {TP: 12}, {TP: COPIED})
    notes.keep("audit-gate", {AUDITED: write_evidence(evidence)})
    monkeypatch.setattr(audit_gate, "_ends", lambda *_: ({TP: now}, []))
    move = SimpleNamespace(source_partitions=lambda: [TP], flow=SimpleNamespace(name="east->west", source="east"))
    findings = audit_gate.holds(move, notes, step_options(full_audit=full_audit))
    assert [finding.topic for finding in findings][:1] == ["parcels"] * is_named
