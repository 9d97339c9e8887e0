"""The files of an export: the same bytes however often it was interrupted, and never two exports in one directory."""

import json
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.cutover.failover.export import DESCRIPTION, OPEN_LINES, ExportedRecord, ExportFiles, file_name
from kafka_mirror.errors import ExportDiffers, ExportFailed
from kafka_mirror.formats.offsets.partition import TopicPartition

ORDERS = TopicPartition("orders", 3)
FIELDS = {ORDERS: {"topic_id": "AAAA", "start": 100}}

records = st.builds(
    ExportedRecord,
    st.just(ORDERS),
    st.integers(0, 2**62),
    st.integers(-1, 2**62),
    st.sampled_from(["none", "create", "log-append"]),
    st.none() | st.integers(0, 2**31 - 1),
    st.none() | st.binary(),
    st.none() | st.binary(),
    st.lists(st.tuples(st.binary(), st.none() | st.binary())).map(tuple),
)


@given(records)
def test_a_record_survives_its_line_byte_for_byte(record):
    line = record.to_line()
    assert ExportedRecord.from_line(line) == record
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")


def test_a_line_is_for_keeps():
    record = ExportedRecord(ORDERS, 7, 1000, "create", 2, b"\xff", None, ((b"h", b"\x00"),))
    assert record.to_line() == (
        b'{"topic":"orders","partition":3,"offset":7,"timestamp":1000,"timestamp_type":"create","leader_epoch":2,'
        b'"key":"/w==","value":null,"headers":[["aA==","AA=="]]}\n'
    )


def record(offset, size=10):
    return ExportedRecord(ORDERS, offset, 1000 + offset, "create", 0, b"k", b"v" * size)


def export(directory, flow="east->west", cluster="E"):
    return ExportFiles(directory, flow, cluster)


def run(directory, ending=150, **options):
    """What one run does: from where the file ends."""
    files = export(directory, **options)
    files.begin(FIELDS)
    start = files.find_next_offset(ORDERS, 100)
    files.append(ORDERS, map(record, range(start, ending)))
    return files.finish({ORDERS: ending})


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("kept", [0, 1, 139, 140, 141, 1000, 5000], ids=str)
def test_an_export_that_was_interrupted_anywhere_goes_on_to_the_same_bytes(tmp_path, kept):
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    assert run(whole) == {ORDERS: 50}
    run(torn)
    path = torn / file_name(ORDERS)
    path.write_bytes(path.read_bytes()[:kept])
    assert run(torn) == {ORDERS: 50}
    assert contents(torn) == contents(whole)


def test_a_second_run_writes_the_same_and_a_longer_source_is_appended(tmp_path):
    run(tmp_path)
    before = contents(tmp_path)
    run(tmp_path)
    assert contents(tmp_path) == before
    assert run(tmp_path, ending=160) == {ORDERS: 60}
    assert (tmp_path / file_name(ORDERS)).read_bytes().startswith(before[file_name(ORDERS)])


def test_the_description_has_the_digest_and_how_far_each_file_goes(tmp_path):
    run(tmp_path)
    description = json.loads((tmp_path / DESCRIPTION).read_text())
    entry = description["partitions"]["orders-3"]
    assert (description["flow"], description["source_cluster_id"]) == ("east->west", "E")
    assert (entry["start"], entry["end"], entry["records"], entry["topic_id"]) == (100, 150, 50, "AAAA")
    assert len(entry["sha256"]) == 64


@pytest.mark.parametrize(
    ("options", "said"), [({"cluster": "F"}, "source_cluster_id is 'E', not 'F'"), ({"flow": "a->b"}, "flow is 'east->west', not 'a->b'")]
)
def test_a_directory_of_another_source_is_left_alone(tmp_path, options, said):
    run(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(ExportDiffers, match=said):
        run(tmp_path, **options)
    assert contents(tmp_path) == before


def test_another_topic_of_the_name_or_another_beginning_is_another_export(tmp_path):
    run(tmp_path)
    for fields in ({"topic_id": "BBBB", "start": 100}, {"topic_id": "AAAA", "start": 90}):
        with pytest.raises(ExportDiffers):
            export(tmp_path).begin({ORDERS: fields})


def test_files_without_a_description_and_lines_that_are_none_are_refused(tmp_path):
    (tmp_path / file_name(ORDERS)).write_bytes(b"no json\n")
    with pytest.raises(ExportDiffers, match=DESCRIPTION):
        export(tmp_path).begin(FIELDS)
    with pytest.raises(ExportFailed, match="cannot be continued"):
        export(tmp_path).find_next_offset(ORDERS, 100)


def test_what_stands_behind_open_transactions_has_files_of_its_own_in_the_same_directory(tmp_path):
    run(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    files = ExportFiles(tmp_path, "east->west", "E", is_open=True)
    for start, ending in ((150, 153), (152, 156)):  # the last stable offset moved on meanwhile
        files.begin({ORDERS: {"topic_id": "AAAA"}})
        files.append(ORDERS, map(record, range(files.find_next_offset(ORDERS, start), ending)))
        assert files.finish({ORDERS: ending}) == {ORDERS: ending - 150}
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    lines = (tmp_path / file_name(ORDERS, OPEN_LINES)).read_bytes().splitlines()
    assert [ExportedRecord.from_line(line).offset for line in lines] == list(range(150, 156))
    with pytest.raises(ExportDiffers):
        files.begin({ORDERS: {"topic_id": "BBBB"}})


def test_files_of_open_transactions_do_not_count_as_an_export_without_description(tmp_path):
    (tmp_path / file_name(ORDERS, OPEN_LINES)).touch()
    run(tmp_path)
    with pytest.raises(ExportDiffers, match="without"):
        ExportFiles(tmp_path, "east->west", "E", is_open=True).begin({})


@pytest.fixture
def no_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_nobody_else_reads_an_export(tmp_path, no_umask):
    directory = tmp_path / "export"
    run(directory)
    run(directory, ending=180)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert modes == {DESCRIPTION: 0o600, file_name(ORDERS): 0o600}


def test_files_that_others_could_read_are_closed_to_them_when_an_export_goes_on(tmp_path, no_umask):
    directory = tmp_path / "export"
    run(directory)
    (directory / file_name(ORDERS)).chmod(0o644)
    run(directory, ending=180)
    assert stat.S_IMODE((directory / file_name(ORDERS)).stat().st_mode) == 0o600


@pytest.mark.parametrize("name", [file_name(ORDERS), f".{DESCRIPTION}.new"])
def test_a_symbolic_link_in_the_directory_leads_nowhere(tmp_path, name):
    directory, elsewhere = tmp_path / "export", tmp_path / "elsewhere"
    directory.mkdir()
    elsewhere.write_text("not ours")
    (directory / name).symlink_to(elsewhere)
    with pytest.raises((ExportFailed, ExportDiffers)):
        run(directory)
    assert elsewhere.read_text() == "not ours"


@pytest.mark.parametrize("topic", ["../out", "a/b", "..", "", "x" * 250])
def test_a_name_that_no_topic_has_names_no_file(topic):
    with pytest.raises(ValueError, match="no topic"):
        file_name(TopicPartition(topic, 0))
