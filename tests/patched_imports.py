"""Code of the tests in processes that others start: a `sitecustomize` in the way of all of them, which patches modules when they come.

Airflow forks its tasks and Spark starts Python anew, so neither can be patched from a test. The directory is to be the first in PYTHONPATH.
"""

from pathlib import Path

_FINDER = """
import importlib.abc, importlib.machinery, sys


class Patching(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module

        def patched(module):
            execute(module)
            PATCHES[name](module)

        spec.loader.exec_module = patched
        return spec


sys.meta_path.insert(0, Patching())
"""


def write_sitecustomize(directory: Path, source: str) -> None:
    """Makes the directory with it. `source` has PATCHES, a function of the module for each name; it knows the directory as HERE."""
    directory.mkdir()
    here = "import pathlib\n\nHERE = pathlib.Path(__file__).parent\n"
    (directory / "sitecustomize.py").write_text(here + source + _FINDER)
