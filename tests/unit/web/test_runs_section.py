"""What a flow's page says of the runs of its DAGs."""

from dataclasses import replace
from html import escape

from tests.unit.web.made_up import BUSY, HEALTHY, made_up


def test_the_newest_copy_with_work_says_how_its_batches_went() -> None:
    said = "done: 5 records, 300 bytes copied; batches of the source: 1 rewritten (a batch is larger than <16 KB>)"
    text = made_up(BUSY, view=replace(HEALTHY, copied=said, copied_by="scheduled__1")).page()
    assert f": {escape(said)}</p>" in text
    assert 'href="/dags/east-to-west.copy/runs/scheduled__1"' in text
    assert "Newest copy with work" not in made_up(BUSY).page(), "none of the newest runs had any"
