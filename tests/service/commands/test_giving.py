"""``lab give-back``: into repositories, by mail and by secret addresses, and to nobody twice."""

import csv
import io
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stand_ins.classroom import LAB, NOON, attempt, report
from stand_ins.mail_server import Mailbox, mail_server
from stand_ins.remotes import Remote

from grader.__main__ import main
from grader.course.database.giving.records import Given, Hold, Step, Way
from grader.course.database.giving.returns import Returns
from grader.course.database.records import Frozen, Student
from grader.course.database.store import Store
from grader.course.git import git

WORD = "rms_norm <b>keeps</b> the dtype"
BRANCH = f"feedback/{LAB}"
COURSE = """title = "Inference"
[service]
address = "https://labs.example.org"
[mail]
host = "127.0.0.1"
safety = "none"
from = "staff@example.org"
port = {port}
{more}
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with mail_server() as found:
        yield found


@pytest.fixture
def remotes(tmp_path: Path) -> dict[str, Remote]:
    return {name: Remote(tmp_path / f"{name}.git") for name in ("ada", "bob")}


@pytest.fixture
def folder(
    tmp_path: Path, box: Mailbox, remotes: dict[str, Remote], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Ada and bob were graded, each with a repository; cyd has neither."""
    folder = tmp_path / "course"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "course.toml").write_text(COURSE.format(port=box.port, more=""))
    rows = "ada,Ada L.,ada@example.org\nbob,Bob,bob@example.org\ncyd,Cyd,\n"
    (folder / "roster.csv").write_text(f"id,name,email\n{rows}")
    with Store.open("sqlite:///course.db", folder) as store:
        own = [Student(name, name, str(remotes[name].folder), "main") for name in ("ada", "bob")]
        store.put_students([*own, Student("cyd", "Cyd", "", "main")])
        run = store.start_run(LAB, NOON)
        data = report({"norm/a": "failed", "rope/a": "passed"}, WORD)
        for name in ("ada", "bob"):
            store.add_attempt(attempt(name, 50.0, run=run, report=data))
    return folder


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["give-back", "1", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def hold(folder: Path, student: str) -> None:
    with Store.open("sqlite:///course.db", folder) as store:
        word = Hold(student, LAB, True, "G. Hopper", "to be talked about", NOON)
        Returns(store).add_hold(word)


def regrade(folder: Path, student: str) -> None:
    with Store.open("sqlite:///course.db", folder) as store:
        data = report({"norm/a": "passed", "rope/a": "passed"})
        newer = store.start_run(LAB, NOON)
        store.add_attempt(attempt(student, 100.0, run=newer, report=data))


def shown(remote: Remote, file: str = "report.md") -> str:
    return git("show", f"{BRANCH}:{file}", folder=remote.folder)


def test_a_report_goes_to_a_branch_of_ours_and_is_what_the_student_may_see(
    run: Run, remotes: dict[str, Remote]
) -> None:
    code, _, err = run("--branch")

    assert code == 0
    assert f"ada: pushed {BRANCH}" in err
    assert "nothing for cyd" in err
    text = shown(remotes["ada"])
    assert "your mark is 50 / 100" in text
    assert "Receipt\\: commit c0ffee" in text
    page = shown(remotes["ada"], "report.html")
    assert "rms_norm &lt;b&gt;keeps&lt;/b&gt; the dtype" in page
    assert "seed" not in text + page


def test_what_is_there_already_is_not_pushed_again_and_what_is_new_follows_it(
    run: Run, folder: Path, remotes: dict[str, Remote]
) -> None:
    run("--branch")
    first = remotes["ada"].tip(BRANCH)

    assert "has this report already" in run("--branch")[2]
    assert remotes["ada"].tip(BRANCH) == first

    regrade(folder, "ada")
    run("--branch")
    assert "100 / 100" in shown(remotes["ada"])
    parent = git("rev-parse", f"{BRANCH}^", folder=remotes["ada"].folder)
    assert parent == first


def test_a_students_own_branch_of_that_name_is_left_alone(
    run: Run, remotes: dict[str, Remote]
) -> None:
    own = remotes["ada"].commit(BRANCH, {"notes.txt": "mine"}, NOON)

    code, _, err = run("--branch")

    assert code == 1
    assert "which is not ours" in err
    assert remotes["ada"].tip(BRANCH) == own
    assert "50 / 100" in shown(remotes["bob"])


def test_a_commit_of_the_students_upon_ours_is_left_alone(
    run: Run, folder: Path, remotes: dict[str, Remote]
) -> None:
    run("--branch")
    ours = remotes["ada"].tip(BRANCH)
    own = remotes["ada"].commit(BRANCH, {"notes.txt": "mine"}, NOON, onto=ours)
    regrade(folder, "ada")

    assert run("--branch")[0] == 1

    assert remotes["ada"].tip(BRANCH) == own


def test_a_push_of_which_nobody_wrote_down_the_end_is_known_as_ours(
    run: Run, folder: Path, remotes: dict[str, Remote]
) -> None:
    run("--branch", "ada")
    with Store.open("sqlite:///course.db", folder) as store:
        begun = [step.step for step in Returns(store).given(LAB, Way.BRANCH)]
    assert begun == [Step.BEGUN, Step.SENT]  # what was begun is enough to know the commit by

    regrade(folder, "ada")

    assert run("--branch", "ada")[0] == 0


def test_no_hook_of_the_other_end_runs(
    run: Run, tmp_path: Path, remotes: dict[str, Remote]
) -> None:
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        hook = remotes["ada"].folder / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\n")
        hook.chmod(hook.stat().st_mode | stat.S_IXUSR)

    assert run("--branch", "ada")[0] == 0

    assert [*tmp_path.glob("ran-*")] == []
    assert "50 / 100" in shown(remotes["ada"])


def test_in_a_repository_of_several_nothing_is_given(
    run: Run, folder: Path, remotes: dict[str, Remote]
) -> None:
    with Store.open("sqlite:///course.db", folder) as store:
        place = str(remotes["ada"].folder)
        pair = [Student(name, name, place, name) for name in ("ada", "bob")]
        store.put_students(pair)

    code, _, err = run("--branch")

    assert code == 1
    assert err.count("shares a repository with another student") == 2


@pytest.mark.parametrize("way", ["--branch", "--mail"])
def test_a_dry_run_lets_nothing_leave(
    run: Run, way: str, box: Mailbox, remotes: dict[str, Remote]
) -> None:
    code, _, err = run(way, "--dry-run")

    assert code in (0, 1)
    assert "would be given back" in err
    assert box.mails == []
    assert git("for-each-ref", folder=remotes["ada"].folder) == ""


def test_each_gets_a_mail_with_the_report_and_nobody_gets_two(run: Run, box: Mailbox) -> None:
    code, _, err = run("--mail")

    assert code == 0
    assert "sent ada at ada@example.org" in err
    assert sorted(box.recipients) == ["ada@example.org", "bob@example.org"]
    mail = next(each for each in box.mails if each["To"] == "ada@example.org")
    assert mail["Subject"] == "Inference, lab 01: your report"
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content().splitlines()[:2] == ["Hello ada,", ""]
    assert "your mark for lab 01 (A Llama from scratch) is 50 / 100" in body.get_content()
    assert "Receipt: commit c0ffee" in body.get_content()
    names = [part.get_filename() for part in mail.iter_attachments()]
    assert names == [f"{LAB}-report.html", f"{LAB}-report.md"]

    assert "was sent this report already" in run("--mail")[2]
    assert len(box.mails) == 2


def test_a_new_report_is_sent_anew(run: Run, folder: Path, box: Mailbox) -> None:
    run("--mail")
    regrade(folder, "ada")

    run("--mail")

    assert box.recipients.count("ada@example.org") == 2
    assert box.recipients.count("bob@example.org") == 1


def test_a_dry_run_prints_each_mail(run: Run) -> None:
    _, out, err = run("--mail", "--dry-run", "ada")

    assert "To: ada@example.org" in err
    assert "your mark for lab 01" in out
    assert "bob" not in out + err


def test_after_a_break_nobody_gets_a_mail_twice(run: Run, box: Mailbox) -> None:
    box.cut_off.add("bob@example.org")
    code, _, err = run("--mail")
    assert code == 3
    assert "broke off at bob" in err
    box.cut_off.clear()

    code, _, err = run("--mail")

    assert "ada: was sent this report already" in err
    assert "bob: an earlier run ended while it was being sent, so it may have arrived" in err
    assert box.recipients == ["ada@example.org"]
    run("--mail", "--again", "bob")
    assert box.recipients == ["ada@example.org", "bob@example.org"]


def test_who_is_refused_is_named_and_tried_again(run: Run, box: Mailbox) -> None:
    box.refused.add("ada@example.org")

    code, _, err = run("--mail")

    assert code == 1
    assert "not sent ada at ada@example.org" in err
    assert "no such mailbox" in err
    assert box.recipients == ["bob@example.org"]
    box.refused.clear()
    run("--mail")
    assert box.recipients == ["bob@example.org", "ada@example.org"]


def test_a_killed_run_left_a_mail_of_which_nobody_knows(
    run: Run, folder: Path, box: Mailbox
) -> None:
    run("--mail", "ada")
    with Store.open("sqlite:///course.db", folder) as store:
        [begun, _] = Returns(store).given(LAB, Way.MAIL)
    assert begun.step is Step.BEGUN
    with Store.open("sqlite:///course.db", folder) as store:
        values = (begun.digest, begun.place, "", NOON)
        Returns(store).add_given(Given("ada", LAB, Way.MAIL, Step.BEGUN, *values))

    assert "it may have arrived" in run("--mail", "ada")[2]

    assert len(box.mails) == 1


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('subject = "$nmae"', "names $nmae, which is not known"),
        ('body = "costs $5"', "has a $ that begins no name"),
        ('subject = "a\\nBcc: x@y.z"', "must be one line"),
        ('password = "secret"', "must not stand here"),
        ('user = "u"', "has no password"),
        ('colour = "red"', "colour"),
    ],
)
def test_a_mistake_in_the_course_is_a_line(
    run: Run, folder: Path, box: Mailbox, more: str, told: str
) -> None:
    (folder / "course.toml").write_text(COURSE.format(port=box.port, more=more))

    code, _, err = run("--mail")

    assert code == 2
    assert told in err
    assert box.mails == []


def test_a_name_adds_no_header_to_a_mail(run: Run, folder: Path, box: Mailbox) -> None:
    more = 'subject = "for $name"'
    (folder / "course.toml").write_text(COURSE.format(port=box.port, more=more))
    with Store.open("sqlite:///course.db", folder) as store:
        store.put_students([Student("ada", "Ada\r\nBcc: eve@example.org", "", "main")])

    run("--mail")

    assert [mail["Bcc"] for mail in box.mails] == [None]
    assert box.recipients == ["ada@example.org"]
    assert "eve@example.org" in box.mails[0]["Subject"]


def test_without_a_server_nothing_is_sent_and_it_is_said(run: Run, folder: Path) -> None:
    (folder / "course.toml").write_text(COURSE.format(port=1, more=""))

    code, _, err = run("--mail")

    assert code == 3
    assert "127.0.0.1:1 cannot be used" in err


def test_a_server_that_cannot_be_spoken_to_safely_gets_no_report(
    run: Run, folder: Path, box: Mailbox
) -> None:
    text = COURSE.format(port=box.port, more="").replace('safety = "none"', "")
    (folder / "course.toml").write_text(text)

    code, _, err = run("--mail")

    assert code == 3
    assert "STARTTLS" in err
    assert box.mails == []


def test_addresses_are_shown_once_and_only_their_hashes_are_kept(run: Run, folder: Path) -> None:
    code, out, _ = run("--addresses", "--author", "G. Hopper")

    rows = [*csv.DictReader(io.StringIO(out))]
    assert code == 0
    assert [row["id"] for row in rows] == ["ada", "bob"]
    secrets = [row["address"].removeprefix("https://labs.example.org/given/") for row in rows]
    assert all(len(secret) >= 43 for secret in secrets)  # 256 bits
    kept = b"".join(file.read_bytes() for file in folder.glob("course.db*"))
    assert not any(secret.encode() in kept for secret in secrets)
    assert run("--addresses", "--author", "G. Hopper")[1] == "id,name,address\n"


def test_revoked_addresses_are_made_anew(run: Run) -> None:
    run("--addresses", "--author", "G. Hopper")

    assert "1 addresses" in run("--addresses", "--revoke", "ada")[2]

    out = run("--addresses", "--author", "G. Hopper")[1]
    assert [row["id"] for row in csv.DictReader(io.StringIO(out))] == ["ada"]


@pytest.mark.parametrize("way", [("--branch",), ("--mail",), ("--addresses", "--author", "G. H.")])
def test_what_is_held_back_goes_out_by_no_way(
    run: Run, folder: Path, box: Mailbox, remotes: dict[str, Remote], way: tuple[str, ...]
) -> None:
    hold(folder, "ada")

    _, out, err = run(*way)

    assert "nothing for ada: held back by G. Hopper: to be talked about" in err
    assert "ada" not in out
    assert "ada@example.org" not in box.recipients
    assert git("for-each-ref", folder=remotes["ada"].folder) == ""


def test_collected_work_has_a_receipt_with_hash_and_time(run: Run, folder: Path) -> None:
    place = folder / "collected" / "ada"
    os.makedirs(place)
    (place / "llama.py").write_text("x = 1\n")
    with Store.open("sqlite:///course.db", folder) as store:
        store.add_frozen(Frozen("ada", LAB, "c0ffee", NOON, NOON, "collected/ada"))

    out = run("--mail", "--dry-run", "ada")[1]

    assert "Receipt: commit c0ffee, hash " in out
    assert "dated 2026-10-01 12:00 UTC, collected 2026-10-01 12:00 UTC" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "given back by which way?"),
        (("--branch", "--mail"), "--branch and --mail at once"),
        (("--branch", "--again", "ada"), "--again belongs to --mail"),
        (("--branch", "eve"), "no student 'eve'"),
        (("--addresses",), "whose word is it?"),
    ],
)
def test_what_makes_no_sense_is_a_line(run: Run, arguments: tuple[str, ...], told: str) -> None:
    code, _, err = run(*arguments)

    assert code == 2
    assert told in err
