"""Writes the tables of the README that come from the code, between their markers: `.venv/bin/python tools/write_readme_table.py`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "include"))

from mirror.config.table import markdown_client_table, markdown_table
from mirror.web.metric_names import markdown_metrics

README = ROOT / "README.md"
SECTIONS = {"properties": markdown_table, "client settings": markdown_client_table, "metrics": markdown_metrics}


def renewed(text: str) -> str:
    """The README's text with every table as the code has it now. Raises ValueError when a marker is missing."""
    for name, table in SECTIONS.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if text.count(f"{begin}\n") != 1 or text.count(f"{end}\n") != 1:
            raise ValueError(f"README.md has to have the lines {begin} and {end}, once each")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{table()}{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")
