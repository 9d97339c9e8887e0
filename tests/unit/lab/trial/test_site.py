"""What the trial does with applications that do not end as they were asked to."""

from lab.trial.applications import ApplicationFailed
from lab.trial.site import CONSUMERS, IDENTITY, TrialSite


class Library:
    """One of whose applications had given up by itself."""

    def __init__(self, gone):
        self.gone, self.ended = gone, []

    def ask(self, command, name):
        assert command == "end"
        self.ended.append(name)
        if name == self.gone:
            raise ApplicationFailed(f"end {name}: GroupIdNotFoundException")


class Cluster:
    """A cluster that does not run."""

    bootstrap = "127.0.0.1:1"

    def __init__(self, alias):
        self.alias = alias


class Oracle:
    """A witness that creates nothing."""

    def create_topic(self, *_):
        """Nothing."""


def test_a_consumer_that_gave_up_is_noted_and_the_others_end_in_order(tmp_path):
    library = Library("java-consumer")
    site = TrialSite(
        tmp_path, {alias: Cluster(alias) for alias in ("east", "west")}, {"java": library, "librdkafka": library}, Oracle(), IDENTITY
    )
    site.end_consumers()
    assert library.ended == [each.name for each in CONSUMERS]
    (said,) = site.gave_up
    assert "at east: end java-consumer: GroupIdNotFoundException" in said
