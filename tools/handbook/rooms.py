"""The rooms of the library in the order of their ladder, from their own docstrings and imports."""

import ast
from pathlib import Path

_LIBRARY = Path(__file__).resolve().parents[2] / "include" / "kafka_mirror"


def markdown_rooms() -> str:
    """A row for each room: what it is, in its own words. A room stands below all those that it imports."""
    rooms = {folder.name: folder for folder in sorted(_LIBRARY.iterdir()) if (folder / "__init__.py").exists()}
    imported = {name: _imports(folder) & set(rooms) - {name} for name, folder in rooms.items()}
    order: list[str] = []
    while len(order) < len(rooms):
        ready = [name for name in rooms if name not in order and imported[name] <= set(order)]
        if not ready:
            raise ValueError("The rooms import each other in a circle.")
        order += ready
    rows = [f"| `{name}` | {_first_sentence(rooms[name])} |" for name in order]
    return "\n".join(["| room | what |", "|---|---|", *rows]) + "\n"


def _imports(folder: Path) -> set[str]:
    """The rooms that the files of a folder import, anywhere in them."""
    nodes = [node for file in folder.rglob("*.py") for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    modules += [
        f"kafka_mirror.{name.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "kafka_mirror"
        for name in node.names
    ]
    modules += [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    return {module.split(".")[1] for module in modules if module.startswith("kafka_mirror.")}


def _first_sentence(folder: Path) -> str:
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|").replace("<", "&lt;")
