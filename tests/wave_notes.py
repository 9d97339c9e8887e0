"""The notes of a wave without its record: what comes back is what JSON keeps, and a test may end a run at each call."""

import json
from types import MappingProxyType

from kafka_mirror.cutover.wave.step import StepOptions
from kafka_mirror.kafka.groups import GroupTransaction


class Killed(BaseException):
    """The process is gone at this very place."""


class NotesInMemory:
    """WaveNotes that a test holds. `before` is called with the name of each call, and may raise."""

    def __init__(self):
        self.steps = {}
        self.groups = {}
        self.history = []
        """The facts of each call of `keep`."""
        self.dies_after = None
        """After how many of these calls the run is killed."""
        self.before = lambda _call: None
        self.target = None
        """The cluster on which a test moves groups."""

    held = MappingProxyType({})

    def check(self):
        """Nobody takes a wave from a test."""

    def begin(self):
        return GroupTransaction(self.target, "mirror.test")

    def read_claimed_acls(self):
        raise AssertionError("nobody takes a wave from a test")

    def read_step(self, step):
        return self.steps.get(step, {})

    def keep(self, step, facts):
        self.before("keep")
        self.steps[step] = json.loads(json.dumps(facts))
        self.history.append(self.steps[step])
        if self.dies_after == len(self.history):
            raise Killed

    def record(self, outcome):
        """Notes what a step answers, as the runner does."""
        self.keep(outcome.step, outcome.facts)
        return outcome

    def read_group(self, group):
        return self.groups.get(group, {})

    def keep_groups(self, facts):
        self.before("keep_groups")
        self.groups |= json.loads(json.dumps(facts))


def step_options(**options):
    """Options of a run that changes things and does not wait."""
    usual = {"wave": "wave-1", "who": "somebody", "reason": "a test", "dry_run": False, "timeout": 0.0}
    return StepOptions(**{**usual, **options})


def waiting_options(**options):
    """Options of a run that changes things, and waits for nobody longer than a test does."""
    return step_options(**{"quiet_seconds": 1.0, "timeout": 30.0, **options})
