"""Signing in by an institution's account: who it lets in, and what it must not believe."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey
from stand_ins.oidc_issuer import CLIENT, SECRET, SmallIssuer, small_issuer
from stand_ins.web_class import WebClass
from starlette.testclient import TestClient

from grader.course.policy import SignIn
from grader.service.adapters.web.app import make_app
from grader.service.adapters.web.oidc.identity import Identity
from grader.service.adapters.web.oidc.issuer import Issuer
from grader.service.adapters.web.sign_in import BACK
from grader.service.core.desk import Desk

Open = Callable[..., WebClass]
HERE = "https://labs.example.org"
EMAILS = {"ada@example.org": "s17", "s18@example.org": "s18"}


@pytest.fixture
def issuer() -> Iterator[SmallIssuer]:
    with small_issuer() as made:
        yield made


@pytest.fixture
def lesson(open_class: Open, issuer: SmallIssuer) -> WebClass:
    made = open_class(address=HERE)
    known = Issuer(SignIn(issuer.address, CLIENT), SECRET, HERE + BACK)
    made.app = make_app(
        *(Desk(made.course, made.labs, made.store, made.clock), made.store, made.books, made.clock),
        identity=Identity(known, EMAILS),
    )
    return made


def begun(lesson: WebClass, then: str = "/") -> tuple[TestClient, str]:
    """A browser that was sent to the issuer, and the address there."""
    client = lesson.client()
    answer = client.get("/login/oidc", params={"then": then})
    assert answer.status_code == 303, answer.text
    return client, answer.headers["location"]


def come_back(client: TestClient, brought: dict[str, str]) -> Any:
    """Bring back to the service what the issuer gave."""
    return client.get(BACK, params=brought)


def signed_in(lesson: WebClass, issuer: SmallIssuer) -> Any:
    """Go the whole way, and return the answer at its end."""
    client, address = begun(lesson)
    return come_back(client, issuer.sign_in(address))


def test_who_is_on_the_roster_comes_in_by_their_account(
    lesson: WebClass, issuer: SmallIssuer
) -> None:
    client, address = begun(lesson, "/labs/90")

    answer = come_back(client, issuer.sign_in(address))
    page = client.get(answer.headers["location"])

    assert (answer.status_code, answer.headers["location"]) == (303, "/labs/90")
    assert page.status_code == 200
    assert "<span>s17</span>" in page.text
    cookies = answer.headers.get_list("set-cookie")
    (session,) = [each for each in cookies if each.startswith("__Host-session=")]
    assert {"HttpOnly", "Path=/", "SameSite=lax", "Secure"} <= {*session.split("; ")}


def test_the_page_to_sign_in_leads_there(lesson: WebClass) -> None:
    page = lesson.client().get("/login?then=/labs/90")

    assert '<a href="/login/oidc?then=%2Flabs%2F90">' in page.text


def test_without_an_issuer_there_is_no_such_way(open_class: Open) -> None:
    client = open_class().client()

    assert client.get("/login/oidc").status_code == 404
    assert client.get(BACK).status_code == 404
    assert "oidc" not in client.get("/login").text


def test_an_address_counts_in_any_case(lesson: WebClass, issuer: SmallIssuer) -> None:
    issuer.person = {"email": "ADA@Example.ORG", "email_verified": True}

    assert signed_in(lesson, issuer).status_code == 303


@pytest.mark.parametrize(
    "change",
    [
        {"claims": {"iss": "https://evil.example"}},
        {"claims": {"iss": None}},
        {"claims": {"aud": "another"}},
        {"claims": {"aud": [CLIENT, "another"]}},
        {"claims": {"aud": None}},
        {"claims": {"azp": "another"}},
        {"claims": {"nonce": "another"}},
        {"claims": {"nonce": None}},
        {"claims": {"exp": 1_000_000_000}},
        {"claims": {"exp": None}},
        {"claims": {"iat": 99_999_999_999}},
        {"claims": {"sub": None}},
        {"claims": {"email_verified": False}},
        {"claims": {"email_verified": None}},
        {"claims": {"email_verified": "true"}},
        {"claims": {"email": None}},
        {"claims": {"email": ["ada@example.org"]}},
        {"claims": {"email": "\u017f18@example.org"}},  # its capital letter is that of an s
        {"claims": {"email": "ada@example.org@evil.example"}},
        {"header": {"alg": "none"}},
        {"header": {"alg": "HS256"}},
        {"header": {"alg": "RS512"}},
        {"header": {"kid": "two"}},
        pytest.param({"signed_by": RSAKey.generate_key(2048, {"kid": "one"})}, id="another key"),
    ],
    ids=str,
)
def test_what_the_issuer_does_not_vouch_for_lets_nobody_in(
    lesson: WebClass, issuer: SmallIssuer, change: dict[str, Any]
) -> None:
    for name, value in change.items():
        setattr(issuer, name, value)

    answer = signed_in(lesson, issuer)

    assert answer.status_code == 403
    assert "the sign-in was not completed" in answer.text.lower()
    assert "session=" not in str(answer.headers.get_list("set-cookie"))


@pytest.mark.parametrize(
    "email", ["nobody@example.org", "ada@example.org.evil", " ada@example.org"]
)
def test_an_address_of_nobody_on_the_roster_is_told_what_to_do(
    lesson: WebClass, issuer: SmallIssuer, email: str
) -> None:
    issuer.person = {"email": email, "email_verified": True}

    answer = signed_in(lesson, issuer)

    assert answer.status_code == 403
    assert "not on the roster" in answer.text
    assert "ask your instructor" in answer.text
    assert email.strip() not in answer.text


def test_a_way_back_counts_once_and_in_its_own_browser(
    lesson: WebClass, issuer: SmallIssuer
) -> None:
    client, address = begun(lesson)
    crumbs = client.cookies["__Host-oidc"]
    brought = issuer.sign_in(address)
    other, _ = begun(lesson)

    foreign = come_back(other, brought)
    bare = come_back(lesson.client(), brought)
    first = come_back(client, brought)
    again = come_back(client, brought)
    client.cookies.set("__Host-oidc", crumbs)
    replayed = come_back(client, issuer.sign_in(address))

    assert (foreign.status_code, bare.status_code) == (403, 403)
    assert (first.status_code, again.status_code, replayed.status_code) == (303, 403, 403)


def test_a_code_of_another_browser_does_not_count(lesson: WebClass, issuer: SmallIssuer) -> None:
    victim, address = begun(lesson)
    _, theirs = begun(lesson)
    stolen = issuer.sign_in(theirs)["code"]
    state = parse_qs(urlsplit(address).query)["state"][0]

    answer = come_back(victim, {"code": stolen, "state": state})

    assert answer.status_code == 403  # by PKCE, and by the nonce


@pytest.mark.parametrize(
    "more", [{"error": "access_denied"}, {"code": ""}, {"iss": "https://x.example"}]
)
def test_an_answer_that_is_none_lets_nobody_in(
    lesson: WebClass, issuer: SmallIssuer, more: dict[str, str]
) -> None:
    client, address = begun(lesson)

    assert come_back(client, issuer.sign_in(address) | more).status_code == 403


@pytest.mark.parametrize("then", ["//evil.example", "https://evil.example", "/a|b", "/\\evil"])
def test_the_way_back_leads_to_no_other_place(
    lesson: WebClass, issuer: SmallIssuer, then: str
) -> None:
    client, address = begun(lesson, then)

    assert come_back(client, issuer.sign_in(address)).headers["location"] == "/"


@pytest.mark.parametrize(
    "said",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "ftp://evil.example"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": None},
    ],
    ids=str,
)
def test_an_issuer_that_is_not_the_pinned_one_is_ours_to_mend(
    lesson: WebClass, issuer: SmallIssuer, said: dict[str, Any]
) -> None:
    issuer.said = said

    answer = lesson.client().get("/login/oidc")

    assert answer.status_code == 503
    assert "evil" not in answer.text


def test_a_new_key_of_the_issuer_is_asked_for(
    lesson: WebClass, issuer: SmallIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.service.adapters.web.oidc.issuer.AGAIN_SECONDS", 0.0)
    assert signed_in(lesson, issuer).status_code == 303

    issuer.key = RSAKey.generate_key(2048, {"kid": "two"})
    issuer.header = {"kid": "two"}

    assert signed_in(lesson, issuer).status_code == 303


def test_a_session_ends_when_the_students_tokens_are_revoked(
    lesson: WebClass, issuer: SmallIssuer
) -> None:
    client, address = begun(lesson)
    come_back(client, issuer.sign_in(address))
    assert client.get("/queue").status_code == 200

    lesson.site.door.revoke("s17")

    assert client.get("/queue").status_code == 303


def test_an_issuer_that_is_away_is_told_as_ours(lesson: WebClass) -> None:
    away = Issuer(SignIn("http://127.0.0.1:9", CLIENT), SECRET, HERE + BACK)
    lesson.app.state.site = replace(lesson.app.state.site, identity=Identity(away, EMAILS))

    answer = lesson.client().get("/login/oidc")

    assert answer.status_code == 503
    assert "127.0.0.1:9" not in answer.text
