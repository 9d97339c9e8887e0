"""The log of what was measured."""

from pathlib import Path

import pytest

from lab.bench.results import append


def test_rows_go_to_the_end_of_their_table_and_other_columns_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.md"
    for title, seconds in (("A copy", "1"), ("An audit", "2"), ("A copy", "3")):
        append(title, ("seconds",), [(seconds,)], file=log)
    tables = log.read_text().split("## ")[1:]
    cells = [[line.split("|")[3].strip() for line in table.splitlines() if line.startswith("|")] for table in tables]
    assert cells == [["seconds", "---", "1", "3"], ["seconds", "---", "2"]]
    before = log.read_text()
    with pytest.raises(ValueError, match="has other columns than when"):
        append("A copy", ("minutes",), [("4",)], file=log)
    with pytest.raises(ValueError, match="1 columns, and a row of 2 cells"):
        append("A copy", ("seconds",), [("5", "6")], file=log)
    assert log.read_text() == before
