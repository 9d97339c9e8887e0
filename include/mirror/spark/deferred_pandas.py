"""pandas for Spark Connect's client, which imports it at its own start and does nothing with it for numbers and bytes.

Importing pandas costs half a CPU second, as much as everything else of a copy that finds little to do. Inside `deferred_pandas` stand-ins
know its version and hand out stand-ins for its classes and functions; whoever uses one of these imports pandas then.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

_PANDAS = "pandas"
_NAMES = (_PANDAS, "pandas.api", "pandas.api.types")
"""The modules that pyspark 4.2.0's client imports."""


class _Deferred:
    """A class or a function of pandas. Annotations and `isinstance` take it as it is."""

    def __init__(self, module: str, name: str) -> None:
        self._place = (module, name)

    def __call__(self, *values: Any, **named: Any) -> Any:
        return self._imported()(*values, **named)

    def __instancecheck__(self, thing: object) -> bool:
        # Without pandas nobody has anything of its classes.
        return f"{_PANDAS}.core" in sys.modules and isinstance(thing, self._imported())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._imported(), name)

    def _imported(self) -> Any:
        module, name = self._place
        _drop_stand_ins()
        return getattr(importlib.import_module(module), name)


class _StandIn(ModuleType):
    """A module of pandas before it is imported."""

    def __init__(self, name: str, installed: str) -> None:
        super().__init__(name)
        self.__version__ = installed
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system looks for names of its own
            raise AttributeError(name)
        return _Deferred(self.__name__, name)


@contextmanager
def deferred_pandas() -> Iterator[None]:
    """Inside the block an import of pandas gives stand-ins, unless pandas is there already, or is not installed. Modules imported inside
    keep them; all others import pandas itself again."""
    try:
        installed = None if _PANDAS in sys.modules else version(_PANDAS)
    except PackageNotFoundError:
        installed = None
    if installed is not None:
        sys.modules |= {name: _StandIn(name, installed) for name in _NAMES}
    try:
        yield
    finally:
        _drop_stand_ins()


def _drop_stand_ins() -> None:
    for name in _NAMES:
        if isinstance(sys.modules.get(name), _StandIn):
            del sys.modules[name]
