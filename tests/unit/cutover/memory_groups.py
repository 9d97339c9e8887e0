"""The positions of a group in memory, and transactions of them that a later writer fences."""

from kafka_mirror.kafka.transactions import Fenced


class MemoryGroups:
    """The one group of the target."""

    def __init__(self, world):
        self.world, self.offsets = world, {}

    def read_committed(self, names, _errors):
        self.world.call("list positions")
        return {name: dict(self.offsets) for name in names}


class MemoryTransaction:
    """A transaction of positions under the transactional id of those who write a control topic."""

    def __init__(self, flow):
        self._flow, self._wanted = flow, {}
        flow.world.call("begin a transaction")
        flow.decider_epoch += 1
        self._epoch = flow.decider_epoch

    def add(self, wanted, _errors):
        self._call("add positions to a transaction")
        self._wanted = dict(wanted)
        return {name: {} for name in wanted}

    def commit(self):
        self._call("commit positions")
        for tp, committed in (each for positions in self._wanted.values() for each in positions.items()):
            if committed is None:
                self._flow.world.sides.target_groups.offsets.pop(tp, None)
            else:
                self._flow.world.sides.target_groups.offsets[tp] = committed

    def abort(self):
        """Nothing of it was seen."""

    def _call(self, what):
        self._flow.world.call(what)
        if self._flow.decider_epoch != self._epoch:
            raise Fenced
