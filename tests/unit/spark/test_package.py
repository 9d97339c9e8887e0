"""The library as a zip is the same code as where it is installed."""

import subprocess
import sys
from pathlib import Path

from kafka_mirror.spark.files import code_digest, package


def test_zip_has_the_digest_of_the_installed_library(tmp_path: Path) -> None:
    code = "from kafka_mirror.spark.files import INCLUDE, code_digest; print(INCLUDE, code_digest())"
    archive = package(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(archive)}, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == [str(archive), code_digest()], done.stderr
