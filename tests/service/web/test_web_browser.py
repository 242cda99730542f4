"""Handing in, watching and reading as a person does: the application, uvicorn and Chromium."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from stand_ins.alike import OWN, RENAMED
from stand_ins.lab_browser import browser_program
from stand_ins.sample_reports import measured, mixed, speed_entry
from stand_ins.web_class import CODE, LAB, NOW, WebClass
from stand_ins.web_filled import SECRET, fill

from grader.labs.task import Criterion
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
        if not token:
            return
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
    staff = [
        "/class?show=late",
        "/class",
        "/class/90",
        "/class/90/items",
        "/students/s18",
        "/students/a%2Fb%3Fc%23d",
        f"/runs/{run}",
    ]
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


# Who cannot see well, or has no mouse


OPEN_PAGES = ("/login", "/nothing/of/the/kind", f"/given/{SECRET}")
OWN_PAGES = ("/", "/labs/90", "/labs/91", "/attempts/1", "/attempts/2", "/attempts/4", "/queue")
PAGES = (*OWN_PAGES, "/attempts/2/diff", "/board/90", "/requests")
STAFF_PAGES = (
    *("/class", "/class/90", "/class/90/items", "/students/s18", "/attempts/3", "/attempts/2"),
    *("/requests", "/reading", "/reading/90", "/likeness/90"),
)


def faults(page: Any) -> list[str]:
    """Return what of a page, all of it unfolded, keeps somebody out."""
    page.eval_on_selector_all("details", "all => all.forEach(each => each.open = true)")
    return [
        f"{each['id']}: {node['html'][:160]}"
        for each in Axe().run(page).response["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_no_page_keeps_anybody_out(
    lesson: WebClass, address: str, chromium: Any, scheme: str, width: int
) -> None:
    fill(lesson)
    grave: list[str] = []
    for owner, role, paths in (
        ("s18", Role.STUDENT, PAGES),
        ("tutor", Role.ASSISTANT, ("/attempts/1", *STAFF_PAGES)),
        ("boss", Role.INSTRUCTOR, ("/", "/labs/90", "/queue", *STAFF_PAGES)),
        ("", None, OPEN_PAGES),
    ):
        context = chromium.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme
        )
        token = lesson.token(owner, role) if role else ""
        watched = Watched(context, address, token)

        for path in paths:
            grave += [f"{path} as {role}: {told}" for told in faults(watched.go(path))]
        asked_wrongly = "Failed to load resource" if not role else "nothing"
        assert [said for said in watched.complaints if asked_wrongly not in said] == []
        context.close()

    assert grave == []


@pytest.mark.parametrize("width", [360, 1200])
def test_chinese_pages_fit_keep_nobody_out_and_lead_to_english(
    lesson: WebClass, address: str, chromium: Any, width: int
) -> None:
    fill(lesson)
    context = chromium.new_context(viewport={"width": width, "height": 800}, locale="zh-CN")
    watched = Watched(context, address, lesson.token("s18"))

    grave = [f"{path}: {told}" for path in PAGES for told in faults(watched.go(path))]
    page = watched.go("/attempts/4")
    page.wait_for_selector("text=队列中第 1 位")
    lesson.store.tell(4, "task", {"task": "norm", "tests": 7, "ended": 7}, NOW)
    page.wait_for_selector("text=norm：7 个测试已评")
    page.click("a.language")
    page.wait_for_selector("html[lang=en]")
    page.wait_for_selector("text=norm: 7 tests judged")

    assert page.url == f"{address}/attempts/4"
    assert grave + watched.complaints == []
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_answers_that_are_alike_are_for_all_to_compare(
    lesson: WebClass, address: str, chromium: Any, scheme: str, width: int
) -> None:
    for student, code in (("s17", OWN), ("s18", RENAMED)):
        lesson.hand_in(student, code=code.encode())
    one, other, *_ = (answer.key for answer in lesson.compare().answers)
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    watched = Watched(context, address, lesson.token("tutor", Role.ASSISTANT))

    grave = [
        told
        for path in ("/likeness/90", f"/likeness/90/{one}/{other}")
        for told in faults(watched.go(path))
    ]

    assert grave == watched.complaints == []
    context.close()


def focused(page: Any) -> str:
    """Say what has the focus, and that it is drawn around."""
    return page.evaluate(
        """() => { const it = document.activeElement, drawn = getComputedStyle(it)
        const seen = drawn.outlineStyle !== "none" && parseFloat(drawn.outlineWidth) >= 2
        const name = it.id || it.name || it.innerText || it.tagName
        return name.trim().split("\\n")[0] + (seen ? "" : " (not seen)") }"""
    )


def test_work_is_handed_in_and_read_without_a_mouse(
    lesson: WebClass, address: str, chromium: Any
) -> None:
    context = chromium.new_context(viewport=PHONE)
    watched = Watched(context, address, lesson.token("s17"))
    page, keys = watched.page, watched.page.keyboard

    def go_to(name: str, most: int = 30) -> list[str]:
        passed: list[str] = []
        for _ in range(most):
            keys.press("Tab")
            passed.append(focused(page))
            if passed[-1] == name:
                return passed
        raise AssertionError(f"{name} is not reached: {passed}")

    assert go_to("Skip to the content", 1) == ["Skip to the content"]
    keys.press("Enter")
    order = go_to("90 Echo")
    assert order == ["90 Echo"]  # the skip has led past what stands on every page
    keys.press("Enter")
    page.wait_for_url(f"{address}/labs/90")
    order = go_to("or paste them as text")
    assert [name for name in order if name in ("code", "pseudocode")] == ["code", "pseudocode"]
    assert [name for name in order if "not seen" in name] == []
    keys.press("Enter")
    go_to("code-text", 1)
    keys.insert_text("def scale(x, factor):\n    return x\n")
    assert go_to("Hand in") == ["pseudocode-text", "Hand in"]
    keys.press("Enter")
    page.wait_for_url(f"{address}/attempts/1")
    item = lesson.store.hand_in(1)
    assert item is not None
    lesson.grade(item, mixed())
    page.wait_for_selector("text=10 of 30 points")
    assert watched.complaints == []
    context.close()


def test_a_class_is_read_without_scripts(lesson: WebClass, address: str, chromium: Any) -> None:
    fill(lesson)
    context = chromium.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/login")
    page.fill("#token", lesson.token("boss", Role.INSTRUCTOR))
    page.press("#token", "Enter")
    page.wait_for_url(f"{address}/")

    page.goto(f"{address}/attempts/1")
    page.fill("#text", "Well done.")
    page.click("button:text('Comment')")
    page.wait_for_selector("text=Well done.")
    page.goto(f"{address}/students/s18")
    page.fill("#points", "80")
    page.fill("#reason", "shown at the desk")
    page.click("button:text('Set the mark')")
    page.wait_for_selector("text=shown at the desk")

    assert lesson.books.overrides()[-1].points == 80
    context.close()


@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 900}])
def test_one_reads_by_keys_alone(
    lesson: WebClass, address: str, chromium: Any, size: dict[str, int]
) -> None:
    lab = lesson.site.desk.lab("90")
    task = lab.tasks[0]
    rubric = (Criterion("steps", "Steps", task.points, "Each step is said.", task.id),)
    lesson.site.desk.labs[LAB] = replace(lab, rubric=rubric, readers=2)
    for student in ("s17", "s18"):
        lesson.grade(lesson.hand_in(student), mixed("it is wrong"))
    token = lesson.token("tutor", Role.INSTRUCTOR)
    watched = Watched(chromium.new_context(viewport=size), address, token)
    page = watched.go("/reading")
    page.click("text=Echo")
    page.wait_for_url(f"{address}/reading/90")

    page.keyboard.press("n")
    page.wait_for_url(f"{address}/attempts/1/code")
    page.keyboard.press("c")
    page.wait_for_selector("#text:focus")
    page.keyboard.type("now r is a letter")
    page.press("#text", "Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}/attempts/1/code#comments")
    assert "now r is a letter" in page.inner_text("#comments")
    page.keyboard.press("n")
    page.wait_for_url(f"{address}/attempts/2/code")
    page.keyboard.press("p")
    page.wait_for_url(f"{address}/attempts/1/code")
    page.fill("#points-steps", "3")
    page.press("#points-steps", "Enter")
    page.wait_for_url(f"{address}/attempts/1/code#rubric")
    for path in ("/reading", "/reading/90", "/reading/90/alike?criterion=steps"):
        watched.go(path)
    page = watched.go("/attempts/1/code?file=echo.py&line=2")
    assert page.input_value("#line") == "2"
    assert page.input_value("#file") == "echo.py"
    found = Axe().run(page)
    serious = [v for v in found.response["violations"] if v["impact"] in ("serious", "critical")]
    assert serious == []

    assert watched.complaints == []
