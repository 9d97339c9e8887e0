"""What a run said and left, for the tests of guards."""

from tests.integration.both_engines import ENGINE


def only_error(judged):
    """The one error of a red run."""
    assert judged.state == "failed"
    (error,) = judged.errors
    return error


def remote_records(mirroring, topic):
    return [(r.partition, r.key, r.value) for r in mirroring.oracle.dump(mirroring.target, mirroring.pair.remote(topic))]


def changed(mirroring, make_mirroring, extra):
    """The same flow with other properties, and the same engine."""
    return make_mirroring(mirroring.pair, {ENGINE: mirroring.flow.value("mirror.engine"), **extra})
