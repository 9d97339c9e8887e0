"""The line that leaves out what the target does not take: it is right when it is followed."""

import re

import pytest

from kafka_mirror.config import load
from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.topics.exclude_advice import exclude_advice

HEAD = "clusters=east,west\neast.bootstrap.servers=a:1\nwest.bootstrap.servers=b:1\neast->west.enabled=true\n"
CARRIED = ["cleanup.policy", "local.retention.ms", "remote.storage.enable", "segment.bytes", "retention.bytes"]
DEFAULT = CATALOGUE["config.properties.exclude"].default


@pytest.fixture
def made(tmp_path):
    """`made(lines)`: the flow of a file with these lines more, and the file."""

    def make(lines="", environ=None):
        file = tmp_path / "mm2.properties"
        file.write_text(HEAD + lines)
        return load([file], environ or {}).flow("east->west")

    return make


def followed(made, lines, advice):
    """The list of the flow once the line of the advice stands in the file, in place of the one with its key."""
    line = re.search(r"too: (.+)", advice)[1]
    key = line.partition(" = ")[0]
    kept = "".join(f"{each}\n" for each in lines.splitlines() if not each.startswith(key))
    return made(kept + line + "\n").value("config.properties.exclude")


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "config.properties.exclude = a\\\\..*, min.*\n",
        "east->west.config.properties.exclude = x{1}\\\\d\n",
        "config.properties.exclude =\n",
        "config.properties.exclude = a\neast->west.config.properties.exclude = b\n",
    ],
)
def test_the_line_has_what_was_left_out_before_and_what_is_in_the_way(made, lines):
    before = made(lines).value("config.properties.exclude")
    advice = exclude_advice(made(lines), CARRIED, "Invalid value 100000 for configuration segment.bytes: Value must be at least 1048576")
    assert followed(made, lines, advice) == (*before, "segment.bytes")


def test_a_refusal_of_tiered_storage_is_known_to_be_about_the_configs_of_tiering(made):
    complaint = "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
    advice = exclude_advice(made(), CARRIED, complaint)
    assert followed(made, "", advice) == (*DEFAULT, "local.retention.ms", "remote.storage.enable")


@pytest.mark.parametrize(
    ("complaint", "what"),
    [
        ("Unknown topic config name: segment.bytes.", "To leave out segment.bytes, "),
        ("Unknown topic config name: log.segment.bytes", "the config that it names"),
        ("segment.bytes.max is wrong", "the config that it names"),
        ("retention.bytes must not be above segment.bytes", "retention.bytes, segment.bytes"),
    ],
)
def test_what_is_named_is_told_from_what_looks_like_it(made, complaint, what):
    assert what in exclude_advice(made(), CARRIED, complaint)


def test_a_list_by_reference_is_not_shown(made):
    advice = exclude_advice(made("config.properties.exclude = ${env:X}\n", {"X": "secret.*"}), CARRIED, "segment.bytes")
    assert advice.startswith("Add segment.bytes to the list that config.properties.exclude refers to.") and "secret" not in advice
