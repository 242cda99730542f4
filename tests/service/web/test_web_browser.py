"""Handing in, watching and reading as a person does: the application, uvicorn and Chromium."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from stand_ins.lab_browser import browser_program
from stand_ins.sample_reports import measured, mixed, speed_entry
from stand_ins.web_class import CODE, NOW, WebClass

from grader.service.adapters.web import live
from grader.service.adapters.web.app import server_of
from grader.service.domain.records import Alias, Role

sync_api = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.skipif(browser_program() is None, reason="there is no Chromium here")
PHONE = {"width": 360, "height": 740}


class Watched:
    """A page, and what its browser complained of."""

    def __init__(self, context: Any, address: str, token: str) -> None:
        self.complaints: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda asked: self._failed(asked))
        self.address = address
        self.page.goto(f"{address}/login")
        self.page.wait_for_selector("#token:focus")
        self.page.keyboard.type(token)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(f"{address}/")

    def go(self, path: str) -> Any:
        """Open a page; it must fit its window."""
        self.page.goto(f"{self.address}{path}")
        wide = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, path
        return self.page

    def _failed(self, asked: Any) -> None:
        if asked.failure != "net::ERR_ABORTED":  # the page was left while it was asked for
            self.complaints.append(f"{asked.url} failed")


@pytest.fixture
def address(lesson: WebClass) -> Iterator[str]:
    """Serve the class."""
    server = uvicorn.Server(server_of(lesson.app, "127.0.0.1", 0))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    ends = time.monotonic() + 30
    while not server.started and time.monotonic() < ends:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(20)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser without a window."""
    with sync_api.sync_playwright() as tools:
        made = tools.chromium.launch(
            executable_path=browser_program(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield made
        made.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_work_is_handed_in_watched_and_read(
    lesson: WebClass,
    address: str,
    chromium: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scripts: bool,
) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.1)
    (tmp_path / "echo.py").write_bytes(CODE)
    context = chromium.new_context(viewport=PHONE, java_script_enabled=scripts)
    watched = Watched(context, address, lesson.token("s17"))
    page = watched.page

    page.goto(f"{address}/labs/90")
    page.set_input_files("#code", tmp_path / "echo.py")
    page.click("text=or paste them as text")
    page.fill("#pseudocode-text", "# Mine")
    page.click("button:text('Hand in')")
    page.wait_for_url(f"{address}/attempts/1")
    page.wait_for_selector("text=Place 1 in the queue")
    lesson.store.tell(1, "task", {"task": "norm", "tests": 7, "ended": 7}, NOW)
    if scripts:
        page.wait_for_selector("text=norm: 7 tests judged")
    item = lesson.store.hand_in(1)
    assert item is not None
    lesson.grade(item, measured(speed_entry("x", size=1), speed_entry("y", size=2)))
    if not scripts:
        page.reload()
    page.wait_for_selector("text=80 of 100 points")

    drawn = page.locator("figure img").first
    drawn.scroll_into_view_if_needed()
    if scripts:
        page.wait_for_function("document.querySelector('figure img').naturalWidth > 0")
    assert watched.complaints == []
    context.close()


@pytest.mark.parametrize("width", [360, 1200])
def test_every_page_fits_and_nothing_is_complained_of(
    lesson: WebClass, address: str, chromium: Any, width: int
) -> None:
    lesson.grade(lesson.hand_in("s18"), measured(*(speed_entry(c, size=1) for c in "ab")))
    lesson.store.put_alias(Alias("s18", "90_echo", "quick"))
    paths = ["/", "/labs/90", "/labs/91", "/attempts/1", "/attempts/2/diff", "/queue", "/board/90"]
    run = lesson.regrade("s18", mixed())
    lesson.hand_in("s18", code=CODE + b"# " + b"long" * 200)
    staff = ["/class", "/class/90", "/students/s18", "/students/a%2Fb%3Fc%23d", f"/runs/{run}"]
    for owner, role, seen in (
        ("s18", Role.STUDENT, paths),
        ("boss", Role.INSTRUCTOR, paths + staff),
    ):
        context = chromium.new_context(viewport={"width": width, "height": 800})
        watched = Watched(context, address, lesson.token(owner, role))

        for path in seen:
            watched.go(path)

        assert watched.complaints == []
        context.close()
