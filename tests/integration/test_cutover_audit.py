"""The audit gate of a wave on real brokers: any difference stops it, and what was proven is not read again."""

import pytest

from kafka_mirror.cutover.steps import audit_gate
from kafka_mirror.cutover.steps.audit_gate import AUDITED
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import AUDIT_GATE, DONE, RECORDS, STOPPED
from services.oracle import Record
from tests.integration.planter import SOURCE
from tests.wave_notes import NotesInMemory, step_options


@pytest.fixture
def gate(mirroring, topic):
    """The gate of a wave of the topic, which is copied to its end."""
    mirroring.refresh()
    assert not mirroring.copy().errors
    return Gate(mirroring, Wave((topic,)))


class Gate:
    """Runs the step, and keeps its facts as a runner does."""

    def __init__(self, mirroring, wave):
        self.flow, self.copy, self.wave, self.notes = mirroring.flow, mirroring.copy, wave, NotesInMemory()

    def step(self, **options):
        with open_move(self.flow, self.wave) as move:
            outcome = audit_gate.step(move, self.notes, step_options(**options))
        if outcome.facts and outcome.state == DONE:
            self.notes.keep(AUDIT_GATE, {**self.notes.read_step(AUDIT_GATE), **outcome.facts})
        return outcome

    def ahead(self, **options):
        with open_move(self.flow, self.wave) as move:
            return audit_gate.audit_ahead(move, self.notes, step_options(**options))

    def holds(self):
        with open_move(self.flow, self.wave) as move:
            return [finding.code for finding in audit_gate.find_audit_breaks(move, self.notes, step_options())]


def codes(outcome):
    return [(finding.kind, finding.code) for finding in outcome.findings]


def audits(monkeypatch):
    """From which offsets each audit that ran began."""
    begun, run = [], audit_gate.audit
    monkeypatch.setattr(audit_gate, "audit", lambda *args, **options: (begun.append(options["starts"]), run(*args, **options))[1])
    return begun


def test_a_wave_that_is_equal_passes_and_only_what_came_since_is_read_again(gate, oracle, pair, topic, monkeypatch):
    begun = audits(monkeypatch)
    dry = gate.step(dry_run=True)
    assert (dry.state, dry.facts, dry.lines, gate.notes.steps) == (DONE, {}, ("Up to 60 records would be compared.",), {})
    first = gate.step()
    assert (first.state, first.findings, first.facts[RECORDS]) == (DONE, (), 60)
    again = gate.step()
    assert (again.state, again.facts, begun) == (DONE, first.facts, [{}]), "unchanged ends"
    assert gate.holds() == []
    came = oracle.produce(pair.source_bootstrap, topic, 20, seed=2, transactions=7)["committed"]
    assert set(gate.holds()) == {"NotCopiedToTheEnd", "AuditOutdated"}
    late = gate.step()
    assert (late.state, codes(late)) == (STOPPED, [("stop", "NotCopiedToTheEnd")])
    assert not gate.copy().errors
    more = gate.step()
    assert (more.state, more.facts["new_records"], more.facts[RECORDS]) == (DONE, came, 60 + came)
    assert {tp.partition: start for tp, start in begun[-1].items()} == {
        int(number): row[1] for number, row in first.facts[AUDITED][topic].items()
    }
    assert gate.step(full_audit=True).facts == more.facts, "it was audited from the beginning"
    assert len(begun) == 2


def test_an_audit_ahead_of_the_fence_leaves_the_gate_only_the_rest(gate, oracle, pair, topic):
    oracle.produce(pair.source_bootstrap, topic, 20, seed=2)
    assert gate.ahead(dry_run=True).state == DONE
    assert gate.notes.steps == {}
    ahead = gate.ahead()
    assert (ahead.state, ahead.facts[RECORDS]) == (DONE, 60)
    assert not gate.copy().errors
    assert gate.step().facts["new_records"] == 20


def foreign(oracle, pair, topic):
    oracle.produce_records(pair.target_bootstrap, pair.remote(topic), [Record(b"k", b"not ours")])


@pytest.mark.parametrize("is_audited", [False, True])
def test_a_foreign_record_behind_the_copy_stops_the_wave_also_behind_a_good_audit(is_audited, gate, oracle, pair, topic):
    if is_audited:
        assert gate.step().state == DONE
    foreign(oracle, pair, topic)
    if is_audited:
        assert gate.holds() == ["AuditOutdated"]
    stopped = gate.step()
    assert (stopped.state, codes(stopped), stopped.facts) == (STOPPED, [("stop", "AuditDifferent")], {})
    (finding,) = stopped.findings
    assert f"{topic}-0: foreign record" in finding.message
    assert any("cutover rollback" in command for command in finding.error.commands)


@pytest.mark.parametrize(
    ("kind", "target"),
    [("missing record", [*SOURCE[:20], *SOURCE[21:50]]), ("doubled record", [*SOURCE[:21], *SOURCE[20:50]])],
)
def test_a_record_that_is_missing_or_twice_on_the_target_stops_the_wave(kind, target, mirroring, planter):
    lost = planter.plant("lost", SOURCE[:50], target)
    stopped = Gate(mirroring, Wave((lost,))).step()
    assert (stopped.state, codes(stopped)) == (STOPPED, [("stop", "AuditDifferent")])
    assert f"{lost}-0: {kind} at source offset 20" in stopped.findings[0].message


def test_a_recreated_remote_topic_is_no_evidence(gate, oracle, pair, topic):
    assert gate.step().state == DONE
    oracle.delete_topic(pair.target_bootstrap, pair.remote(topic))
    oracle.create_topic(pair.target_bootstrap, pair.remote(topic), 2)
    stopped = gate.step()
    assert stopped.state == STOPPED
    assert {code for _, code in codes(stopped)} == {"TargetRecreated"}


def test_a_partition_that_was_never_written_to_needs_no_copy(gate, oracle, pair, topic):
    empty = pair.topic("empty")
    oracle.create_topic(pair.source_bootstrap, empty, 1)
    gate.wave = Wave((topic, empty))
    assert gate.step().state == DONE
