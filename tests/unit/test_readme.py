"""The README is true: its tables are the code's, its commands run, what it names exists. Blocks that need an Airflow: tests/airflow."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mirror import errors
from mirror.__main__ import main
from mirror.airflow import xcom  # imports no Airflow
from mirror.config import load
from mirror.config.catalogue import CATALOGUE
from mirror.copy.results import results_to_columns
from mirror.errors import MirrorError
from mirror.plan.encode import to_columns
from mirror.plan.model import Plan

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def marked_blocks(marker: str) -> list[str]:
    """The shell blocks behind `<!-- runs: marker -->`, in their order, whatever their indentation."""
    found = re.findall(rf"^( *)<!-- runs: {marker} -->\n\1```sh\n(.*?)^\1```$", README, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def section(title: str) -> str:
    """The text below a heading, to the next of its rank or higher."""
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,2}} |\Z)", README, flags=re.MULTILINE | re.DOTALL)
    assert found, title
    return found[2]


def table_rows(text: str) -> list[list[str]]:
    """The rows of the tables in a text, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines]
    return [row for place, row in enumerate(rows) if not set("".join(row)) <= {"-"} and rows[place + 1 : place + 2] != [["---"] * len(row)]]


def error_classes() -> dict[str, type[MirrorError]]:
    """Every error that may be reported. ReportedError is left out: it carries the code of the error that another process raised."""
    found = {name: each for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, MirrorError)}
    return {name: each for name, each in found.items() if each not in (MirrorError, errors.ReportedError)}


def runbook() -> dict[str, list[str]]:
    rows = table_rows(README.partition("<!-- runbook: begin -->")[2].partition("<!-- runbook: end -->")[0])
    return {row[0].strip("`"): row[1:] for row in rows}


def test_tables_from_the_code_are_up_to_date() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from write_readme_table import renewed
    finally:
        sys.path.pop(0)
    assert renewed(README) == README, "run `.venv/bin/python tools/write_readme_table.py`"


def test_every_error_has_its_row_in_the_runbook_and_no_row_is_of_none() -> None:
    assert set(runbook()) == set(error_classes())


@pytest.mark.parametrize("name", error_classes())
def test_runbook_answers_and_says_rightly_whether_it_is_retried(name: str) -> None:
    seen, lost, next_step, retried = runbook()[name]
    assert seen and lost and next_step
    assert retried == ("yes" if error_classes()[name].retriable else "no")


def test_commands_that_need_no_services_run() -> None:
    script = "\n".join(marked_blocks("unit"))
    assert "python -m mirror" in script
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MIRROR", "PYTHON", "AIRFLOW"))}
    # The README says .venv/bin/python; here it is whatever runs the tests.
    script = script.replace(".venv/bin/python", sys.executable)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mirror_copy_east-to-west" in done.stdout
    assert "There is no enabled flow 'west->east'" in done.stderr


def test_no_marked_block_is_overlooked() -> None:
    assert README.count("<!-- runs:") == len(marked_blocks("unit")) + len(marked_blocks("airflow"))


def test_the_configuration_of_the_quick_start_is_valid(tmp_path: Path) -> None:
    (example,) = re.findall(r"```properties\n(.*?)```", README, flags=re.DOTALL)
    (tmp_path / "mm2.properties").write_text(example)
    configuration = load([tmp_path / "mm2.properties"], environ={"WEST_PASSWORD": "x"})
    assert [(flow.name, flow.notices) for flow in configuration.flows] == [("east->west", ())]
    assert (configuration.invalid, configuration.notices) == ((), ())


def test_every_command_is_described_and_every_described_one_exists(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    existing = set(re.findall(r"^ {4}([a-z][a-z-]+)", capsys.readouterr().out, flags=re.MULTILINE))
    described = {row[0].strip("`") for row in table_rows(section("Command line")) if row[0].startswith("`")}
    assert described == existing


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"^ {4}make ([a-z-]+)|`make ([a-z-]+)`", README, flags=re.MULTILINE))
    assert {"".join(each) for each in named} <= targets


def test_every_link_leads_somewhere() -> None:
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)", README, flags=re.MULTILINE)}
    for target in re.findall(r"\]\(([^)]+)\)", README):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif not target.startswith("https://"):
            assert (ROOT / target).exists(), target


def test_every_dag_file_is_described() -> None:
    described = " ".join(row[0] for row in table_rows(section("The DAGs")))
    for file in (ROOT / "dags").glob("*.py"):
        name = re.search(r"`(?:<flow>\.)?([a-z.-]+)`", file.read_text(encoding="utf-8"))
        assert name, file
        assert name[1] in described, f"{file.name}: {name[1]}"


def test_every_property_of_ours_that_is_named_exists() -> None:
    named = set(re.findall(r"`(mirror\.[a-z.]+)(?==|`)", README)) - {"mirror.configuration", "mirror.client"}
    assert len(named) > 10
    assert {name for name in named if not name.endswith(".")} <= set(CATALOGUE)


def test_xcom_columns_are_named() -> None:
    described = section("The DAGs")
    plan, results = to_columns(Plan("east->west")), results_to_columns([])
    for name in (*plan["ranges"], "ranges", "skip_to", "errors", "notices", "config_hash", *results["watermarks"], *results):
        assert f"`{name}`" in described, name
    assert f"{xcom.PLAIN_BYTES // 1000} kB" in described


def test_pins_are_those_of_the_requirements() -> None:
    pins = set((ROOT / "requirements.txt").read_text(encoding="utf-8").split("\n"))
    named = re.findall(r"[a-z0-9-]+==[0-9.]+", section("Add it to an Airflow you already have"))
    assert len(named) == 11
    assert set(named) <= pins


def test_testing_md_describes_every_test_file_with_services_and_every_folder_without() -> None:
    text = (ROOT / "TESTING.md").read_text(encoding="utf-8")
    files = [*(ROOT / "tests").glob("*/test_*.py"), *(ROOT / "tests").glob("[!u]*/*/test_*.py")]
    folders = [folder for folder in (ROOT / "tests" / "unit").iterdir() if any(folder.glob("test_*.py"))]
    assert [each.name for each in (*files, *folders) if f"`{each.name}`" not in text] == []
