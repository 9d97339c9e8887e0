"""What a run said and left, for the tests of guards."""


def only_error(judged):
    """The one error of a red run."""
    assert judged.state == "failed"
    (error,) = judged.errors
    return error


def remote_records(mirroring, topic):
    return [(r.partition, r.key, r.value) for r in mirroring.oracle.dump(mirroring.target, mirroring.pair.remote(topic))]


def changed(mirroring, make_mirroring, extra):
    """The same flow with other properties."""
    return make_mirroring(mirroring.pair, extra)
