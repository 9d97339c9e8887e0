"""The handbook is true: its tables are the code's, its commands run, what it names exists. Blocks that need an Airflow: tests/airflow."""

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from kafka_mirror.airflow import tasks  # imports no Airflow
from kafka_mirror.cli.parser import parser
from kafka_mirror.config import load
from kafka_mirror.config.catalogue import CATALOGUE
from tests.package.test_first_record import DAG_FILE, INSTALL, UNPAUSE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
NAMES = [str(page.relative_to(DOCS)) for page in PAGES]
CONFIGURATIONS = {
    "get-started/quick-start.md": ["east->west"],
    "guides/active-active.md": ["east->west", "west->east"],
    "guides/aggregate.md": ["paris->central", "tokyo->central"],
    "guides/move-to-a-new-cluster.md": ["east->west", "west->east"],
    "guides/rename-topics.md": ["east->west"],
    "guides/schema-registry.md": ["east->west"],
    "guides/start-dags-by-days.md": ["east->west"],
    "reference/logins.md": ["east->west"],
}


@cache
def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def without_code(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)


def marked_blocks(name: str, marker: str) -> list[str]:
    """The shell blocks of a page behind `<!-- runs: marker -->`, in their order."""
    return re.findall(rf"^<!-- runs: {marker} -->\n```sh\n(.*?)^```$", text_of(name), flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The anchors of a page, as the generator makes them of its headings."""
    titles = re.findall(r"^#+ (.*)", without_code(text), flags=re.MULTILINE)
    slugs = [re.sub(r"[^\w\s-]", "", title).strip().lower() for title in titles]
    return {re.sub(r"[-\s]+", "-", slug) for slug in slugs} | set(re.findall(r'<a id="([^"]+)"', text))


def table_rows(text: str) -> list[list[str]]:
    """The rows of the tables in a text, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines]
    return [row for place, row in enumerate(rows) if not set("".join(row)) <= {"-"} and rows[place + 1 : place + 2] != [["---"] * len(row)]]


def links() -> Iterator[tuple[Path, str]]:
    """Every link that does not lead out of the project: the file in which it stands, and where it leads."""
    for page in [*PAGES, ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
            if not target.startswith(("https://", "http://")):
                yield page, target


def test_tables_from_the_code_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, "tools/handbook/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_every_link_and_every_anchor_leads_somewhere() -> None:
    """`make docs` says the same of pages; this holds pictures and the README too."""
    for page, target in links():
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page}: {target}"
        assert not anchor or anchor in anchors(there.read_text(encoding="utf-8")), f"{page}: {target}"


def test_every_page_has_its_place_in_the_navigation_and_a_title() -> None:
    placed = set(re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:")[2]))
    assert placed == set(NAMES)
    assert [name for name in NAMES if not re.match(r"(---\n.*?---\n\n)?# ", text_of(name), flags=re.DOTALL)] == []


@pytest.mark.parametrize("name", NAMES)
def test_lists_and_tables_begin_behind_an_empty_line(name: str) -> None:
    """Elsewhere they would run on as text."""
    block = re.compile(r"(- |\d+\. |\|)")
    lines = without_code(text_of(name)).splitlines()
    ahead = [
        line
        for before, line in pairwise(lines)
        if block.match(line) and before.strip() and not before.startswith(" ") and not block.match(before)
    ]
    assert ahead == []


def test_commands_that_need_no_services_run() -> None:
    script = "\n".join(marked_blocks("reference/command-line.md", "unit"))
    assert "python -m kafka_mirror" in script
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MIRROR", "PYTHON", "AIRFLOW"))}
    # The page says .venv/bin/python; here it is whatever runs the tests.
    script = script.replace(".venv/bin/python", sys.executable)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "default_pool" in done.stdout
    assert "There is no enabled flow 'west->east'" in done.stderr


def test_no_marked_block_is_overlooked() -> None:
    """tests/airflow runs those marked `airflow` and `archive`."""
    markers = ("unit", "airflow", "archive")
    for name in NAMES:
        assert text_of(name).count("<!-- runs:") == sum(len(marked_blocks(name, marker)) for marker in markers), name
    assert [name for name in NAMES if marked_blocks(name, "archive")] == ["get-started/spark-cluster.md"]
    assert [name for name in NAMES if marked_blocks(name, "unit")] == ["reference/command-line.md"]
    assert [name for name in NAMES if marked_blocks(name, "airflow")] == ["get-started/existing-airflow.md", "operate/airflow-retention.md"]


@pytest.mark.parametrize(("name", "flows"), CONFIGURATIONS.items())
def test_configurations_are_valid(name: str, flows: list[str], tmp_path: Path) -> None:
    (example,) = re.findall(r"```properties\n(.*?)```", text_of(name), flags=re.DOTALL)
    (tmp_path / "mm2.properties").write_text(example)
    configuration = load([tmp_path / "mm2.properties"], environ={"WEST_PASSWORD": "x"})
    assert sorted((flow.name, flow.notices) for flow in configuration.flows) == [(flow, ()) for flow in flows]
    assert (configuration.invalid, configuration.notices) == ((), ())


def test_no_configuration_is_overlooked() -> None:
    assert [name for name in NAMES if "```properties" in text_of(name)] == list(CONFIGURATIONS)


def shown_commands() -> list[str]:
    """Every command line of the mirror's that a page shows; brackets around what may be left out are taken away.

    The commands of errors, in the runbook and in logs, have a test of their own.
    """
    pages = [name for name in NAMES if name not in ("operate/runbook.md", "operate/troubleshooting-logs.md")]
    shown = {each for name in pages for each in re.findall(r"(?:kafka-mirror|python -m kafka_mirror) ((?:->|[^`\n#>|])+)", text_of(name))}
    return sorted(re.sub(r"[\[\]]", "", each).strip() for each in shown if not each.startswith("<") and not each.strip().endswith("--help"))


@pytest.mark.parametrize("command", shown_commands())
def test_every_command_that_is_shown_is_understood(command: str) -> None:
    words = shlex.split(command)
    assert parser().parse_args(words).command == next((word for word in words if not word.startswith("-")), None)


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for name in NAMES:
        named = set(re.findall(r"^ {4}make ([a-z-]+)|`make ([a-z-]+)`", text_of(name), flags=re.MULTILINE))
        assert {"".join(each) for each in named} <= targets, name


def test_every_kind_of_dag_is_described() -> None:
    described = " ".join(row[0] for row in table_rows(text_of("reference/dags-and-xcom.md")))
    files = [
        file for file in (ROOT / "include" / "kafka_mirror" / "airflow" / "dags").glob("*.py") if file.stem not in ("__init__", "factory")
    ]
    assert files
    for file in files:
        found = re.search(r"`(?:<flow>\.)?([a-z.-]+)`", file.read_text(encoding="utf-8"))
        assert found, file
        assert found[1] in described, f"{file.name}: {found[1]}"


def test_every_property_of_ours_that_is_named_exists() -> None:
    named = {each for name in NAMES for each in re.findall(r"`(?:east->west\.)?(mirror\.[a-z.]+)(?==|`| =)", text_of(name))}
    assert len(named) > 10
    others = {
        "mirror.configuration",
        "kafka_mirror.client",
        "kafka_mirror.policy.filters",
        "mirror.py",
        "mirror.generation",
        "mirror.place",
        "mirror.logs",
    }
    assert {name for name in named if not name.endswith(".")} - others <= set(CATALOGUE)


def test_size_up_to_which_xcom_is_plain_is_named() -> None:
    assert f"{tasks.PLAIN_BYTES // 1000} kB" in text_of("reference/dags-and-xcom.md")


def test_two_commands_and_the_file_are_those_that_a_test_plays() -> None:
    commands = [f'pip install "{INSTALL}"', UNPAUSE.format("east-to-west")]
    for text in (text_of("get-started/existing-airflow.md"), (ROOT / "README.md").read_text(encoding="utf-8")):
        assert "\n".join(["```sh", *commands, "```"]) in text
        assert [line for line in DAG_FILE.replace("flows='{}'", "").splitlines() if line not in text] == []


def test_pins_are_those_of_the_requirements() -> None:
    pins = set((ROOT / "requirements.txt").read_text(encoding="utf-8").split("\n"))
    named = re.findall(r"[a-z0-9-]+==[0-9.]+(?:post\d+)?", text_of("get-started/existing-airflow.md"))
    assert len(named) == 13
    assert set(named) <= pins


def test_every_test_file_with_services_says_what_it_tests() -> None:
    files = [*(ROOT / "tests").glob("*/test_*.py"), *(ROOT / "tests").glob("[!u]*/*/test_*.py")]
    assert [each.name for each in files if not ast.get_docstring(ast.parse(each.read_text(encoding="utf-8")))] == []


def test_what_happens_if_has_twelve_answers_and_each_names_a_test_that_is_there() -> None:
    answers = text_of("operate/what-happens-if.md").split("\n## ")[1:]
    assert len(answers) == 12
    for answer in answers:
        seen = re.findall(r"`([\w/]+?(?:\.py|/guards))`", answer.partition("*Seen in:*")[2])
        assert seen, answer
        assert [path for path in seen if not (ROOT / "tests" / path).exists()] == []
