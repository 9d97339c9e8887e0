"""The token of `spark serve`, and what it says of itself."""

import stat
from pathlib import Path

import pytest

from kafka_mirror.errors import UsageError
from kafka_mirror.spark.serve import TOKEN, ConnectServer, token_of


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN, raising=False)


def test_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "own" / "token"
    token, source = token_of(file)
    assert source == str(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token_of(file) == (token, source)


def test_variable_goes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "given")
    assert token_of(tmp_path / "token")[0] == "given"
    assert not (tmp_path / "token").exists()


def test_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("word\n")
    file.chmod(0o640)
    with pytest.raises(UsageError, match="Others may read"):
        token_of(file)
    file.write_text("")
    file.chmod(0o600)
    with pytest.raises(UsageError, match="holds no token"):
        token_of(file)


def test_connection_hides_the_token_unless_asked() -> None:
    server = ConnectServer(15002, 0, "512m", "a/b")
    assert server.build_connection_uri(False) == "spark-connect://mirror:***@127.0.0.1:15002"
    assert server.build_connection_uri(True) == "spark-connect://mirror:a%2Fb@127.0.0.1:15002"
    assert "binding.address 127.0.0.1" in server.build_settings("")
