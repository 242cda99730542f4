"""What stands before every request: sizes, times, rates, hosts, proxies, forms of others."""

import asyncio
from collections.abc import Callable
from ipaddress import ip_network
from typing import Any

import pytest
from stand_ins.web_class import WebClass, csrf_of

from grader.service.adapters.web.gate.clients import client_of
from grader.service.adapters.web.gate.rates import Buckets, Limits, Streams, address_key
from grader.service.domain.records import Role

Open = Callable[..., WebClass]
HTTPS = "https://labs.example.org"


def send(app: Any, chunks: list[bytes], pause: float = 0.0, **headers: str) -> list[Any]:
    """Send a body in chunks to the API, without saying how long it is."""
    sent: list[Any] = []
    left = list(chunks)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        if not left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": True}

    async def answer(message: Any) -> None:
        sent.append(message)

    named = [(key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()]
    scope = {
        **{"type": "http", "method": "POST", "path": "/api/labs/90/hand-ins", "scheme": "http"},
        **{"raw_path": b"/", "query_string": b"", "root_path": "", "http_version": "1.1"},
        **{"headers": [(b"host", b"testserver"), *named], "client": ("192.0.2.1", 1)},
    }
    asyncio.run(app(scope, receive, answer))
    return sent


def test_a_body_has_an_end_without_a_length_too(lesson: WebClass) -> None:
    sent = send(lesson.app, [b"x" * 65536] * 17)

    assert sent[0]["status"] == 413
    assert (b"connection", b"close") in sent[0]["headers"]


@pytest.mark.parametrize("length", ["1048577", "99999999999999999999999", "-1", "1e9", "0x10"])
def test_a_length_that_is_too_much_or_none_is_refused_at_once(
    lesson: WebClass, length: str
) -> None:
    assert send(lesson.app, [], content_length=length)[0]["status"] == 413


def test_a_body_with_a_length_and_chunks_is_refused(lesson: WebClass) -> None:
    sent = send(lesson.app, [b"x"], content_length="1", transfer_encoding="chunked")

    assert sent[0]["status"] == 400
    assert (b"connection", b"close") in sent[0]["headers"]


def test_a_slow_body_is_cut_off(open_class: Open) -> None:
    lesson = open_class(limits=Limits(body_seconds=0.2))

    assert send(lesson.app, [b"x"] * 1000, pause=0.05)[0]["status"] == 408


def test_a_body_that_breaks_off_is_no_request(lesson: WebClass) -> None:
    assert send(lesson.app, [b"x"]) == []


def test_who_comes_too_often_is_told_when_to_come_again(open_class: Open) -> None:
    lesson = open_class(limits=Limits(people=Buckets(0.5, 3)))
    browser, other = lesson.browser("s17"), lesson.browser("s18")

    answers = [browser.get("/queue") for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["retry-after"] in ("2", "3")
    assert other.get("/queue").status_code == 200


def test_an_address_has_a_limit_of_its_own(open_class: Open) -> None:
    lesson = open_class(limits=Limits(addresses=Buckets(0.1, 5)))

    answers = [lesson.client().get("/login").status_code for _ in range(6)]

    assert answers == [200] * 5 + [429]


def test_guessing_tokens_is_slow_by_page_and_by_api(open_class: Open) -> None:
    lesson = open_class(limits=Limits(failures=Buckets(0.1, 3)))
    client = lesson.client()
    csrf = csrf_of(client.get("/login").text)

    said = [
        client.post("/login", data={"token": "inferlab_x", "csrf": csrf}).status_code
        for _ in range(4)
    ]
    right = lesson.bearer("s17").get("/api/labs")

    assert said == [401, 401, 401, 429]
    assert right.status_code == 429


def test_buckets_fill_with_time_and_forget_who_does_not_come() -> None:
    now = [0.0]
    buckets = Buckets(2, 2, ticks=lambda: now[0])

    first = [buckets.take("a") for _ in range(3)]
    now[0] = 0.5
    again = [buckets.take("a"), buckets.take("a")]
    for number in range(30_000):
        buckets.take(f"b{number}")

    assert first == [0.0, 0.0, 0.5]
    assert again == [0.0, 0.5]
    assert len(buckets._buckets) <= 20_000


def test_streams_have_a_cap_for_each_and_for_all() -> None:
    streams = Streams(each=2, most=3)

    opened = [streams.enter(key) for key in "aaabb"]
    streams.leave("a")

    assert opened == [True, True, False, True, False]
    assert streams.enter("b")


def test_a_host_that_is_not_the_courses_is_refused(open_class: Open) -> None:
    lesson = open_class(address=HTTPS)
    client = lesson.client()

    assert client.get("/login").status_code == 200
    for host in ("evil.example", "labs.example.org.evil.example", "labs.example.org:81"):
        assert client.get("/login", headers={"host": host}).status_code == 421, host
    assert client.get("/healthz", headers={"host": "10.0.0.1"}).status_code == 200


def test_cookies_are_the_hosts_own_behind_tls(open_class: Open) -> None:
    lesson = open_class(address=HTTPS)
    client = lesson.client()
    csrf = csrf_of(client.get("/login").text)

    answer = client.post("/login", data={"token": lesson.token("s17"), "csrf": csrf})

    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-session=")
    assert {"HttpOnly", "Path=/", "SameSite=lax", "Secure"} <= {*cookie.split("; ")}
    assert "Domain" not in cookie
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


def test_a_form_needs_the_word_of_its_session(lesson: WebClass) -> None:
    browser, other = lesson.browser("s17"), lesson.browser("s18")
    theirs = csrf_of(other.get("/labs/90").text)

    for word in ("", "x", theirs, "\ud800".encode("utf-8", "replace").decode()):
        data = {"csrf": word, "code_text": "x = 1"}
        assert browser.client.post("/labs/90/hand-ins", data=data).status_code == 403
    assert lesson.store.hand_ins() == []


def test_a_form_of_another_site_is_refused_even_with_the_word(lesson: WebClass) -> None:
    browser = lesson.browser("s17")
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        answer = browser.post("/board/90", "/board/90", {"alias": "me"}, headers=headers)
        assert answer.status_code == 403, headers


def test_nobody_is_signed_in_by_the_form_of_another_site(lesson: WebClass) -> None:
    client, token = lesson.client(), lesson.token("s17")

    bare = client.post("/login", data={"token": token, "csrf": "made up"})
    csrf = csrf_of(client.get("/login").text)
    crossed = client.post(
        "/login", data={"token": token, "csrf": csrf}, headers={"origin": "https://evil.example"}
    )

    assert (bare.status_code, crossed.status_code) == (403, 403)


@pytest.mark.parametrize(
    "then",
    ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nset-cookie: x=1", "x", ""],
)
def test_signing_in_leads_to_no_other_place(lesson: WebClass, then: str) -> None:
    client = lesson.client()
    csrf = csrf_of(client.get("/login").text)

    answer = client.post("/login", data={"token": lesson.token("s17"), "csrf": csrf, "then": then})

    assert answer.headers["location"] == "/"
    assert "x=1" not in answer.headers["set-cookie"]


def test_who_was_sent_to_sign_in_comes_back_to_the_page(lesson: WebClass) -> None:
    client = lesson.client()
    asked = client.get("/labs/90")
    page = client.get(asked.headers["location"])
    csrf = csrf_of(page.text)

    assert 'name="then" value="/labs/90"' in page.text
    data = {"token": lesson.token("s17"), "csrf": csrf, "then": "/labs/90"}
    assert client.post("/login", data=data).headers["location"] == "/labs/90"


def test_an_error_of_ours_shows_no_trace(
    lesson: WebClass, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("what only we know")

    browser, client = lesson.browser("s17"), lesson.bearer("s17")
    monkeypatch.setattr(type(lesson.store), "queued", broken)
    monkeypatch.setattr(type(lesson.store), "hand_ins", broken)

    page, answer = browser.get("/queue"), client.get("/api/labs/90/hand-ins")

    assert (page.status_code, answer.status_code) == (500, 500)
    assert "only we know" not in page.text + answer.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.json()["error"] == "something of ours broke"
    assert "what only we know" in caplog.text


PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "said", "host", "near"),
    [
        ("192.0.2.1", "198.51.100.7", "192.0.2.1", False),  # nobody's proxy
        ("10.0.0.1", "198.51.100.7", "198.51.100.7", False),
        ("10.0.0.1", "127.0.0.1, 198.51.100.7", "198.51.100.7", False),  # the first is forged
        ("10.0.0.1", "198.51.100.7, 10.0.0.2", "198.51.100.7", False),
        ("10.0.0.1", "", "10.0.0.1", True),
        ("10.0.0.1", "not an address", "10.0.0.1", False),
        ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7", False),
        ("127.0.0.1", "", "127.0.0.1", True),
        ("127.0.0.1", "198.51.100.7", "127.0.0.1", False),  # a proxy that is not named
        ("127.0.0.1", "127.0.0.1", "127.0.0.1", False),
    ],
)
def test_the_word_of_named_proxies_alone_counts(
    peer: str, said: str, host: str, near: bool
) -> None:
    headers = [(b"x-forwarded-for", said.encode())] if said else []
    scope = {"headers": headers, "client": (peer, 1), "scheme": "http"}

    client = client_of(scope, PROXIES)

    assert (client.host, client.is_near) == (host, near)


def test_numbers_are_for_those_near(lesson: WebClass) -> None:
    lesson.hand_in("s17")
    far = lesson.client(client=("192.0.2.1", 1)).get("/metrics")
    near = lesson.client(client=("127.0.0.1", 1)).get("/metrics")
    passed_on = lesson.client(client=("127.0.0.1", 1)).get(
        "/metrics", headers={"x-forwarded-for": "192.0.2.1"}
    )

    assert (far.status_code, passed_on.status_code) == (404, 404)
    assert 'inferlab_hand_ins{device="cpu",state="waiting"} 1.0' in near.text
    assert 'route="/metrics"' in near.text
    assert "s17" not in near.text


def test_one_subscriber_of_ipv6_is_one_address() -> None:
    assert address_key("2001:db8::1") == address_key("2001:db8::ffff:2")
    assert address_key("2001:db8:0:1::1") != address_key("2001:db8::1")
    assert address_key("192.0.2.1") != address_key("192.0.2.2")


def test_headers_of_an_answer_hold_nothing_that_was_sent(lesson: WebClass) -> None:
    browser = lesson.browser("boss", Role.INSTRUCTOR)
    data = {"student": "s17\r\nx-made: 1", "lab": "90", "reason": "x"}

    answer = browser.post("/overrides", "/labs/90", data)
    queried = browser.get("/login?then=/%0d%0ax-made:%201")

    assert answer.status_code in (403, 404)
    assert "x-made" not in {*answer.headers, *queried.headers}
