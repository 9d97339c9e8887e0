"""Who may import what: the drawing of the design, held by the syntax tree of every file, imports inside functions included.

A pure package imports no Airflow, no Spark, no Kafka client, and none of our own packages that do.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "include" / "kafka_mirror"
CLIENTS = {"confluent_kafka", "kafka"}
MOVES_RECORDS = Path("copy/batches")
"""What moves a lane's records, over connections of its own."""
CHANGES_CLUSTERS = {Path("kafka/admin.py")}
"""What opens librdkafka's admin client: for changes alone."""
ADMIN_CLIENT = "confluent_kafka.admin.AdminClient"
UNUSED_CLIENTS = tuple(f"confluent_kafka.{name}" for name in ("Consumer", "DeserializingConsumer", "Producer", "SerializingProducer"))
"""Of librdkafka; nobody uses them, for all reading and writing goes over connections of our own."""
OF_KAFKA_PYTHON = ("kafka.errors", "kafka.net.sasl", "kafka.protocol", "kafka.record")
"""Its schemas, logins, readers of old records, and errors. Its clients are not used: all questions go over connections of our own."""
REGISTRY = "kafka.protocol.api_header"
"""Where it finds the classes of answers, and loses them."""
PURE = ("formats", "policy", "logins", "config")
PURE_FILES = {
    *(f"ledger.{name}" for name in ("record", "codec", "control_records", "decisions", "apply_decisions")),
    *(f"groups.{name}" for name in ("translation", "checkpoint_rules", "offset_sync_store")),
}
"""Of rooms that otherwise ask clusters."""
ADAPTERS = {
    *(
        "kafka_mirror.kafka",
        "kafka_mirror.spark",
        "kafka_mirror.ledger",
        "kafka_mirror.topics",
        "kafka_mirror.groups",
        "kafka_mirror.copy",
        "kafka_mirror.audit",
        "kafka_mirror.decide",
        "kafka_mirror.status",
    ),
    *("kafka_mirror.backfill", "kafka_mirror.cutover", "kafka_mirror.migration"),
    *("kafka_mirror.airflow", "kafka_mirror.cli", "kafka_mirror.web", "kafka_mirror.client"),
}
AUDIT_CORE = {"compare.py", "digest.py", "copied_ranges.py", "model.py", "report.py"}
"""The audit's modules that are pure; the others read."""
CUTOVER_ADAPTERS = {
    *("failover/close_flow.py", "failover/source_comparison.py", "failover/steps.py"),
    *("steps/group_survey.py", "steps/move_groups.py"),
    *("steps/audit_gate.py", "steps/copies.py", "steps/fence.py", "steps/fence_acls.py"),
    *("steps/open_ledgers.py", "steps/open_wave.py", "steps/opposite_flow.py"),
    *("steps/preflight.py", "steps/wave_ends.py", "steps/writers.py"),
    *("wave/control_notes.py", "wave/move.py", "wave/run.py"),
}
"""The cutover's modules that ask clusters; the others judge what these saw."""
VALUES_AND_COMPARISONS = {
    *(
        "kafka_mirror.audit.model",
        "kafka_mirror.kafka.model",
        "kafka_mirror.copy.plan.target_checks",
        "kafka_mirror.status.status",
        "kafka_mirror.topics.config_diff",
    ),
    "kafka_mirror.groups.group_move",
}
"""Modules of adapting rooms that ask no cluster, and that the cutover's judgement is made of."""
SPARK_CONNECT = (Path("spark/connect.py"), Path("spark/connect_errors.py"), Path("spark/worker.py"))
"""The modules that talk to Spark, or are started by it; drivers of spark-submit are in jobs/."""
BELOW_FLOWS = ("errors", "formats", "policy", "logins", "kafka")
"""Rooms that know no flow and no property."""
AIRFLOW_PRIVATE = (Path("airflow/compat.py"), Path("airflow/work/state_stores.py"), Path("airflow/api_server.py"))
"""The modules that use what Airflow does not call public: in DAG files and tasks, for what tasks remember, and in the api-server."""
AIRFLOW_PUBLIC = {"airflow.sdk", "airflow.sdk.exceptions", "airflow.sdk.log", "airflow.triggers.base"}
PLUGIN = Path("plugin.py")
"""What Airflow loads into every process of its own."""
LATE_IMPORTS = {
    "airflow": (46, "DAG files are parsed every few seconds, and import nothing that only tasks need: each task has one door into `work`"),
    "audit": (1, "workers alone have Spark"),
    "cli": (2, "the shell's completion; a pipe needs no terminal's library"),
    "__main__.py": (11, "the one door to the commands: each imports its own when it runs"),
    "config": (1, "a flow without key stores needs no cryptography"),
    "formats": (1, "a copy that opens no batch needs no codecs"),
    "kafka": (3, "only a failed handshake needs cryptography"),
    "logins": (11, "packages of clouds that one login alone needs"),
    "plugin.py": (5, "every task of Airflow loads it"),
    "spark": (20, "PySpark is an optional package, and there are two of it"),
    "status": (9, "the api-server takes snapshots only where somebody looks; a task of a step pays for its own step alone"),
}
"""How many imports stand inside functions, by room, at most, and what wants them there. A new one belongs to the top of its file, or to the
one door through which its room gets the package."""
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


def is_public(module: str) -> bool:
    """Whether Airflow, or the interface of a provider, offers this to others."""
    parent, _, name = module.rpartition(".")
    if parent == "airflow.sdk":
        import airflow.sdk

        return module in AIRFLOW_PUBLIC or name in airflow.sdk.__all__
    return within(module, "airflow.providers") or module in AIRFLOW_PUBLIC or parent in AIRFLOW_PUBLIC


def asks_clusters(module: str) -> bool:
    """Whether it belongs to what asks clusters, as the cutover's judgement must not."""
    if any(within(module, each) for each in (*VALUES_AND_COMPARISONS, *(f"kafka_mirror.{file}" for file in PURE_FILES))):
        return False
    surveys = {f"kafka_mirror.cutover.{name.removesuffix('.py').replace('/', '.')}" for name in CUTOVER_ADAPTERS}
    return any(within(module, each) for each in (ADAPTERS - {"kafka_mirror.cutover"}) | surveys)


def refused(relative: Path, module: str) -> bool:
    """Whether include/kafka_mirror/<relative> must not import the module."""
    top = module.split(".")[0]
    package = relative.parts[0]
    if top == "airflow":
        allowed = within(module, "airflow.plugins_manager") if relative == PLUGIN else relative in AIRFLOW_PRIVATE or is_public(module)
        return not allowed or (package != "airflow" and relative != PLUGIN)
    if top in ("pyspark", "grpc", "pyarrow"):
        return relative not in SPARK_CONNECT
    if top in CLIENTS:
        return is_unused(relative, module) or (package != "kafka" and relative.parent != MOVES_RECORDS)
    if top in ("services", "lab", "tests", "tools", "dags", "jobs", "plugins"):
        return True
    if within(module, "kafka_mirror.airflow"):
        return package not in ("airflow", "__main__.py", str(PLUGIN))
    if top in ("fastapi", "starlette", "jinja2", "pydantic"):
        return package != "web"
    return asks_though_pure(relative, module)


def is_unused(relative: Path, module: str) -> bool:
    """Whether it is an admin client where nothing is changed, a consumer, or a part of kafka-python that nobody uses."""
    is_used = module in ("kafka", "kafka.net") or any(within(module, each) for each in OF_KAFKA_PYTHON)
    of_kafka_python = within(module, "kafka") and (not is_used or within(module, REGISTRY))
    return of_kafka_python or module in UNUSED_CLIENTS or (module == ADMIN_CLIENT and relative not in CHANGES_CLUSTERS)


def asks_though_pure(relative: Path, module: str) -> bool:
    """Whether a file whose place is pure imports what asks clusters, or one below the flows what knows them."""
    package = relative.parts[0]
    if package == "audit" and relative.name in AUDIT_CORE:
        return asks_clusters(module) and not within(module, "kafka_mirror.audit")
    if package == "cutover" and "/".join(relative.parts[1:]) not in CUTOVER_ADAPTERS:
        return asks_clusters(module)
    knows_flows = package in BELOW_FLOWS and within(module, "kafka_mirror.config")
    is_pure = package in PURE or ".".join(relative.with_suffix("").parts) in PURE_FILES
    return knows_flows or (is_pure and asks_clusters(module))


def library_files() -> list[Path]:
    return sorted(path.relative_to(LIBRARY) for path in LIBRARY.rglob("*.py"))


@pytest.mark.parametrize("folder", ["services", "lab"])
def test_programs_import_no_tests(folder: str) -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (LIBRARY.parents[1] / folder).rglob("*.py")]
    assert trees
    assert [module for tree in trees for module in imports(tree) if within(module, "tests")] == []


@pytest.mark.parametrize("relative", library_files(), ids=str)
def test_library_module_imports_only_what_its_place_allows(relative: Path) -> None:
    tree = ast.parse((LIBRARY / relative).read_text(encoding="utf-8"))
    assert [module for module in imports(tree) if refused(relative, module)] == []


@pytest.mark.parametrize("relative", [path for path in library_files() if path.parts[0] in ("airflow", "web")], ids=str)
def test_airflows_private_attributes_are_used_in_two_modules_alone(relative: Path) -> None:
    attributes = [node for node in ast.walk(ast.parse((LIBRARY / relative).read_text(encoding="utf-8"))) if isinstance(node, ast.Attribute)]
    private = [ast.unparse(node) for node in attributes if node.attr.startswith("_") and not node.attr.startswith("__")]
    own = ("self.", "super().", "cls.")
    assert relative in AIRFLOW_PRIVATE or [text for text in private if not text.startswith(own)] == []


@pytest.mark.parametrize("path", [*sorted((ROOT / "plugins").glob("*.py")), LIBRARY / PLUGIN], ids=lambda path: path.name)
def test_plugin_that_every_task_loads_imports_nothing_but_airflows_base_class(path: Path) -> None:
    tree = at_import_time(ast.parse(path.read_text(encoding="utf-8")))
    known = ("airflow.plugins_manager", "functools", "importlib.metadata", "importlib.util", "kafka_mirror.plugin", "typing")
    assert [module for module in imports(tree) if not any(within(module, each) for each in known)] == []
    # With it comes its package, which brings nothing but the standard library.
    library = [module for file in ("__init__.py",) for module in imports(ast.parse((LIBRARY / file).read_text(encoding="utf-8")))]
    assert {module for module in library if module.split(".")[0] not in sys.stdlib_module_names} <= {"kafka_mirror"}


@pytest.mark.parametrize("path", [*(ROOT / "dags").glob("*.py"), *LIBRARY.glob("airflow/dags/*.py")], ids=lambda path: path.name)
def test_dag_file_imports_nothing_heavy_when_it_is_parsed(path: Path) -> None:
    tree = at_import_time(ast.parse(path.read_text(encoding="utf-8")))
    assert [module for module in imports(tree) if module.split(".")[0] in HEAVY] == []


@pytest.mark.parametrize(
    "relative", [path for path in library_files() if path.parts[0] == "airflow" and path.parts[1] not in ("work", "page.py")], ids=str
)
def test_what_a_dag_file_may_bring_leaves_the_work_of_tasks_to_the_tasks(relative: Path) -> None:
    tree = at_import_time(ast.parse((LIBRARY / relative).read_text(encoding="utf-8")))
    assert [module for module in imports(tree) if within(module, "kafka_mirror.airflow.work")] == []


@pytest.mark.parametrize(
    ("relative", "module", "expected"),
    [
        ("copy/plan/run.py", "airflow.sdk", True),
        ("airflow/work/copy.py", "airflow.sdk", False),
        ("copy/run.py", "pyspark", True),
        ("spark/connect.py", "pyspark", False),
        ("kafka/cluster.py", "confluent_kafka", False),
        ("kafka/cluster.py", "confluent_kafka.admin.AdminClient", True),
        ("kafka/admin.py", "confluent_kafka.admin.AdminClient", False),
        ("kafka/writer.py", "confluent_kafka.Producer", True),
        ("kafka/acls.py", "kafka.KafkaAdminClient", True),
        ("kafka/groups.py", "kafka.admin.KafkaAdminClient", True),
        ("kafka/groups.py", "kafka.consumer", True),
        ("kafka/broker_connection.py", "kafka.protocol.api_header.ResponseClassRegistry", True),
        ("kafka/groups.py", "confluent_kafka.admin.AdminClient", True),
        ("kafka/acls.py", "kafka.protocol.admin", False),
        ("copy/batches/source.py", "kafka.errors", False),
        ("copy/run.py", "confluent_kafka.admin", True),
        ("topics/topics.py", "kafka", True),
        ("kafka/cluster.py", "kafka_mirror.config.flow", True),
        ("ledger/clusters.py", "kafka_mirror.config.flow", False),
        ("formats/offsets/map.py", "kafka_mirror.kafka.cluster", True),
        ("formats/offsets/map.py", "kafka_mirror.errors", False),
        ("audit/digest.py", "kafka_mirror.kafka.reader", True),
        ("audit/reader.py", "kafka_mirror.kafka.reader", False),
        ("cutover/wave/model.py", "kafka_mirror.kafka.groups", True),
        ("cutover/wave/model.py", "kafka_mirror.kafka.model", False),
        ("cutover/wave/model.py", "kafka_mirror.cutover.steps.group_survey", True),
        ("cutover/steps/group_survey.py", "kafka_mirror.kafka.groups", False),
        ("policy/replication.py", "kafka_mirror.client", True),
        ("client.py", "kafka_mirror.kafka.cluster", False),
        ("client.py", "confluent_kafka", True),
        ("copy/run.py", "kafka_mirror.airflow.copy", True),
        ("copy/run.py", "services.kafka", True),
        ("topics/topics.py", "kafka_mirror.kafka.cluster", False),
        ("web/page.py", "airflow.models.log", True),
        ("airflow/page.py", "airflow.models.log", True),
        ("airflow/compat.py", "airflow.models.log", False),
        ("airflow/tasks.py", "airflow.models.log", True),
        ("airflow/tasks.py", "airflow.sdk.execution_time", True),
        ("airflow/tasks.py", "airflow.sdk.TaskInstanceState", False),
        ("airflow/tasks.py", "airflow.sdk.definitions", True),
        ("airflow/spark_hook.py", "airflow.providers.apache.spark.hooks.spark_submit.SparkSubmitHook", False),
        ("web/app.py", "kafka_mirror.airflow.compat", True),
        ("plugin.py", "kafka_mirror.airflow.page", False),
        ("web/page.py", "kafka_mirror.airflow.tasks", True),
        ("web/page.py", "fastapi", False),
        ("status/snapshot.py", "fastapi", True),
    ],
)
def test_rules_say_no_where_they_should(relative: str, module: str, expected: bool) -> None:
    assert refused(Path(relative), module) == expected


def late_imports(tree: ast.AST, inside: bool = False) -> int:
    """How many import statements stand inside functions."""
    is_function = inside or isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    return (inside and isinstance(tree, ast.Import | ast.ImportFrom)) + sum(
        late_imports(node, is_function) for node in ast.iter_child_nodes(tree)
    )


def test_imports_inside_functions_have_a_reason() -> None:
    counts: Counter[str] = Counter()
    for relative in library_files():
        counts[relative.parts[0]] += late_imports(ast.parse((LIBRARY / relative).read_text(encoding="utf-8")))
    assert {room: count for room, count in counts.items() if count > LATE_IMPORTS.get(room, (0, ""))[0]} == {}


def test_import_inside_a_function_counts_for_the_library_and_not_for_parsing_a_dag() -> None:
    tree = ast.parse("def run():\n    import pyspark\n")
    assert list(imports(tree)) == ["pyspark"]
    assert list(imports(at_import_time(tree))) == []
