"""What is taken as it stands, and told: it may not be what is meant."""

import pytest

from mirror.config.catalogue import CATALOGUE

DEFAULT = CATALOGUE["config.properties.exclude"].default


def test_a_list_of_configs_in_place_of_the_default_one_names_what_is_copied_now(flow):
    (notice,) = flow("east->west.config.properties.exclude = remote\\\\..*, .*replicas\n").notices
    lost = [name for name in DEFAULT if not name.endswith("replicas")]
    assert f"default list: {', '.join(lost)} are copied" in notice


@pytest.mark.parametrize("members", [", ".join(DEFAULT), ", ".join([*DEFAULT, "segment.bytes"]), ".*", "", "${env:LIST}"])
def test_a_list_that_has_all_of_the_default_one_and_none_at_all_are_taken_without_a_word(flow, members):
    assert flow(f"config.properties.exclude = {members}\n", {"LIST": "x"}).notices == ()
