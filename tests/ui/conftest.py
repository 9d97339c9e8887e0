"""The demo as a user starts it, and a real browser to look at it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from services.demo.settings import recorded_ports, variable
from services.demo.stack import Stack
from services.ports import free_ports, is_free

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
NEEDED = "This test needs Chromium, and the PATH has none of {}: install it (Debian: apt-get install chromium)."
PATIENCE_MS = 60_000  # Playwright's own five seconds measure how busy the machine is, not what the page does
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]


@dataclass(frozen=True)
class Demo:
    """A directory for `python -m services.demo` with ports of its own."""

    home: Path
    environment: dict[str, str]

    def command(self, *arguments: str) -> str:
        """Runs what `make demo` or `make stop` runs, and gives what it said; it must not fail."""
        command = [sys.executable, "-m", "services.demo", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1000, check=False
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    @property
    def stack(self) -> Stack:
        return Stack(self.home, recorded_ports(self.home))


@pytest.fixture(scope="module")
def demo(services_directory: Path) -> Iterator[Demo]:
    """Nothing of it runs before a test starts it; stopped at the end, whatever the tests did."""
    home, ports = services_directory / "demo", port_pairs(6)
    chosen = {variable(name): str(port) for name, port in zip(("ui", "east", "west", "postgres", "alerts", "spark"), ports, strict=True)}
    demo = Demo(home, {**os.environ, "PYTHONPATH": f"{ROOT / 'include'}{os.pathsep}{ROOT}", "DEMO_DIRECTORY": str(home), **chosen})
    yield demo
    demo.command("stop")
    demo.stack.postgres.remove()


@pytest.fixture(scope="module")
def report(demo: Demo) -> str:
    """What the demo said when it was started for the first time; it runs since."""
    return demo.command()


@pytest.fixture
def page() -> Iterator[Page]:
    """An empty page of a headless browser; the test fails if a script on it fails, or wants what the page's own policy forbids."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.fail(NEEDED.format(", ".join(CHROMIUM)), pytrace=False)
    errors: list[str] = []
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=program, args=OPTIONS) as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if "Content Security Policy" in said.text else None)
        yield page
    assert errors == []


def port_pairs(count: int) -> list[int]:
    """Ports whose next one is free too, and which do not overlap."""
    found: list[int] = []
    while len(found) < count:
        [port] = free_ports(1)
        if is_free(port + 1) and not any(abs(port - other) < 2 for other in found):
            found.append(port)
    return found
