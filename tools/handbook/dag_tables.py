"""The DAGs and the keys in XCom, from the files beside tests/unit/surface, which tests hold against the code."""

import re
from collections import defaultdict
from pathlib import Path

_SURFACE = Path(__file__).resolve().parents[2] / "tests" / "unit" / "surface"
_FLOW = "east-to-west."
_TASK = re.compile(r"^task (\S+): after \[(.*?)\] ", flags=re.MULTILINE)
_NOT_IN_XCOM = ("alert", "alerts", "command", "packed")


def markdown_dags() -> str:
    """A row for each DAG of a flow: its tasks in the order in which they run, and what its trigger form asks."""
    lines = ["| DAG | tasks | trigger form |", "|---|---|---|"]
    for name, text in _dags().items():
        tasks = dict(_TASK.findall(text))
        params = re.findall(r"^param (\S+):", text, flags=re.MULTILINE)
        lines.append(f"| `{name}` | {' → '.join(_sort_tasks(tasks))} | {_code(params)} |")
    return "\n".join(lines) + "\n"


def markdown_xcom_keys() -> str:
    """A row for each task: the keys of its XCom value, and of those that hold columns or documents, the keys within: once, where a key
    comes first."""
    keys: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in ("documents.txt", "steps.txt"):
        for line in (_SURFACE / file).read_text(encoding="utf-8").splitlines():
            path = re.sub(r"\[\]|\.\d+(?=\.|\[|$)", "", line.partition(": ")[0])
            if match := re.match(r"(copy\.\w+|backfill\.\w+|audit|[\w-]+)\.(\w+)(?:\.(\w+))?", path):
                document, key, inner = match.groups()
                if document not in _NOT_IN_XCOM and inner not in (None, "text", *keys[document][key]):
                    keys[document][key].append(inner)
                keys[document].setdefault(key, [])
    written: set[str] = set()
    lines = ["| task | keys |", "|---|---|"]
    for name, inner_keys in ((name, inner) for name, inner in keys.items() if name not in _NOT_IN_XCOM):
        cells = [f"`{key}`" if str(inner) in written else _key(key, inner) for key, inner in inner_keys.items()]
        written |= {str(inner) for inner in inner_keys.values()}
        lines.append(f"| `{_task(name)}` | {', '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _task(document: str) -> str:
    names = {"copy.verdict": "copy", "backfill.part": "live`, `history"}
    return names.get(document, document.rpartition(".")[2].replace("-", "_"))


def _key(key: str, inner: list[str]) -> str:
    return f"`{key}` ({_code(inner)})" if inner else f"`{key}`"


def _dags() -> dict[str, str]:
    sections = (_SURFACE / "dags.txt").read_text(encoding="utf-8").split("## ")[1:]
    named = {section.partition("\n")[0]: section for section in sections}
    return {name: text for name, text in named.items() if name.startswith(_FLOW)}


def _sort_tasks(tasks: dict[str, str]) -> list[str]:
    """The tasks' names, each after those that it waits for."""
    upstream = {name: set(re.findall(r"[\w-]+", before)) for name, before in tasks.items()}
    done: list[str] = []
    while len(done) < len(upstream):
        done += sorted(name for name, before in upstream.items() if name not in done and before <= set(done))
    return [f"`{name}`" for name in done]


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
