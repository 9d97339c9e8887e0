"""What stands beside a wheel at a release: its software bill of materials (CycloneDX, JSON), and SHA256SUMS of both.

    python tools/sbom.py dist/airflow_kafka_mirror-1.0.0-py3-none-any.whl

The bill lists what the wheel and the extras of the image ask for, directly or not, in the versions that this release was tested with: the
lock of the image. The same wheel and lock give the same bytes.
"""

import hashlib
import json
import re
import sys
from collections import defaultdict
from email.message import Message
from email.parser import Parser
from itertools import chain
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "image" / "airflow-3.3.2.lock"
_OURS = "airflow-kafka-mirror"


def bill(wheel: Path, lock: Path) -> dict[str, object]:
    """The bill of materials of a wheel."""
    metadata, digest = metadata_of(wheel), sha256(wheel)
    ours = f"pkg:pypi/{_OURS}@{metadata['Version']}"
    versions, asks = read_lock(lock.read_text(encoding="utf-8"))
    reached, waiting = set(), [_OURS]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += asks[name]
    refs = {name: [f"pkg:pypi/{name}@{version}" for version in versions[name]] for name in sorted(reached - {_OURS})} | {_OURS: [ours]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, f'{digest} {sha256(lock)}')}",
        "version": 1,
        "metadata": {
            "component": {
                **_component(ours),
                "description": metadata["Summary"],
                "licenses": [{"license": {"id": metadata["License-Expression"]}}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
        },
        "components": [_component(ref) for name, own_refs in refs.items() if name != _OURS for ref in own_refs],
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(chain.from_iterable(refs[child] for child in asks[name]))}
            for name, own_refs in refs.items()
            for ref in own_refs
        ],
    }


def _component(ref: str) -> dict[str, object]:
    name, _, version = ref.removeprefix("pkg:pypi/").partition("@")
    return {"type": "library", "bom-ref": ref, "name": name, "version": version, "purl": ref}


def read_lock(text: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The versions of each package of a lock (more than one, where it depends on the Python), and what each package asks for."""
    versions, asks = defaultdict(list), defaultdict(list)
    for entry in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE):
        if pin := re.match(r"([\w.-]+)==(\S+)", entry):
            versions[pin[1]].append(pin[2])
            for parent in re.findall(r"^    #(?: via|  ) ([a-z0-9][\w.-]*)", entry, flags=re.MULTILINE):
                asks[parent].append(pin[1])
    return versions, {name: sorted(set(asks[name])) for name in (*versions, _OURS)}


def metadata_of(wheel: Path) -> Message:
    """What a wheel says of itself."""
    with ZipFile(wheel) as packed:
        [name] = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(packed.read(name).decode())


def sha256(file: Path) -> str:
    """The digest of a file, in hexadecimal."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main(wheel: Path) -> None:
    """Writes both files beside the wheel."""
    file = wheel.with_name(f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json")
    file.write_text(json.dumps(bill(wheel, LOCK), indent=2) + "\n", encoding="utf-8")
    sums = wheel.with_name("SHA256SUMS")
    sums.write_text("".join(f"{sha256(path)}  {path.name}\n" for path in (wheel, file)), encoding="utf-8")
    print(f"{file}\n{sums}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
