"""Writes the tables of the handbook that come from the code, between their markers: `.venv/bin/python tools/handbook/generate.py`.

With `--check` nothing is written: pages that would change are named, and the exit code is 1.
"""

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "include"), str(Path(__file__).parent)]

import dag_tables
from command_line import markdown_commands
from properties import markdown_client_table, markdown_table

from kafka_mirror.config.support import BEFORE_RELEASE, EVERY_TIME, MATRIX, NOT_TESTED
from kafka_mirror.web.metric_names import markdown_metrics


def markdown_versions() -> str:
    """How often each version is tested."""
    rows = ["| | tested every time | tested before a release | not tested | |", "| --- | --- | --- | --- | --- |"]
    for support in MATRIX:
        cells = (
            ", ".join(number for number, how in support.tested.items() if how == level)
            for level in (EVERY_TIME, BEFORE_RELEASE, NOT_TESTED)
        )
        rows.append(f"| {support.name} | {' | '.join(cells)} | {support.note} |")
    return "\n".join(rows) + "\n"


DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
TABLES: dict[str, tuple[Path, Callable[[], str]]] = {
    "properties": (REFERENCE / "configuration.md", markdown_table),
    "client settings": (REFERENCE / "client-settings.md", markdown_client_table),
    "commands": (REFERENCE / "command-line.md", markdown_commands),
    "dags": (REFERENCE / "dags-and-xcom.md", dag_tables.markdown_dags),
    "xcom keys": (REFERENCE / "dags-and-xcom.md", dag_tables.markdown_xcom_keys),
    "versions": (REFERENCE / "versions.md", markdown_versions),
    "metrics": (REFERENCE / "metrics.md", markdown_metrics),
}


def renew_table(text: str, name: str, table: str) -> str:
    """Writes one table of a page as the code has it now. Raises ValueError when a marker is missing."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"The page must have the lines {begin.strip()} and {end.strip()}, once each.")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"


def stale_pages() -> dict[Path, str]:
    """The pages whose tables are not the code's, with the text that they should have."""
    pages = {page: page.read_text(encoding="utf-8") for page, _ in TABLES.values()}
    for name, (page, table) in TABLES.items():
        pages[page] = renew_table(pages[page], name, table())
    return {page: text for page, text in pages.items() if text != page.read_text(encoding="utf-8")}


def main() -> None:
    """Writes the stale pages, or with `--check` names them and exits 1."""
    stale = stale_pages()
    if "--check" in sys.argv[1:] and stale:
        names = ", ".join(str(page.relative_to(ROOT)) for page in stale)
        sys.exit(f"{names}: the code says something else now. Run `.venv/bin/python tools/handbook/generate.py`.")
    for page, text in stale.items():
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
