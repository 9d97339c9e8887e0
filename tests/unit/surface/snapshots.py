"""What other programs and people's clusters rely on, as text files beside the tests.

If you change it on purpose, write the files again, and read the difference before you commit it:

    MIRROR_WRITE_SURFACE=1 .venv/bin/python -m pytest tests/unit/surface
"""

import difflib
import os
from pathlib import Path

FOLDER = Path(__file__).parent
WRITE = "MIRROR_WRITE_SURFACE"


def expect(name: str, text: str) -> None:
    """The text is that of `<name>.txt`; fails with the lines that differ."""
    file = FOLDER / f"{name}.txt"
    text = text.rstrip("\n") + "\n"
    if os.environ.get(WRITE):
        file.write_text(text, encoding="utf-8")
    stored = file.read_text(encoding="utf-8") if file.exists() else ""
    changes = "\n".join(difflib.unified_diff(stored.splitlines(), text.splitlines(), file.name, "now", lineterm="", n=1))
    assert not changes, f"{changes}\nIf this was meant: {WRITE}=1 .venv/bin/python -m pytest tests/unit/surface"
