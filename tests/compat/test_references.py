"""References in values, resolved as Kafka's own providers resolve them; what those leave as it stands is an error here."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.references import read_providers
from kafka_mirror.config.setting import Setting
from kafka_mirror.errors import ConfigurationError
from tests.compat.configurations import REFERENCE_PIECES
from tests.compat.peer import ENVIRONMENT, Peer, Refused, compared

CLASSES = "org.apache.kafka.common.config.provider."


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of secrets, and one that no provider may read."""
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "a.properties").write_text("user=ann\npassword = p\\u00e4ss\\\n  wörd: 1 \nempty=\nnested=${env:COMPAT_A}\n", "utf-8")
    (folder / "latin.properties").write_bytes("user=\xe4".encode("latin-1"))
    (folder / "password").write_text("line\n", "utf-8")
    (folder / "binary").write_bytes(b"\xff\xfe")
    (folder / "folder").mkdir()
    return folder


@compared(250)
@given(
    st.lists(st.sampled_from(REFERENCE_PIECES), min_size=1, max_size=4),
    st.sampled_from(["", "COMPAT_.*", "COMPAT_[AB]", "compat_a"]),
    st.sampled_from(["", "{folder}", "/usr", "/usr,{folder}", "{folder}/folder"]),
)
def test_a_text_is_what_kafkas_providers_make_of_it(peer: Peer, secrets: Path, pieces: list[str], allowlist: str, paths: str) -> None:
    peer.cases["texts with references"] += 1
    text = "".join(pieces).replace("{folder}", str(secrets))
    paths = paths.replace("{folder}", str(secrets))
    declared = {
        "env": ("EnvVarConfigProvider", {"allowlist.pattern": allowlist} if allowlist else {}),
        "file": ("FileConfigProvider", {"allowed.paths": paths} if paths else {}),
        "dir": ("DirectoryConfigProvider", {"allowed.paths": paths} if paths else {}),
    }
    raw = {"config.providers": "env, file, dir"}
    for name, (kind, parameters) in declared.items():
        raw[f"config.providers.{name}.class"] = CLASSES + kind
        raw |= {f"config.providers.{name}.param.{parameter}": value for parameter, value in parameters.items()}
    ours = read_providers({key: Setting(value, key) for key, value in raw.items()}, ENVIRONMENT)
    try:
        providers = {name: {"class": CLASSES + kind, "parameters": parameters} for name, (kind, parameters) in declared.items()}
        theirs = peer.ask("references", providers=providers, properties={"x": text})["x"]
    except Refused:
        theirs = None
    try:
        found = ours.resolve(Setting(text, "x"))
    except ConfigurationError:
        # Kafka leaves what it does not find as it stands, and a client then takes the text of the reference for a password.
        assert theirs is None or "${" in theirs
    else:
        assert found == theirs
