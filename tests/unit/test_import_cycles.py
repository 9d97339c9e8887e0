"""The rooms of the library form a ladder and its files no cycle.

Imports inside functions count; those for a type checker alone do not.
"""

import ast
from collections.abc import Collection, Mapping
from functools import cache

from tests.unit.test_imports import LIBRARY

LADDER = (
    ("",),
    ("errors", "watchdog"),
    ("formats", "policy", "logins"),
    ("config", "kafka"),
    ("ledger", "spark"),
    ("topics", "groups"),
    ("copy",),
    ("audit", "decide"),
    ("status", "backfill", "migration"),
    ("cutover",),
    ("airflow", "cli", "web"),
    ("__main__", "client", "plugin", "provider"),
)
"""Ten floors of rooms, between the package itself, "", which has the version, and the files above them all. A room imports only rooms of
lower floors; those of one floor do not know each other."""

Graph = Mapping[str, set[str]]


@cache
def library() -> dict[str, set[str]]:
    """Which file imports which, by their names below `kafka_mirror`."""
    trees = {}
    for path in LIBRARY.rglob("*.py"):
        name = ".".join(("kafka_mirror", *path.relative_to(LIBRARY).with_suffix("").parts)).removesuffix(".__init__")
        trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    graph = {name: imported(tree, trees.keys()) - {name} for name, tree in trees.items()}
    return {below(name): set(map(below, others)) for name, others in graph.items()}


def imported(tree: ast.Module, files: Collection[str]) -> set[str]:
    """Which of the files a file imports: of `from a import b` the file a.b, where there is one, else a."""
    found = set()
    for node in ast.walk(without_type_checking(tree)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            longer = {f"{node.module}.{name.name}" for name in node.names}
            found |= (longer & set(files)) | ({node.module or ""} if longer - set(files) else set())
    return found & set(files)


def below(module: str) -> str:
    return module.removeprefix("kafka_mirror").removeprefix(".")


def without_type_checking(tree: ast.Module) -> ast.Module:
    class Prune(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)

    return Prune().visit(tree)


def cycles(graph: Graph) -> set[tuple[str, ...]]:
    """Each set of files of which every one reaches every other."""
    reached = {name: reachable(graph, name) for name in graph}
    return {tuple(sorted(other for other in reached[name] if name in reached[other])) for name in graph if name in reached[name]}


def reachable(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def climbs(graph: Graph) -> set[str]:
    """Imports of a room that is not on an earlier step. Of a room that stands nowhere, each is one."""
    step = {room: number for number, rooms in enumerate(LADDER) for room in rooms}
    pairs = ((file, other) for file, others in graph.items() for other in others if file and room(file) != room(other))
    return {f"{file} -> {other}" for file, other in pairs if step.get(room(other), len(LADDER)) >= step.get(room(file), 0)}


def room(file: str) -> str:
    return file.partition(".")[0]


def test_files_form_no_cycle() -> None:
    assert cycles(library()) == set()


def test_rooms_form_a_ladder() -> None:
    assert climbs(library()) == set()


def test_there_are_ten_floors() -> None:
    assert len(LADDER[1:-1]) == 10


def test_plan_is_importable_without_the_lanes() -> None:
    plan = {file: others for file, others in library().items() if within(file, "copy.plan")}
    assert plan
    assert {other for others in plan.values() for other in others if within(other, "copy") and not within(other, "copy.plan")} == set()


def within(file: str, package: str) -> bool:
    return file == package or file.startswith(f"{package}.")


def test_every_room_stands_on_the_ladder() -> None:
    assert set(map(room, library())) == {each for rooms in LADDER for each in rooms}


def test_cycle_is_found_however_long_and_a_way_that_leads_nowhere_is_none() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == {("a", "b", "c")}
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == set()


def test_import_of_a_later_step_of_the_same_step_and_of_an_unknown_room_climbs() -> None:
    graph = {"topics.a": {"kafka.b", "copy.c", "topics.d"}, "audit.a": {"decide.b"}, "kafka.b": {"rooms.new"}}
    assert climbs(graph) == {"topics.a -> copy.c", "audit.a -> decide.b", "kafka.b -> rooms.new"}


def test_import_inside_a_function_counts_and_one_for_types_does_not() -> None:
    tree = ast.parse(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import kafka_mirror.a\ndef run():\n    import kafka_mirror.b\n"
    )
    assert imported(tree, ["kafka_mirror.a", "kafka_mirror.b"]) == {"kafka_mirror.b"}


def test_package_beside_its_module_is_imported_too() -> None:
    tree = ast.parse("from kafka_mirror.a import Name\nfrom kafka_mirror.a import b\nfrom kafka_mirror.c import d\n")
    assert imported(tree, ["kafka_mirror.a", "kafka_mirror.a.b", "kafka_mirror.c", "kafka_mirror.c.d"]) == {
        "kafka_mirror.a",
        "kafka_mirror.a.b",
        "kafka_mirror.c.d",
    }
