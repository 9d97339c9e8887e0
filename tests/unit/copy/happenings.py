"""What happens to a lane in the tests of its protocol, and what it answers."""


def raising(error, times=None):
    """A happening that raises, so many times or always."""
    left = [times]

    def happen(_engine):
        if left[0] is None or left[0] > 0:
            left[0] = None if left[0] is None else left[0] - 1
            raise error

    return happen


def watermarks(result):
    """How far each topic came."""
    return {(mark.topic, mark.source_offset) for mark in result.watermarks}
