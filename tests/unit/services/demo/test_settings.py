"""Where the demo's ports come from."""

from pathlib import Path

import pytest

from services.demo.settings import DemoRefused, Ports, chosen_ports, directory, record_ports, recorded_ports


def test_ports_are_the_usual_ones_unless_the_environment_chooses() -> None:
    assert chosen_ports({}) == Ports()
    assert chosen_ports({"DEMO_UI_PORT": "8080", "DEMO_WEST_PORT": "9192"}) == Ports(ui=8080, west=9192)


@pytest.mark.parametrize("text", ["x", "80", "65535", "-1", "18080.5"])
def test_what_is_no_port_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(DemoRefused, match=f"DEMO_EAST_PORT={text} is not a port"):
        chosen_ports({"DEMO_EAST_PORT": text})


def test_port_beside_a_cluster_is_its_controllers() -> None:
    with pytest.raises(DemoRefused, match=r"share a port.*DEMO_UI_PORT=19093"):
        chosen_ports({"DEMO_UI_PORT": "19093"})


def test_recorded_ports_are_found_again(tmp_path: Path) -> None:
    assert recorded_ports(tmp_path) == Ports()
    record_ports(tmp_path / "new", Ports(ui=8080))
    assert recorded_ports(tmp_path / "new") == Ports(ui=8080)


def test_directory_is_an_absolute_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert directory({"DEMO_DIRECTORY": "here"}) == tmp_path / "here"
    assert directory({}).parts[-2:] == (".run", "demo")
