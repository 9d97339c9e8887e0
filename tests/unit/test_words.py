"""What files, classes and functions are called, each word with one meaning; and how docstrings, comments and messages are worded."""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.test_imports import LIBRARY, ROOT

FOLDERS = ("include/kafka_mirror", "dags", "jobs", "plugins", "services", "lab", "tests", "tools")
TESTS = ("tests/unit/lab", "tests/unit/services", "tests/unit/surface", "tests/faults", "tests/compat", "tests/package", "tests/ui")
"""The tests whose texts keep to plain words, too."""
PRONOUNS = set("all any both each every it its none other others our ours own some that these they this those what which who whose".split())
IRREGULAR = set(
    "been begun bound broken brought built chosen come done drawn driven fallen felt found given gone got had held hidden kept known laid "
    "left lost made meant met paid said seen sent shown sold spent stood sworn "
    "taken taught thought told thrown understood won written".split()
)
"""Participles that no ending gives away."""
NOUNS = {
    "binding": "what a decision is bound to",
    "embed": "a verb",
    "fencing": "Kafka's word: an older producer of a transactional id is shut out",
    "feed": "what a page polls",
    "formatting": "how values become text",
    "handling": "what is done with errors",
    "listing": "the lines of one",
    "logging": "the field's word",
    "mapping": "the table from Java's client settings to librdkafka's",
    "messaging": "the field's word",
    "monitoring": "the folder of dashboards and alert rules",
    "need": "a noun",
    "partitioning": "Kafka's word",
    "polling": "the field's word: asking until it is there, or until a deadline",
    "publishing": "making a run's results final",
    "rendering": "templates to pages",
    "routing": "which channel gets an alert",
    "seed": "a noun",
    "setting": "a value with the key that the user wrote",
    "speed": "a noun",
    "string": "a noun",
    "testing": "the field's word",
    "thinning": "how an offset map is made shorter",
    "throttling": "the field's word",
    "timing": "a noun",
    "tracking": "which problems are new, still there, or over",
    "warning": "a finding that stops nothing",
    "waiting": "polling of tests: for what they expect, and until a deadline",
}
"""Words that end like participles and are nouns of the field."""

FLOW_CLASSES = {
    "Flow",
    "FenceOfAnotherFlow",
    "FlowClosed",
    "FlowName",
    "InvalidFlow",
    "FlowPage",
    "FlowProblem",
    "FlowSnapshot",
    "OppositeFlow",
    "FlowState",
    "FlowSummary",
    "FlowSnapshotBuilder",
    "FlowDag",
    "FlowOperator",
    "FlowTask",
    "ResolvedFlow",
}
"""Classes of a replication flow, or of what is said about one."""


VAGUE_NAMES = set("asked each found kept known left made seen shown told".split())
"""They say that something happened to a value, or that there is one, and not what it is."""

DIALECT = re.compile(r"\b(so many|(has|have) to be|anew|likewise|whoever|nobody|told|shall|whence|behind)\b", re.IGNORECASE)
LAG = re.compile(r"\b(be|is|are|falls|lags|none|records|topics) behind\b|\bbehind by\b|look-behind|^.[Bb]ehind\b|`behind`|^.nobody.$")
"""*Behind* is lag. (A look-behind is a regular expression's, `"behind"` the state of what lags, and `"nobody"` a user of the system.)"""
POINTER = re.compile(r"as `\w+`[,.;]|the same( (of|for|as|with|without|in)\b|[,;.])|likewise|see `", re.IGNORECASE)
"""How a docstring begins that only points elsewhere."""
NO_VERBS = set(
    "about across after ahead along around at before behind below beside by during elsewhere far here in instead late near not of off on "
    "or out over since still then there through under unlike until when where while within without".split()
)


OF_AIRFLOW = {"on_kill"}
"""Methods that Airflow calls by these names."""


def is_participle_or_pronoun(name: str) -> bool:
    """By the name's last word, which says what the file is."""
    word = name.rpartition("_")[2]
    return word not in NOUNS and (word in PRONOUNS | IRREGULAR or (len(word) > 4 and word.endswith(("ed", "ing"))))


def library_trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(LIBRARY.rglob("*.py")):
        yield path.relative_to(LIBRARY), ast.parse(path.read_text(encoding="utf-8"))


def code_files() -> Iterator[Path]:
    """All files of code but the tests, relative to the checkout."""
    for folder in FOLDERS:
        if folder != "tests":
            yield from (path.relative_to(ROOT) for path in sorted((ROOT / folder).rglob("*.py")))


def stray_flows(tree: ast.AST) -> Iterator[str]:
    """Parameters and fields `flow` and `flows` that hold something else than a replication flow, what is said of one, or its name."""
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg="flow" | "flows" as name, annotation=ast.expr() as kind) if not says_flow(kind):
                yield f"line {node.lineno}: {name}: {ast.unparse(kind)}"
            case ast.AnnAssign(target=ast.Name(id="flow" | "flows" as name), annotation=kind) if not says_flow(kind):
                yield f"line {node.lineno}: {name}: {ast.unparse(kind)}"


def says_flow(annotation: ast.expr) -> bool:
    return any(word in ast.unparse(annotation) for word in ("Flow", "Configuration", "str"))


def vague_names(tree: ast.AST) -> Iterator[str]:
    """Functions, parameters, fields, attributes and variables that are called by one of VAGUE_NAMES alone."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.arg(arg=name)
                | ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
            ) if name.strip("_") in VAGUE_NAMES:
                yield f"line {node.lineno}: {name}"


def dialect(code: str) -> Iterator[str]:
    """The lines of texts and comments with words of DIALECT."""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", None)):  # the last from Python 3.12 on
            for number, line in enumerate(token.string.splitlines(), token.start[0]):
                if DIALECT.search(LAG.sub("", line)):
                    yield f"line {number}: {line.strip()}"


def pointers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and POINTER.match(text := ast.get_docstring(node) or ""):
            yield text


def odd_functions(tree: ast.Module) -> Iterator[str]:
    """Functions whose names begin as no verb does. Properties are values, and so is what a function without an underscore gives by a
    participle before a noun (`known_topics`) in a module, and what makes an object (`Decided.of`, `with_flow`, `without_others`)."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("__") or node.name in OF_AIRFLOW:
            continue
        first, _, rest = node.name.strip("_").partition("_")
        is_participle = is_participle_or_pronoun(first)
        if node in tree.body and not node.name.startswith("_"):
            is_odd = first in NO_VERBS | PRONOUNS or (is_participle and rest.partition("_")[0] in NO_VERBS | {""})
        else:
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            is_value = any(word in decorators for word in ("property", "classmethod", "staticmethod"))
            is_odd = not is_value and first != "without" and (first in NO_VERBS | PRONOUNS or is_participle)
        if is_odd:
            yield f"line {node.lineno}: {node.name}"


def test_no_module_is_called_by_a_participle_or_a_pronoun() -> None:
    modules = (path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    assert sorted(str(path) for path in modules if is_participle_or_pronoun(path.stem)) == []


def test_no_class_has_the_name_of_another_one() -> None:
    """Private ones neither: who searches for a name finds one thing."""
    names = Counter(node.name for _, tree in library_trees() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert sorted(name for name, count in names.items() if count > 1) == []


def test_flow_is_a_replication_flow_and_nothing_else() -> None:
    classes = {
        node.name for _, tree in library_trees() for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and "Flow" in node.name
    }
    assert classes <= FLOW_CLASSES
    assert [f"{path} {stray}" for path, tree in library_trees() for stray in stray_flows(tree)] == []


def test_no_value_is_called_by_what_happened_to_it() -> None:
    trees = ((path, ast.parse((ROOT / path).read_text(encoding="utf-8"))) for path in code_files())
    assert [f"{path} {name}" for path, tree in trees for name in vague_names(tree)] == []


def test_code_and_its_texts_keep_to_plain_words() -> None:
    for path in code_files():
        code = (ROOT / path).read_text(encoding="utf-8")
        tree = ast.parse(code)
        wrong = [*dialect(code), *pointers(tree), *odd_functions(tree)]
        assert not wrong, f"{path}: {wrong}"


def test_texts_of_tests_keep_to_plain_words() -> None:
    for path in (path for folder in TESTS for path in sorted((ROOT / folder).rglob("*.py"))):
        code = path.read_text(encoding="utf-8")
        wrong = [*dialect(code), *pointers(ast.parse(code))]
        assert not wrong, f"{path}: {wrong}"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('"has to be true"', True),
        ("# what stands behind it", True),
        ('f"{place}, which nobody knows"', True),
        ('"how far the flow may be behind"', False),
        ("nobody = 1", False),
        ('getpwnam("nobody")', False),
        ('def run() -> None:\n    """As `plan`, without a flow."""', True),
        ('def run() -> None:\n    """The same for pairs."""', True),
        ('def run() -> None:\n    """Raises as `plan`."""', False),
        ("def _behind() -> None: ...", True),
        ("def _opened() -> None: ...", True),
        ("def _open() -> None: ...", False),
        ("def moved() -> bool: ...", True),
        ("def asked_about(flow: str) -> None: ...", True),
        ("def by_topic() -> None: ...", True),
        ("def moved_topics() -> set[str]: ...", False),
        ("class Decisions:\n    def of(self) -> None: ...", True),
        ("class Decisions:\n    def moved(self) -> bool: ...", True),
        ("class Decisions:\n    @staticmethod\n    def of() -> None: ...", False),
        ("def run() -> None:\n    def failed() -> None: ...", True),
        ("@property\ndef _opened() -> None: ...", False),
    ],
)
def test_rules_say_what_is_not_plain(code: str, expected: bool) -> None:
    tree = ast.parse(code)
    assert bool([*dialect(code), *pointers(tree), *odd_functions(tree)]) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kept", True),
        ("beginning", True),
        ("each", True),
        ("translated", True),
        ("closing", True),
        ("history_asked", True),
        ("lost_records", False),
        ("mapping", False),
        ("ring", False),
        ("seed", False),
        ("ledger", False),
    ],
)
def test_rule_says_no_where_it_should(name: str, expected: bool) -> None:
    assert is_participle_or_pronoun(name) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def run(flow: Flow) -> None: ...", False),
        ("def run(flow: str) -> None: ...", False),
        ("def run(flow: InFlightPartition) -> None: ...", True),
        ("class Engine:\n    flows: tuple[InFlightPartition, ...]", True),
    ],
)
def test_rule_says_what_is_no_flow(code: str, expected: bool) -> None:
    assert bool(list(stray_flows(ast.parse(code)))) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("found = []", True),
        ("def told(error: Error) -> str: ...", True),
        ("def run(seen: Observation) -> None: ...", True),
        ("class Part:\n    left: Intervals", True),
        ("self._known = known_topics", True),
        ("found_id = topic.id", False),
        ("print(known)", False),
    ],
)
def test_rule_says_what_is_vague(code: str, expected: bool) -> None:
    assert bool(list(vague_names(ast.parse(code)))) == expected
