"""Who may import what: the drawing of the design, held by the syntax tree of every file, imports inside functions included.

A pure package imports no Airflow, no Spark, no Kafka client, and none of our own packages that do.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "include" / "mirror"
CLIENTS = {"confluent_kafka", "kafka"}
PURE = ("config", "policy", "formats", "offsets")
ADAPTERS = {
    *("mirror.kafka", "mirror.copy", "mirror.backfill", "mirror.sync", "mirror.airflow", "mirror.audit", "mirror.report", "mirror.plan"),
    *("mirror.client", "mirror.handover", "mirror.web"),
}
AUDIT_CORE = {"asked.py", "compare.py", "digest.py", "model.py", "record.py", "report.py", "shown.py", "stretches.py"}
"""The audit's modules that are pure; the others read."""
AIRFLOW_OF_THE_PAGE = Path("web/airflow_access.py")
"""The page runs inside Airflow's api-server; this one module of it knows that."""
HEAVY = {"pyspark", "confluent_kafka", "kafka", "pandas", "numpy", "pyarrow", "psycopg2"}


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that a tree imports, fully named; of `from a import b` both `a` and `a.b`, for b may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def at_import_time(tree: ast.Module) -> ast.Module:
    """The tree without function bodies and without what only a type checker reads: what runs when the file is parsed."""

    class Prune(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

        def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
            return None

        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)

    return Prune().visit(tree)


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def refused(relative: Path, module: str) -> bool:
    """Whether include/mirror/<relative> must not import the module."""
    top = module.split(".")[0]
    package = relative.parts[0]
    if top == "airflow":
        return package != "airflow" and relative != AIRFLOW_OF_THE_PAGE
    if top == "pyspark":
        return True
    if top in CLIENTS:
        return package != "kafka" and not (package == "copy" and relative.name.startswith("confluent_"))
    if top in ("services", "tests", "tools", "dags", "jobs", "plugins"):
        return True
    if within(module, "mirror.airflow"):
        return package not in ("airflow", "__main__.py") and relative != AIRFLOW_OF_THE_PAGE
    if top in ("fastapi", "starlette", "jinja2", "pydantic"):
        return package != "web"
    if package == "audit" and relative.name in AUDIT_CORE:
        return any(within(module, adapter) for adapter in ADAPTERS - {"mirror.audit"})
    return package in PURE and any(within(module, adapter) for adapter in ADAPTERS)


def library_files() -> list[Path]:
    return sorted(path.relative_to(LIBRARY) for path in LIBRARY.rglob("*.py"))


@pytest.mark.parametrize("relative", library_files(), ids=str)
def test_library_module_imports_only_what_its_place_allows(relative: Path) -> None:
    tree = ast.parse((LIBRARY / relative).read_text(encoding="utf-8"))
    assert [module for module in imports(tree) if refused(relative, module)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "plugins").glob("*.py")), ids=lambda path: path.name)
def test_plugin_that_every_task_loads_imports_nothing_but_airflows_base_class(path: Path) -> None:
    tree = at_import_time(ast.parse(path.read_text(encoding="utf-8")))
    known = {
        "airflow.plugins_manager",
        "airflow.plugins_manager.AirflowPlugin",
        "functools",
        "functools.cached_property",
        "typing",
        "typing.Any",
    }
    assert set(imports(tree)) <= known


@pytest.mark.parametrize("path", sorted((ROOT / "dags").glob("*.py")), ids=lambda path: path.name)
def test_dag_file_imports_nothing_heavy_when_it_is_parsed(path: Path) -> None:
    tree = at_import_time(ast.parse(path.read_text(encoding="utf-8")))
    assert [module for module in imports(tree) if module.split(".")[0] in HEAVY] == []


@pytest.mark.parametrize(
    ("relative", "module", "expected"),
    [
        ("plan/run.py", "airflow.sdk", True),
        ("airflow/copy.py", "airflow.sdk", False),
        ("copy/run.py", "pyspark", True),
        ("kafka/cluster.py", "confluent_kafka", False),
        ("copy/confluent_source.py", "confluent_kafka", False),
        ("copy/run.py", "confluent_kafka.admin", True),
        ("sync/topics.py", "kafka", True),
        ("offsets/map.py", "mirror.kafka.cluster", True),
        ("offsets/map.py", "mirror.errors", False),
        ("audit/digest.py", "mirror.kafka.batches", True),
        ("audit/side.py", "mirror.kafka.batches", False),
        ("policy/lineage.py", "mirror.client", True),
        ("client.py", "mirror.kafka.cluster", False),
        ("client.py", "confluent_kafka", True),
        ("copy/run.py", "mirror.airflow.copy", True),
        ("copy/run.py", "services.kafka", True),
        ("sync/topics.py", "mirror.kafka.cluster", False),
        ("web/page.py", "airflow.models.log", True),
        ("web/airflow_access.py", "airflow.models.log", False),
        ("web/page.py", "mirror.airflow.xcom", True),
        ("web/page.py", "fastapi", False),
        ("report/snapshot.py", "fastapi", True),
    ],
)
def test_rules_say_no_where_they_should(relative: str, module: str, expected: bool) -> None:
    assert refused(Path(relative), module) == expected


def test_import_inside_a_function_counts_for_the_library_and_not_for_parsing_a_dag() -> None:
    tree = ast.parse("def run():\n    import pyspark\n")
    assert list(imports(tree)) == ["pyspark"]
    assert list(imports(at_import_time(tree))) == []
