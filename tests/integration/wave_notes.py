"""What steps of a cutover note, kept in memory: for tests of one step at a time; and runs that are killed when they note something."""

import json
from types import MappingProxyType

from kafka_mirror.cutover.wave.step import StepOptions


class Killed(Exception):
    """Ends a step in the middle, as a SIGKILL would."""


class NotesInMemory:
    """`WaveNotes` of one wave. As in the control topic, what is noted has been JSON."""

    def __init__(self):
        self.steps, self.history, self.groups = {}, [], {}
        self.dies_after = None

    held = MappingProxyType({})

    def check(self):
        """Nobody takes a wave from a test."""

    def claimed_acls(self):
        raise AssertionError("nobody takes a wave from a test")

    def of_step(self, step):
        return self.steps.get(step, {})

    def keep(self, step, facts):
        self.steps[step] = json.loads(json.dumps(facts))
        self.history.append(self.steps[step])
        if self.dies_after == len(self.history):
            raise Killed

    def record(self, outcome):
        """As the runner does it with what a step answers."""
        self.keep(outcome.step, outcome.facts)
        return outcome

    def of_group(self, group):
        return self.groups.get(group, {})

    def keep_groups(self, facts):
        self.groups |= json.loads(json.dumps(facts))


def options(**changes):
    """Options of a run that changes something, and waits for nobody longer than a test does."""
    usual = {"wave": "orders", "who": "ada", "reason": "test", "dry_run": False, "quiet_seconds": 1.0, "timeout": 30.0}
    return StepOptions(**{**usual, **changes})
