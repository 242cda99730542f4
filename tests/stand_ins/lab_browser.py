"""JupyterLab in a headless Chromium: what a student sees of a notebook, and does with it."""

import contextlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BROWSERS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
START_SECONDS = 120.0
# Every cell is in the page, also those out of sight; and nobody asks about news.
SETTINGS = {
    "notebook-extension/tracker.jupyterlab-settings": {"windowingMode": "none"},
    "apputils-extension/notification.jupyterlab-settings": {"fetchNews": "false"},
}


def browser_program() -> str | None:
    """Return a Chromium of this machine, None if there is none."""
    return next((path for path in BROWSERS if Path(path).is_file()), None)


@contextlib.contextmanager
def jupyterlab(root: Path, place: Path) -> Iterator[str]:
    """Serve a course tree; gives the address, with its token."""
    token, port = secrets.token_hex(16), _free_port()
    folders = {
        name: str(place / name)
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    for name, settings in SETTINGS.items():
        file = place / "JUPYTER_CONFIG_DIR" / "lab" / "user-settings" / "@jupyterlab" / name
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(settings))
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *(f"--port={port}", f"--IdentityProvider.token={token}", f"--notebook-dir={root}"),
    ]
    env = {**os.environ, **folders, "PYTHONPATH": str(root)}
    with (place / "jupyter.log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=root, env=env, stdout=log, stderr=log, start_new_session=True
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(f"{address}/api?token={token}", server)
            yield f"{address}/lab/tree/{{}}?token={token}&reset"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


class LabPage:
    """One notebook in JupyterLab."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        page.goto(address, timeout=120_000)
        page.wait_for_selector(".jp-CodeCell .cm-content", timeout=120_000)
        page.wait_for_selector("text=/Python 3.*Idle/", timeout=120_000)

    def cell(self, text: str) -> Any:
        """Return the cell whose source begins with a text."""
        pattern = re.compile(rf"^\s*{re.escape(text)}")
        editors = self.page.locator(".jp-CodeCell .cm-content")
        for at in range(editors.count()):
            if pattern.match(editors.nth(at).inner_text()):
                return self.page.locator(".jp-CodeCell").nth(at)
        raise AssertionError(f"no cell begins with {text!r}")

    def write(self, text: str, source: str) -> None:
        """Put a new source in the place of a cell's."""
        editor = self.cell(text).locator(".cm-content")
        editor.scroll_into_view_if_needed()
        editor.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(source)

    def run(self, text: str, timeout: float = 300.0) -> float:
        """Run a cell to its end; return the seconds that it took."""
        cell = self.cell(text)
        cell.locator(".cm-content").scroll_into_view_if_needed()
        cell.locator(".cm-content").click()
        started = time.monotonic()
        self.page.keyboard.press("Control+Enter")
        prompt = cell.locator(".jp-InputPrompt")
        deadline = started + timeout
        while not re.search(r"\[\d+\]", prompt.inner_text()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{text!r} did not end: {prompt.inner_text()}")
            self.page.wait_for_timeout(50)
        return time.monotonic() - started

    def output(self, text: str) -> str:
        """Return what the output of a cell says, as it is drawn."""
        area = self.cell(text).locator(".jp-OutputArea")
        return area.first.inner_text()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.3)
    raise AssertionError("JupyterLab did not start")
