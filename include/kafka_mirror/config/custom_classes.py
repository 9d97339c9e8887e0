"""Classes that the configuration names: MirrorMaker 2's own policies and filters, and Python classes of the user."""

import importlib
from typing import Any

from kafka_mirror.errors import ConfigurationError, Problem

_JAVA_PACKAGE = "org.apache.kafka.connect.mirror."


def java_name(kind: type) -> str:
    """The name of MirrorMaker 2's class that one of ours stands for."""
    return _JAVA_PACKAGE + kind.__name__


def custom_class(name: str, named: str, base: type) -> type:
    """The class that the property `name` names as `package.module.Class` or `package.module:Class`.

    Raises ConfigurationError if there is no such Python class, or if it does not derive from `base`.
    """
    module_name, _, class_name = named.replace(":", ".").strip().rpartition(".")
    try:
        loaded: Any = getattr(importlib.import_module(module_name), class_name)
    except (ModuleNotFoundError, AttributeError, ValueError) as error:
        raise _refuse(name, named, f"{_explain_missing(error, module_name, class_name)}. {_say_how_to(base)}") from error
    except Exception as error:
        raise _refuse(name, named, f"the Python module '{module_name}' cannot be imported: {type(error).__name__}: {error}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise _refuse(name, named, f"is no class that derives from {_name_publicly(base)}")
    return loaded


def construct(name: str, named: str, kind: type, properties: dict[str, str]) -> Any:
    """Makes an object of a user's class with the flow's properties. Raises ConfigurationError for whatever goes wrong in there."""
    try:
        return kind(properties)
    except ConfigurationError:
        raise
    except Exception as error:
        raise _refuse(name, named, f"cannot be constructed: {type(error).__name__}: {error}") from error


def _explain_missing(error: Exception, module_name: str, class_name: str) -> str:
    if isinstance(error, AttributeError):
        return f"the Python module '{module_name}' has no class '{class_name}'"
    if not module_name:
        return f"'{class_name}' says no module"
    missing = getattr(error, "name", None)
    if missing and not module_name.startswith(missing):
        return f"the Python module '{module_name}' needs the module '{missing}', which is not installed"
    return f"there is no Python module '{module_name}', and Java classes cannot be loaded here"


def _say_how_to(base: type) -> str:
    return (
        f"Write it as a Python class that derives from {_name_publicly(base)} and takes a dict of properties in its constructor, "
        "put its module on the PYTHONPATH of scheduler and workers, and name it package.module.Class"
    )


def _name_publicly(base: type) -> str:
    """As users import it: from the package."""
    return ".".join((*base.__module__.split(".")[:2], base.__name__))


def _refuse(name: str, named: str, message: str) -> ConfigurationError:
    return ConfigurationError([Problem(name, message, named)])
