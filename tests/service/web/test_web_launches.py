"""Launches from a learning platform: whom they let in, and what must not be believed."""

import logging
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("pylti1p3", reason="needs the extra lti")

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from stand_ins.lti_platform import (
    ASSISTANT,
    CLAIM,
    CLIENT,
    DEEP,
    DEPLOYMENT,
    INSTRUCTOR,
    LEARNER,
    SmallPlatform,
    small_platform,
)
from stand_ins.web_class import WebClass
from starlette.testclient import TestClient

from grader.course.platform import Platform
from grader.service.adapters.memory_launches import MemoryPlatforms
from grader.service.adapters.web.app import make_app
from grader.service.adapters.web.desk.launches import BACK
from grader.service.adapters.web.lti.claims import AGS, NRPS
from grader.service.adapters.web.lti.platform import PlatformTool
from grader.service.adapters.web.shared.site import Launches
from grader.service.core.desk import Desk

Open = Callable[..., WebClass]
HERE = "https://labs.example.org"
STUDENTS = {"email ada@example.org": "s17", "number 7018": "s18", "lti u-18": "s18"}
KEY = RSAKey.generate_key(2048).as_pem(private=True).decode()
INSTITUTION = "http://purl.imsglobal.org/vocab/lis/v2/institution/person"


@pytest.fixture
def platform() -> Iterator[SmallPlatform]:
    with small_platform() as made:
        yield made


def lesson_of(open_class: Open, platform: SmallPlatform, *, instructors: bool = False) -> WebClass:
    made = open_class(address=HERE)
    ends = (f"{platform.address}/{end}" for end in ("auth", "token", "keys"))
    known = Platform(platform.address, CLIENT, ("another", DEPLOYMENT), *ends)
    tool = PlatformTool(known, KEY, HERE + BACK)
    made.app = make_app(
        *(Desk(made.course, made.labs, made.store, made.clock), made.store, made.books, made.clock),
        launches=Launches(tool, STUDENTS, instructors, MemoryPlatforms()),
    )
    return made


@pytest.fixture
def lesson(open_class: Open, platform: SmallPlatform) -> WebClass:
    return lesson_of(open_class, platform)


def begun(lesson: WebClass, platform: SmallPlatform) -> tuple[TestClient, str]:
    """A browser that was sent to the platform, and the address there."""
    client = lesson.client()
    answer = client.post("/lti/login", data=platform.login(), headers=ELSEWHERE)
    assert answer.status_code == 303, answer.text
    return client, answer.headers["location"]


ELSEWHERE = {"origin": "https://lms.example.org", "sec-fetch-site": "cross-site"}


def post(client: TestClient, form: dict[str, str]) -> Any:
    """Post the platform's form, as a page of its own does."""
    return client.post(BACK, data=form, headers=ELSEWHERE)


def launched(lesson: WebClass, platform: SmallPlatform) -> tuple[TestClient, Any]:
    """Go the whole way; return the browser, and the answer at its end."""
    client, address = begun(lesson, platform)
    return client, post(client, platform.authorize(address))


def test_student_of_the_roster_comes_in_and_to_the_lab_of_the_link(
    lesson: WebClass, platform: SmallPlatform
) -> None:
    platform.claims = {CLAIM + "custom": {"lab": "90"}}

    client, answer = launched(lesson, platform)
    page = client.get(answer.headers["location"])

    assert (answer.status_code, answer.headers["location"]) == (303, "/labs/90")
    assert page.status_code == 200
    assert "<span>s17</span>" in page.text


def test_login_may_begin_by_an_address_too(lesson: WebClass, platform: SmallPlatform) -> None:
    client = lesson.client()

    answer = client.get("/lti/login", params=platform.login())

    assert post(client, platform.authorize(answer.headers["location"])).status_code == 303


def test_cookie_of_a_launch_comes_back_with_a_form_of_another_site(
    lesson: WebClass, platform: SmallPlatform
) -> None:
    answer = lesson.client().post("/lti/login", data=platform.login())

    kept = answer.headers["set-cookie"]
    assert kept.startswith("__Host-lti=")
    assert {"HttpOnly", "Path=/", "SameSite=none", "Secure"} <= {*kept.split("; ")}


@pytest.mark.parametrize(
    "person",
    [
        {"sub": "u-18", "email": None},
        {"sub": "x", "email": None, CLAIM + "lis": {"person_sourcedid": "7018"}},
        {"sub": "x", "email": "ADA@example.org", CLAIM + "lis": {"person_sourcedid": "7018"}},
    ],
    ids=["by the platform's name", "by number", "by number before an address of their own"],
)
def test_student_is_known_by_name_number_or_address(
    lesson: WebClass, platform: SmallPlatform, person: dict[str, Any]
) -> None:
    platform.person = person

    client, answer = launched(lesson, platform)

    assert answer.status_code == 303
    assert "<span>s18</span>" in client.get("/").text


def test_assistant_comes_as_one_though_canvas_says_instructor_too(
    lesson: WebClass, platform: SmallPlatform
) -> None:
    platform.roles = [INSTRUCTOR, ASSISTANT]

    client, answer = launched(lesson, platform)

    assert answer.status_code == 303
    assert client.get("/class").status_code == 200
    owners = {(token.owner, str(token.role)) for token in lesson.store.tokens()}
    assert owners == {("ada@example.org", "assistant")}


def test_instructor_is_one_only_where_the_course_says_so(
    open_class: Open, platform: SmallPlatform
) -> None:
    platform.roles = [INSTRUCTOR]

    _, refused = launched(lesson_of(open_class, platform), platform)
    assert refused.status_code == 403
    assert "the learning platform&#39;s instructors are none here" in refused.text


def test_instructor_comes_in_where_the_course_says_so(
    open_class: Open, platform: SmallPlatform
) -> None:
    platform.roles = [INSTRUCTOR]

    lesson = lesson_of(open_class, platform, instructors=True)
    _, answer = launched(lesson, platform)

    assert answer.status_code == 303
    assert [str(token.role) for token in lesson.store.tokens()] == ["instructor"]


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        ([], "your role on the learning platform has none here"),
        ([f"{INSTITUTION}#Instructor"], "your role on the learning platform has none here"),
        ([7], "your role on the learning platform has none here"),
    ],
)
def test_role_that_means_nothing_here_lets_nobody_in(
    lesson: WebClass, platform: SmallPlatform, roles: list[Any], told: str
) -> None:
    platform.roles = roles

    client, answer = launched(lesson, platform)

    assert answer.status_code == 403
    assert told in answer.text
    assert client.get("/").status_code == 303  # to sign in


def test_instructor_of_the_institution_who_learns_in_the_course_is_a_student(
    lesson: WebClass, platform: SmallPlatform
) -> None:
    platform.roles = [f"{INSTITUTION}#Instructor", LEARNER]

    client, _ = launched(lesson, platform)

    assert "<span>s17</span>" in client.get("/").text


def test_who_is_on_no_roster_is_told_so(lesson: WebClass, platform: SmallPlatform) -> None:
    platform.person = {"sub": "x", "email": "mallory@example.org"}

    _, answer = launched(lesson, platform)

    assert answer.status_code == 403
    assert "nobody who is on the roster of this course" in answer.text


@pytest.mark.parametrize(
    ("claims", "logged"),
    [
        ({"nonce": "another"}, "Invalid Nonce"),
        ({"nonce": None}, "nonce"),
        ({"iss": "https://other.example.org"}, "Registration not found"),
        ({"aud": "another"}, "Client id not registered"),
        ({"aud": [CLIENT, "another"]}, "meant for others too"),
        ({"azp": "another"}, "meant for others too"),
        ({CLAIM + "deployment_id": "9"}, "deployment ID"),
        ({CLAIM + "deployment_id": None}, "deployment_id"),
        ({"exp": int(time.time()) - 600}, "expired"),
        ({"exp": None}, "exp"),
        ({"iat": int(time.time()) + 6000}, "iat"),
        ({"sub": None}, "sub"),
        ({"sub": "x" * 256}, "names nobody"),
        ({CLAIM + "version": "1.1"}, "version"),
        ({CLAIM + "message_type": "LtiUnheardOf"}, "message type"),
        ({CLAIM + "message_type": None}, "message type"),
        ({CLAIM + "resource_link": None}, "Resource Link"),
        ({CLAIM + "roles": None}, "Roles"),
    ],
    # By name alone: a time in an id would be another in each process that collects.
    ids=lambda value: value if isinstance(value, str) else next(iter(value)).rpartition("/")[2],
)
def test_launch_that_says_something_else_is_refused(
    lesson: WebClass,
    platform: SmallPlatform,
    claims: dict[str, Any],
    logged: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    platform.claims = claims

    client, answer = launched(lesson, platform)

    assert answer.status_code == 403
    assert "the launch was not completed" in answer.text
    assert "open the link on your learning platform anew" in answer.text
    assert logged.lower() in caplog.text.lower()
    assert client.get("/").status_code == 303
    assert lesson.store.tokens() == []


@pytest.mark.parametrize(
    "header",
    [{"alg": "none"}, {"alg": "HS256"}, {"kid": "two"}, {"kid": None}],
    ids=str,
)
def test_launch_that_is_signed_otherwise_is_refused(
    lesson: WebClass, platform: SmallPlatform, header: dict[str, Any]
) -> None:
    platform.header = header

    _, answer = launched(lesson, platform)

    assert answer.status_code == 403
    assert lesson.store.tokens() == []


def test_launch_that_somebody_else_signed_is_refused(
    lesson: WebClass, platform: SmallPlatform
) -> None:
    platform.signed_by = RSAKey.generate_key(2048, {"kid": "one"})

    _, answer = launched(lesson, platform)

    assert answer.status_code == 403


def test_launch_that_was_changed_on_its_way_is_refused(
    lesson: WebClass, platform: SmallPlatform
) -> None:
    client, address = begun(lesson, platform)
    form = platform.authorize(address)
    platform.person = {"sub": "u-18"}
    body = platform.token("x").split(".")[1]
    first, _, last = form["id_token"].split(".")

    answer = post(client, form | {"id_token": f"{first}.{body}.{last}"})

    assert answer.status_code == 403


def test_launch_lets_in_once(lesson: WebClass, platform: SmallPlatform) -> None:
    client, address = begun(lesson, platform)
    cookies = dict(client.cookies)
    form = platform.authorize(address)
    assert post(client, form).status_code == 303

    again = lesson.client(cookies=cookies)

    assert post(again, form).status_code == 403
    assert post(client, form).status_code == 403


def test_launch_of_another_browser_is_refused(lesson: WebClass, platform: SmallPlatform) -> None:
    _, address = begun(lesson, platform)
    form = platform.authorize(address)
    other, _ = begun(lesson, platform)

    assert post(other, form).status_code == 403
    assert post(lesson.client(), form).status_code == 403


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"state": "", "id_token": ""},
        {"state": "x", "id_token": "a.b"},
        {"state": "x", "id_token": "a.b.c"},
        {"error": "login_required", "state": "x"},
    ],
    ids=str,
)
def test_form_that_is_no_launch_is_refused(
    lesson: WebClass, platform: SmallPlatform, form: dict[str, str]
) -> None:
    client, _ = begun(lesson, platform)

    answer = post(client, form)

    assert answer.status_code == 403
    assert "the launch was not completed" in answer.text


@pytest.mark.parametrize(
    "asked",
    [
        {"iss": "https://other.example.org"},
        {"iss": ""},
        {"login_hint": ""},
        {"client_id": "another"},
    ],
    ids=str,
)
def test_login_of_another_platform_is_refused(
    lesson: WebClass, platform: SmallPlatform, asked: dict[str, str]
) -> None:
    answer = lesson.client().post("/lti/login", data=platform.login() | asked)

    assert answer.status_code == 403
    assert "location" not in answer.headers


def test_platform_that_is_away_is_told(lesson: WebClass, platform: SmallPlatform) -> None:
    with small_platform() as away:
        gone = away.address
    client, address = begun(lesson, platform)
    form = platform.authorize(address)
    tool: Any = lesson.app.state.site.launches.tool
    known = Platform(platform.address, CLIENT, (DEPLOYMENT,), address, gone, f"{gone}/keys")
    tool._platform = known

    answer = post(client, form)

    assert answer.status_code == 503
    assert "Traceback" not in answer.text


def test_course_without_a_platform_has_no_such_pages(open_class: Open) -> None:
    client = open_class(address=HERE).client()

    assert client.get("/lti/keys.json").status_code == 404
    assert client.get("/lti/login").status_code == 404
    assert client.post(BACK).status_code == 404


def test_keys_are_public_ones(lesson: WebClass) -> None:
    (key,) = lesson.client().get("/lti/keys.json").json()["keys"]

    assert {"kty", "n", "e", "kid", "alg", "use"} == key.keys()


def test_launch_tells_where_names_and_grades_are(lesson: WebClass, platform: SmallPlatform) -> None:
    platform.claims = {
        NRPS: {"context_memberships_url": f"{platform.address}/members"},
        AGS: {"lineitems": f"{platform.address}/items", "scope": []},
    }
    launched(lesson, platform)
    platform.claims = {AGS: {"lineitems": "http://elsewhere.example.org/items", "scope": []}}
    launched(lesson, platform)

    (found,) = lesson.app.state.site.launches.platforms.contexts()
    assert (found.deployment, found.id, found.title) == (DEPLOYMENT, "course 3", "Inference")
    assert found.members == f"{platform.address}/members"
    assert found.items == f"{platform.address}/items"


# A link to a lab


def test_instructor_chooses_the_lab_of_a_new_link(
    lesson: WebClass, platform: SmallPlatform
) -> None:
    platform.choosing()

    client, page = launched(lesson, platform)
    known = KeySet.import_key_set(client.get("/lti/keys.json").json())
    (signed, *_) = re.findall(r'name="JWT" value="([^"]+)"', page.text)
    claims = jwt.decode(signed, known, algorithms=["RS256"]).claims

    assert page.status_code == 200
    assert f'action="{platform.address}/chosen"' in page.text
    assert f"form-action {platform.address};" in page.headers["content-security-policy"]
    assert (claims["iss"], claims["aud"]) == (CLIENT, [platform.address])
    assert claims[CLAIM + "deployment_id"] == DEPLOYMENT
    assert claims[CLAIM + "message_type"] == "LtiDeepLinkingResponse"
    assert claims[DEEP + "data"] == "of the platform's own"
    (item,) = claims[DEEP + "content_items"]
    assert (item["type"], item["url"]) == ("ltiResourceLink", HERE + BACK)
    assert item["custom"] == {"lab": "90"}
    assert lesson.store.tokens() == []


def test_student_chooses_no_links(lesson: WebClass, platform: SmallPlatform) -> None:
    platform.choosing()
    platform.roles = [LEARNER]

    _, answer = launched(lesson, platform)

    assert answer.status_code == 403


def test_choice_is_brought_to_no_address_that_could_run(
    lesson: WebClass, platform: SmallPlatform
) -> None:
    platform.choosing()
    settings = platform.claims[DEEP + "deep_linking_settings"]
    settings["deep_link_return_url"] = "javascript:alert(1)"

    _, answer = launched(lesson, platform)

    assert answer.status_code == 403
