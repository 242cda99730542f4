"""``[service]`` of course.toml: what is read, and the line for each mistake."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from grader.course.config import Course, load_course
from grader.course.days import day_of, next_day
from grader.course.policy import Feedback, Hidden, ServicePolicy, SignIn
from grader.errors import CourseError

TOML = """
title = "Inference"
zone = "Europe/Berlin"

[service]
address = "https://labs.example.org/"
per_day = 5
cooldown_minutes = 20
feedback = "tasks"
feedback_after = "messages"
hidden = "after_deadline"
proxies = ["127.0.0.1", "10.0.0.0/8"]

[service.opens]
3 = 2026-11-01T08:00:00+01:00

[service.hooks]
github = "0123456789abcdef"

[service.sign_in]
issuer = "https://login.example.org/realms/course"
client_id = "inferlab"
secret_file = "oidc-secret"
"""


def course(folder: Path, text: str) -> Course:
    (folder / "course.toml").write_text(text)
    return load_course(folder / "course.toml")


def policy(folder: Path, text: str) -> ServicePolicy:
    return course(folder, text).service


def test_every_key_arrives(tmp_path: Path) -> None:
    assert course(tmp_path, TOML).zone == ZoneInfo("Europe/Berlin")
    assert policy(tmp_path, TOML) == ServicePolicy(
        address="https://labs.example.org",
        per_day=5,
        cooldown=timedelta(minutes=20),
        feedback=Feedback.TASKS,
        feedback_after=Feedback.MESSAGES,
        hidden=Hidden.AFTER_DEADLINE,
        opens={3: datetime(2026, 11, 1, 7, tzinfo=UTC)},
        proxies=(ip_network("127.0.0.1"), ip_network("10.0.0.0/8")),
        hook_secrets={"github": "0123456789abcdef"},
        sign_in=SignIn("https://login.example.org/realms/course", "inferlab", "oidc-secret"),
    )


def test_a_course_that_says_nothing_allows_everything(tmp_path: Path) -> None:
    found = policy(tmp_path, 'title = "Inference"\n')

    assert found == ServicePolicy()
    assert (found.per_day, found.cooldown, found.opens) == (0, timedelta(0), {})


def test_feedback_after_the_deadline_is_as_before_unless_said(tmp_path: Path) -> None:
    found = policy(tmp_path, 'title = "x"\n[service]\nfeedback = "points"\n')

    assert found.feedback_after is Feedback.POINTS


def test_secrets_are_in_no_text_of_a_policy(tmp_path: Path) -> None:
    assert "0123456789abcdef" not in repr(policy(tmp_path, TOML))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('address = "labs.example.org"', "service.address: must be as https://labs.example.org"),
        ('address = "ftp://x"', "service.address: must be as"),
        ("per_day = -1", "service.per_day: must be a whole number from 0 to 1000, not -1"),
        ("per_day = true", "service.per_day: must be a whole number"),
        ("cooldown_minutes = 1.5", "service.cooldown_minutes: must be a whole number"),
        ('feedback = "all"', "service.feedback: must be points or tasks or messages, not 'all'"),
        ('hidden = "never"', "service.hidden: must be always or after_deadline"),
        ('proxies = ["10.0.0.1/8"]', "service.proxies: '10.0.0.1/8' is no address or network"),
        ("opens.3 = 2026-11-01T08:00:00", "service.opens.3: .* does not say its offset"),
        ('hooks.github = "short"', "service.hooks.github: is too short"),
        ('hooks.sourceforge = "0123456789abcdef"', "service.hooks.sourceforge: is no kind of hook"),
        ("per_dya = 5", "service.per_dya"),
    ],
)
def test_a_mistake_names_its_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(CourseError, match=told):
        policy(tmp_path, f'title = "x"\n[service]\n{text}\n')


@pytest.mark.parametrize(
    ("moment", "begins", "next_begins"),
    [
        # The clock is put back at three in the night of 25 October 2026: a day of 25 hours.
        ("2026-10-25T20:00:00+00:00", "2026-10-24T22:00:00+00:00", "2026-10-25T23:00:00+00:00"),
        # And put forward at two in that of 29 March: a day of 23.
        ("2026-03-29T10:00:00+00:00", "2026-03-28T23:00:00+00:00", "2026-03-29T22:00:00+00:00"),
        ("2026-06-30T21:59:59+00:00", "2026-06-29T22:00:00+00:00", "2026-06-30T22:00:00+00:00"),
    ],
)
def test_days_are_those_of_the_courses_zone(moment: str, begins: str, next_begins: str) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    at = datetime.fromisoformat(moment)

    assert day_of(at, berlin) == datetime.fromisoformat(begins)
    assert next_day(at, berlin) == datetime.fromisoformat(next_begins)


SIGN_IN = 'title = "I"\n[service]\naddress = "https://x.example"\n[service.sign_in]\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('client_id = "a"\n', "service.sign_in.issuer: is missing"),
        ('issuer = "https://x.example"\n', "service.sign_in.client_id: is missing"),
        ('issuer = "http://x.example"\nclient_id = "a"\n', "must be as https://login.example.org"),
        ('issuer = "x"\nclient_id = "a"\n', "must be as https://login.example.org"),
        ('issuer = "https://x.example"\nclient_id = "a"\nsecret = "b"\n', "must not stand here"),
        ('issuer = "https://x.example"\nclient_id = "a"\nkey = 1\n', "is no key of this table"),
    ],
)
def test_a_mistake_about_accounts_names_its_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(CourseError, match="sign_in") as caught:
        policy(tmp_path, SIGN_IN + text)

    assert told in caught.value.message


def test_accounts_need_an_address_to_come_back_to(tmp_path: Path) -> None:
    text = SIGN_IN.replace('address = "https://x.example"\n', "")

    with pytest.raises(CourseError, match="is needed by sign_in"):
        policy(tmp_path, text + 'issuer = "https://x.example"\nclient_id = "a"\n')
