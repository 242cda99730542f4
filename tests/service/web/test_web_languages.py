"""The pages in the reader's language: all that a student can reach, walked in Chinese."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from stand_ins.web_class import LAB, NOW, WebClass, filled_database, web_class
from stand_ins.web_filled import SECRET, fill

from grader import ROOT
from grader.course.database.records import Comment
from grader.labs.lab import load_lab
from grader.languages.language import Language
from grader.service.adapters.web.app import DESK, PAGES
from grader.service.domain.records import Role

CHINESE = {"accept-language": "zh-CN,zh;q=0.9,en;q=0.8"}
# What a student can ask for, by the route: with what there is of it in the class below.
WALK = {
    "/": ["/"],
    "/labs/{name}": ["/labs/90", "/labs/91"],
    "/labs/{name}/answers": ["/labs/3/answers"],
    "/attempts/{count}": [f"/attempts/{number}" for number in (1, 2, 4, 5)],
    "/attempts/{count}/code": ["/attempts/2/code"],
    "/attempts/{count}/diff": ["/attempts/2/diff"],
    "/board/{name}": ["/board/90"],
    "/queue": ["/queue"],
    "/requests": ["/requests"],
    "/login": ["/login"],
    "/given/{secret}": [f"/given/{SECRET}"],
}
# Which answer with no page to who is a student, and why.
NO_PAGE = {
    "/attempts/{count}/events": "a stream of facts; the page has the words",
    "/attempts/{count}/files/{name}": "the student's own file",
    "/attempts/{count}/pictures/{at}.svg": "a picture",
    "/labs/{name}/pictures/{file}": "a picture",
    "/given/{secret}/pictures/{at}.svg": "a picture",
    "/login/oidc": "leads to the issuer",
    "/login/oidc/back": "leads on, or is a message of the walk of refusals",
    "/lti/keys.json": "keys",
    "/lti/login": "leads to the platform",
    "/healthz": "for machines",
    "/metrics": "for machines",
}
# Two English words or more that a Chinese page may show, and why.
ALLOWED = {
    "Demo course": "the course's own title",
    "token i": "a symbol of a question",
    "Student Seventeen": "a name",
    "Example GPU": "a name",
    "See the contract": "words of a person",
    "It says so": "words of a person",
    "You are right": "words of a person",
    "The handout says otherwise": "words of a person",
    "see 2.1": "words of a person",
    "needs a GPU": "no word of ours, but of the sample",
    "forward, a": "a case's name",
    "forward, b": "a case's name",
    "memory bandwidth, at 84 % of what this GPU copies": "no word of ours, but of the sample",
}
_WORDS = re.compile(r"[A-Za-z][a-z'-]+(?:,? [A-Za-z][a-z'-]*)+")
_CODE = frozenset({"code", "pre", "kbd", "script", "style", "math", "textarea"})
_VOID = frozenset({"meta", "link", "input", "br", "img", "hr", "wbr"})
_TOLD = ("title", "aria-label", "alt", "placeholder")


class Shown(HTMLParser):
    """What a reader sees or hears of a page: texts and told attributes, but code and English."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.languages: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "html":
            self.languages.append(str(values.get("lang")))
        skipped = tag in _CODE or (tag != "html" and values.get("lang") == "en")
        skipped = skipped or (tag == "table" and values.get("class") in ("code", "diff"))
        is_quiet = skipped or any(quiet for _, quiet in self._open)
        if not is_quiet:
            self.texts += [str(values[name]) for name in _TOLD if values.get(name)]
        if tag not in _VOID:
            self._open.append((tag, skipped))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not any(quiet for _, quiet in self._open):
            self.texts.append(" ".join(data.split()))


def english(html: str) -> list[str]:
    """Return the runs of two or more English words of a page that nothing allows."""
    found: list[str] = []
    for text in Shown(html).texts:
        for allowed in ALLOWED:
            text = text.replace(allowed, "")
        found += [f"{run[0]} <- {text[:200]}" for run in _WORDS.finditer(text)]
    return found


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebClass]:
    """A class in which each kind of page has something on it."""
    folder: Path = tmp_path_factory.mktemp("walked")
    (folder / "class").mkdir()
    closed = [load_lab(ROOT / "labs" / "03_sampling")]
    with web_class(folder / "class", filled_database(folder), closed=closed) as lesson:
        fill(lesson)
        said = Comment("s18", LAB, "handin-2", "tutor", "See the contract.", NOW, task="rope")
        lesson.store.reading.add_comment(said)
        lesson.hand_in("s18", "91_softmax", b"def softmax(x):\n    return x\n")
        yield lesson


def test_walk_knows_every_route_that_a_student_can_reach(walked: WebClass) -> None:
    student, staff = walked.browser("s18"), set[str]()
    known = {*WALK, *NO_PAGE}
    for router in (*DESK, *PAGES):
        for route in router.routes:
            path, methods = str(getattr(route, "path", "")), getattr(route, "methods", ())
            if "GET" not in methods or path.startswith("/api/") or path in known:
                continue
            answer = student.get(re.sub(r"\{[^}]*\}", "1", path))
            assert answer.status_code == 404, path
            staff.add(path)

    assert "/class" in staff


@pytest.mark.parametrize("path", [path for paths in WALK.values() for path in paths])
def test_page_is_chinese_to_who_reads_chinese(walked: WebClass, path: str) -> None:
    answer = walked.browser("s18").get(path, headers=CHINESE)

    assert answer.status_code == 200
    assert Shown(answer.text).languages == ["zh"]
    assert english(answer.text) == []
    assert re.search(r"[\u4e00-\u9fff]", answer.text)


@pytest.mark.parametrize("path", [path for paths in WALK.values() for path in paths])
def test_page_is_english_to_who_reads_english(walked: WebClass, path: str) -> None:
    answer = walked.browser("s18").get(path, headers={"accept-language": "en-US,en;q=0.9"})
    said = " ".join(Shown(answer.text).texts).replace("中文", "")

    assert Shown(answer.text).languages == ["en"]
    assert not re.search(r"[\u4e00-\u9fff]", said)


FORMS: list[tuple[str, str, dict[str, Any], int]] = [
    ("/labs/90/hand-ins", "/labs/90", {}, 422),
    ("/board/90", "/board/90", {"alias": "l" + "o" * 30 + "ng"}, 422),
    ("/attempts/1/requests", "/attempts/1", {"choice": "norm", "reason": "short"}, 422),
    ("/attempts/1/requests", "/attempts/1", {"choice": "none", "reason": "long enough"}, 422),
    ("/requests/1/withdraw", "/queue", {}, 422),
    ("/requests/99/withdraw", "/queue", {}, 404),
    ("/requests/1/answer", "/queue", {}, 404),
    ("/queue", "/queue", {}, 405),
    ("/logout", "/queue", {"csrf": "another"}, 403),
]


@pytest.mark.parametrize(("path", "page", "data", "status"), FORMS)
def test_refusal_is_chinese(
    walked: WebClass, path: str, page: str, data: dict[str, Any], status: int
) -> None:
    browser = walked.browser("s18")
    browser.client.headers.update(CHINESE)

    answer = browser.post(path, page, data)

    assert answer.status_code == status
    assert english(answer.text) == []
    assert Shown(answer.text).languages == ["zh"]


def test_times_and_quotas_are_refused_in_chinese(open_class: Any) -> None:
    lesson: WebClass = open_class(per_day=1)
    lesson.hand_in("s17")
    browser = lesson.browser("s17")

    shown = browser.get("/labs/90", headers=CHINESE).text

    assert "你今天已提交实验 90 共 1 次。" in shown
    assert "2026-10-02 00:00 UTC 起可以再次提交" in shown
    assert english(shown) == []


def test_who_is_not_signed_in_is_told_in_chinese(walked: WebClass) -> None:
    client = walked.client(headers=CHINESE)
    form = client.get("/login").text
    csrf = re.findall(r'name="csrf" value="([^"]+)"', form)[0]

    refused = client.post("/login", data={"token": "wrong", "csrf": csrf})
    gone = client.get("/nothing/of/the/kind")

    assert refused.status_code == 401
    assert "这个 token 无效或已被吊销" in refused.text
    assert english(form) + english(refused.text) + english(gone.text) == []


def test_reader_chooses_a_language_and_a_cookie_keeps_it(walked: WebClass) -> None:
    browser = walked.browser("s18")

    chosen = browser.get("/labs/90?lang=zh&a=1")
    after = browser.get("/labs/90", headers={"accept-language": "en"})

    assert chosen.status_code == 303
    assert chosen.headers["location"] == "/labs/90?a=1"
    assert "content-security-policy" in chosen.headers
    assert re.search(r"language=zh; HttpOnly; .*SameSite=lax", chosen.headers["set-cookie"])
    assert Shown(after.text).languages == ["zh"]
    assert 'href="?lang=en"' in after.text


@pytest.mark.parametrize("path", ["//elsewhere.example/?lang=zh", "/\\elsewhere.example?lang=zh"])
def test_choice_leads_to_no_other_host(walked: WebClass, path: str) -> None:
    answer = walked.client().request("GET", "http://testserver" + path)

    assert answer.headers.get("location", "/").startswith("/")
    assert not answer.headers.get("location", "/").startswith(("//", "/\\"))


@pytest.mark.parametrize("query", ["?lang=de", "?lang=", "?x=zh", "?" + "a=1&" * 200 + "lang=zh"])
def test_what_chooses_no_language_changes_nothing(walked: WebClass, query: str) -> None:
    answer = walked.client().get(f"/login{query}")

    assert answer.status_code == 200
    assert "language=" not in answer.headers.get("set-cookie", "")


@pytest.mark.parametrize(
    ("default", "accepted", "cookie", "language"),
    [
        (Language.CHINESE, "", "", "zh"),
        (Language.CHINESE, "de-DE, *;q=0.1", "", "zh"),
        (Language.CHINESE, "en-US", "", "en"),
        (Language.CHINESE, "zh", "en", "en"),
        (Language.ENGLISH, "", "", "en"),
        (Language.ENGLISH, "en, zh;q=0.5", "zh", "zh"),
        (Language.ENGLISH, "zh", "<script>", "zh"),
    ],
)
def test_language_is_chosen_else_accepted_else_the_courses(
    tmp_path: Path, database: Path, default: Language, accepted: str, cookie: str, language: str
) -> None:
    with web_class(tmp_path, database, language=default) as lesson:
        headers = {"accept-language": accepted, "cookie": f"language={cookie}"}

        answer = lesson.client().get("/login", headers=headers)

    assert Shown(answer.text).languages == [language]


@pytest.mark.parametrize("path", ["/class", "/students/s18", "/reading"])
def test_pages_of_the_staff_say_that_they_are_english(walked: WebClass, path: str) -> None:
    shown = walked.browser("boss", Role.INSTRUCTOR).get(path, headers=CHINESE).text

    assert re.search(r'<main id="content" class="\w*" lang="en">', shown)
    assert english(shown) == []


def test_clients_are_answered_in_english(walked: WebClass) -> None:
    client = walked.bearer("s18")

    answer = client.get("/api/hand-ins/99", headers=CHINESE | {"cookie": "language=zh"})

    assert answer.json()["error"] == "there is no such thing, or it is not yours"


def test_handout_that_is_not_translated_says_that_it_is_english(walked: WebClass) -> None:
    shown = walked.browser("s18", Role.STUDENT).get(f"/labs/{LAB[:2]}", headers=CHINESE).text

    assert '<article class="handout" lang="en">' in shown
