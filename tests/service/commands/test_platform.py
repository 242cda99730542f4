"""Names come from a learning platform and marks go there: none twice, none missing."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pylti1p3", reason="needs the extra lti")

from joserfc.jwk import KeySet, RSAKey
from stand_ins.classroom import ADA, BOB, CYD, LAB, NOON, attempt, override
from stand_ins.lti_platform import ASSISTANT, CLIENT, INSTRUCTOR, LEARNER, SmallPlatform
from stand_ins.lti_platform import small_platform as platform_here

from grader.cli import app
from grader.course.database.store import Store
from grader.service.adapters.database.launches import DatabasePlatforms
from grader.service.domain.platforms import Context

TOML = """\
title = "T"
[service]
address = "https://labs.example.org"
[service.lti]
issuer = "{0}"
client_id = "{1}"
deployments = ["1"]
login_url = "{0}/auth"
token_url = "{0}/token"
keys_url = "{0}/keys"
"""
ROSTER = """\
id,name,email,number,lti
ada,Ada L.,ada@uni.example,7001,
bob,Bob,,7002,
cyd,Cyd,cyd@uni.example,,u-cyd
"""
MEMBERS: list[dict[str, Any]] = [
    {"user_id": "u-ada", "name": "Ada L.", "email": "Ada@uni.example", "roles": [LEARNER]},
    {"user_id": "u-bob", "name": "Bob", "lis_person_sourcedid": "7002", "roles": ["Learner"]},
    {"user_id": "u-cyd", "given_name": "Cyd", "family_name": "C", "roles": [LEARNER]},
    {"user_id": "u-dan", "name": "Dan", "lis_person_sourcedid": "7004", "roles": [LEARNER]},
    {"user_id": "u-gone", "name": "Gone", "status": "Inactive", "roles": [LEARNER]},
    {"user_id": "u-ta", "name": "Eve", "roles": [INSTRUCTOR, ASSISTANT]},
]
Run = Callable[..., tuple[int, str, str]]
SEND = ("gradebook", "send", "--lti")


@pytest.fixture
def platform() -> Iterator[SmallPlatform]:
    with platform_here() as made:
        made.members = [*MEMBERS]
        yield made


@pytest.fixture
def folder(tmp_path: Path, platform: SmallPlatform, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course whose ada and bob have marks, and of whose place there a launch has told."""
    (tmp_path / "course.toml").write_text(TOML.format(platform.address, CLIENT))
    (tmp_path / "roster.csv").write_text(ROSTER)
    monkeypatch.chdir(tmp_path)
    assert app.main(["lti", "key"]) == 0
    key = RSAKey.import_key((tmp_path / "lti-key.pem").read_text())
    platform.tool_keys = KeySet([RSAKey.import_key(key.as_dict(private=False))])
    with Store.open("sqlite:///course.db", tmp_path) as store:
        store.put_students([ADA, BOB, CYD])
        store.start_run(LAB, NOON)
        store.add_attempt(attempt("ada", 75.0))
        store.add_attempt(attempt("bob", 60.0, commit="b"))
        _tell(store, platform)
    return tmp_path


def _tell(store: Store, platform: SmallPlatform, id: str = "course 3") -> None:
    ends = (f"{platform.address}/members", f"{platform.address}/items")
    DatabasePlatforms(store).note_context(Context("1", id, "Inference", *ends, NOON))


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    capsys.readouterr()

    def call(*arguments: str) -> tuple[int, str, str]:
        code = app.main([*arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def scores(platform: SmallPlatform) -> list[tuple[str, float, float]]:
    return [(s["userId"], s["scoreGiven"], s["scoreMaximum"]) for s in platform.scores]


def test_marks_go_with_score_time_and_why(run: Run, platform: SmallPlatform) -> None:
    code, out, _ = run(*SEND)

    assert code == 0
    assert "ada, 01_llama: 75 of 100: sent" in out
    assert out.endswith("2 sent, 0 not\n")
    assert scores(platform) == [("u-ada", 75.0, 100.0), ("u-bob", 60.0, 100.0)]
    (item,) = platform.items
    assert (item["tag"], item["resourceId"], item["scoreMaximum"]) == (LAB, LAB, 100.0)
    first = platform.scores[0]
    assert first["comment"].startswith("the commit, c0ffee")
    assert first["gradingProgress"] == "FullyGraded"
    assert first["submission"]["submittedAt"] == "2026-10-01T11:00:00.000+00:00"


def test_only_what_changed_goes_again(run: Run, platform: SmallPlatform, folder: Path) -> None:
    run(*SEND)
    assert run(*SEND)[1] == "0 sent, 0 not\n"
    with Store.open("sqlite:///course.db", folder) as store:
        store.add_override(override("bob", 90.0))

    _, out, _ = run(*SEND)

    assert out.endswith("1 sent, 0 not\n")
    assert scores(platform)[2:] == [("u-bob", 90.0, 100.0)]
    assert len(platform.items) == 1


def test_dry_run_says_what_would_go_and_sends_nothing(run: Run, platform: SmallPlatform) -> None:
    code, out, _ = run(*SEND, "--dry-run")

    assert code == 0
    assert "bob, 01_llama: 60 of 100: would be sent" in out
    assert platform.scores == platform.items == []


def test_student_whom_the_platform_does_not_know_is_told(run: Run, platform: SmallPlatform) -> None:
    platform.members = [member for member in MEMBERS if member["user_id"] != "u-bob"]

    code, out, err = run(*SEND)

    assert code == 1
    assert "bob, 01_llama: the platform names nobody who is this student" in err
    assert out.endswith("1 sent, 1 not\n")


def test_mark_that_the_platform_refuses_stops_no_other(run: Run, platform: SmallPlatform) -> None:
    platform.fails = {"u-ada": 404}
    code, _out, err = run(*SEND)
    assert code == 1
    assert "ada, 01_llama: 75 of 100: the platform answers 404" in err
    assert scores(platform) == [("u-bob", 60.0, 100.0)]

    platform.fails = {}
    assert run(*SEND)[1].endswith("1 sent, 0 not\n")
    assert scores(platform)[1:] == [("u-ada", 75.0, 100.0)]


@pytest.mark.parametrize("end", ["/token", "/items", "/scores", "/members"])
def test_platform_that_is_down_is_one_line_and_loses_nothing(
    run: Run, platform: SmallPlatform, end: str
) -> None:
    platform.fails = {end: 503}
    code, _, err = run(*SEND)
    assert code == 3
    assert "the platform answers 503" in err

    platform.fails = {}
    assert run(*SEND)[0] == 0
    assert scores(platform) == [("u-ada", 75.0, 100.0), ("u-bob", 60.0, 100.0)]


KILLED = """
import os, signal, sys
from grader.cli import app
from grader.service.adapters.database.launches import DatabasePlatforms
from grader.service.adapters.web.lti.services import PlatformServices

owner, name = {"noted": (DatabasePlatforms, "begin_sending"), "sent": (PlatformServices, "put"),
               "made": (PlatformServices, "item")}[sys.argv[1]]
real = getattr(owner, name)

def dies(*given):
    real(*given)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(owner, name, dies)
app.main(sys.argv[2:])
"""


@pytest.mark.parametrize(("step", "arrived"), [("made", 0), ("noted", 0), ("sent", 1)])
def test_whoever_is_killed_sends_none_twice_and_misses_none(
    run: Run, platform: SmallPlatform, step: str, arrived: int
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, step, *SEND],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(platform.scores) == arrived

    code, out, _ = run(*SEND)

    assert code == 0
    assert ("ada, 01_llama: 75 of 100: had arrived" in out) == (arrived == 1)
    assert scores(platform) == [("u-ada", 75.0, 100.0), ("u-bob", 60.0, 100.0)]
    assert len(platform.items) == 1


def test_mark_that_changed_after_a_kill_goes_as_it_is_now(
    run: Run, platform: SmallPlatform, folder: Path
) -> None:
    subprocess.run([sys.executable, "-c", KILLED, "sent", *SEND], check=False)
    with Store.open("sqlite:///course.db", folder) as store:
        store.add_override(override("ada", 80.0))

    run(*SEND)

    assert ("u-ada", 80.0, 100.0) in scores(platform)[1:]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("gradebook", "send"), "marks are sent where?"),
        ((*SEND, "--context", "course 9"), "the platform has 1 courses: course 3 (Inference)"),
    ],
)
def test_wish_that_names_no_place_is_refused(
    run: Run, arguments: tuple[str, ...], told: str
) -> None:
    code, _, err = run(*arguments)

    assert code == 2
    assert told in err


def test_one_of_several_courses_there_is_chosen(
    run: Run, platform: SmallPlatform, folder: Path
) -> None:
    with Store.open("sqlite:///course.db", folder) as store:
        _tell(store, platform, "course 4")

    assert run(*SEND)[0] == 2
    assert run(*SEND, "--context", "course 4")[0] == 0


def test_course_of_which_no_launch_told_is_told_so(run: Run, folder: Path) -> None:
    (folder / "course.db").unlink()

    code, _, err = run(*SEND)

    assert code == 2
    assert "no launch has told of a course at the platform" in err


# Names and roles


def test_members_come_onto_the_roster_by_what_is_known_of_them(run: Run, folder: Path) -> None:
    code, out, _ = run("lti", "members")

    lines = (folder / "roster.csv").read_text().splitlines()
    assert code == 0
    assert "Inference: 4 students, by names and roles" in out
    assert "1 new, 0 gone, 3 changed" in out
    assert lines[0] == "id,name,email,number,lti"
    assert {*lines[1:]} == {
        "ada,Ada L.,ada@uni.example,7001,u-ada",
        "bob,Bob,,7002,u-bob",
        "cyd,Cyd C,cyd@uni.example,,u-cyd",
        "7004,Dan,,7004,u-dan",
    }


def test_members_that_are_gone_stay_until_one_says_so(
    run: Run, platform: SmallPlatform, folder: Path
) -> None:
    platform.members = MEMBERS[:1] + MEMBERS[2:4]

    code, out, _ = run("lti", "members", "--dry-run")
    assert (code, (folder / "roster.csv").read_text()) == (0, ROSTER)
    assert "gone     bob  Bob" in out

    run("lti", "members")
    assert "bob," in (folder / "roster.csv").read_text()

    run("lti", "members", "--remove")
    assert "bob," not in (folder / "roster.csv").read_text()


def test_member_who_cannot_be_on_the_roster_is_told(
    run: Run, platform: SmallPlatform, folder: Path
) -> None:
    bad = {"user_id": "u-x", "name": "X", "lis_person_sourcedid": "../x", "roles": [LEARNER]}
    platform.members = [*MEMBERS, bad]

    code, _, err = run("lti", "members")

    assert code == 2
    assert "member 5: the id '../x' cannot name a folder" in err
    assert (folder / "roster.csv").read_text() == ROSTER
