"""Python environments that lack something, made of links to the packages of this one."""

import sysconfig
import venv
from collections.abc import Iterable
from pathlib import Path

_OURS = ("kafka_mirror", "airflow_kafka_mirror", "__editable__")


def linked_environment(directory: Path, lacks: Iterable[str] = ()) -> Path:
    """Makes an environment with all packages of this one but those named here, and the mirror's own. Gives its site-packages."""
    venv.create(directory, symlinks=True)
    (packages,) = directory.glob("lib/python*/site-packages")
    left_out = {*lacks, "__pycache__"}
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.name.split(".")[0] not in left_out and not entry.name.startswith(_OURS):
            (packages / entry.name).symlink_to(entry)
    return packages
