"""`move-groups` looks once more where groups stand on the source: as every bootstrap server tells it."""

from types import SimpleNamespace
from unittest.mock import patch

import pytest

from mirror.cutover import move_groups
from mirror.cutover.group_placement import Placement
from mirror.cutover.group_survey import GroupSurvey
from mirror.cutover.groups import WaveGroup, WaveGroups, WavePosition
from mirror.cutover.steps import DONE, STOPPED
from mirror.cutover.wave import WaveTopics
from mirror.kafka.model import Committed
from mirror.offsets.partition import TopicPartition
from mirror.translation.translate import EXACT, TranslatedOffset
from tests.wave_notes import NotesInMemory, step_options

PLACE = TopicPartition("stock", 0)
READERS = WaveGroup("readers", (WavePosition(*PLACE, 10, TranslatedOffset(EXACT, 10, 10, 0), None, "east.stock"),))


def step(**by_server):
    """The step once `readers` is moved from 10, and each server tells where it stands now."""
    cluster = SimpleNamespace(
        alias="east",
        ask_each_server=lambda _ask: ({server: {"readers": {PLACE: Committed(at)}} for server, at in by_server.items()}, {}),
        topics=lambda _names: {},
        offsets=lambda partitions, at, errors: dict.fromkeys(partitions, 0 if at == "earliest" else 50),
    )
    sides = SimpleNamespace(
        source=cluster, target=cluster, source_groups=SimpleNamespace(unstable=lambda *_: {}), target_groups=SimpleNamespace()
    )
    move = SimpleNamespace(
        flow=SimpleNamespace(name="east->west", source="east", target="west"),
        context=None,
        wave=None,
        names=frozenset(),
        topics=WaveTopics(("stock",)),
        sides=sides,
        source_partitions=lambda: [PLACE],
    )
    placer = SimpleNamespace(place=lambda *_: Placement(facts={"committed": 1}))
    survey = GroupSurvey(WaveGroups((READERS,)))
    with patch.multiple(move_groups, survey_groups=lambda *_: survey, GroupPlacer=lambda *_: placer):
        return move_groups.step(move, NotesInMemory(), step_options())


@pytest.mark.parametrize(
    ("by_server", "codes"),
    [
        ({"a": 10, "b": 10}, []),
        ({"a": 30, "b": 30}, ["group-read-on"]),
        ({"a": 10, "b": 30}, ["source-contradicts-itself"]),
        ({"a": 30, "b": 40}, ["source-contradicts-itself"]),
    ],
)
def test_a_group_of_which_a_server_tells_another_place_than_it_was_moved_from_stops_the_wave(by_server, codes):
    outcome = step(**by_server)
    assert (outcome.state, [finding.code for finding in outcome.findings]) == (STOPPED if codes else DONE, codes)


def test_each_server_is_named_with_what_it_tells():
    (finding,) = step(a=10, b=30).findings
    assert "contradict each other about where it stands: a: where it was moved from; b: stock-0@30" in finding.message
