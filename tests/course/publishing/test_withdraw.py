"""lab publish --withdraw: a lab leaves a branch, and none blocks it once its folder is gone."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from stand_ins.instructors import PERSON, commit, make_remote, make_repository, write

import grader.course.commands.author
from grader.cli.app import main
from grader.course.git import git
from grader.course.publishing.publish import Order, Outcome, publish
from grader.errors import GitError, UsageError

TITLE = "Inference, autumn 2026"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "instructors")


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return make_remote(tmp_path / "students.git")


Send = Callable[..., Outcome]


@pytest.fixture
def send(root: Path, remote: Path) -> Send:
    def call(*labs: str, branch: str = "main", withdraw: bool = False) -> Outcome:
        return publish(root, Order(labs, str(remote), branch, TITLE, withdraw=withdraw))

    return call


def labs_on(remote: Path, branch: str = "main") -> set[str]:
    names = git("ls-tree", "-r", "--name-only", branch, folder=remote).splitlines()
    return {Path(name).parent.name for name in names if name.endswith("/lab.toml")}


def lose(root: Path, lab: str) -> None:
    """Remove a lab and its suite, and commit that."""
    shutil.rmtree(root / "labs" / lab)
    (root / f"grader/suites/test_{lab}.py").unlink()
    commit(root, f"Remove {lab}")


def test_a_withdrawn_lab_is_gone_and_stays_gone(send: Send, remote: Path) -> None:
    send("90,92")

    (made,) = send("92", withdraw=True).publications

    assert (made.labs, made.withdrawn) == (("90_echo",), ("92_ranks",))
    assert labs_on(remote) == {"90_echo"}
    subject, _, body = git("log", "-1", "--format=%B", "main", folder=remote).partition("\n\n")
    assert subject == "Withdraw 92_ranks"
    assert body.startswith("Publication 2: 90_echo, from ")
    assert not send("90").publications[0].is_new
    assert send("92").publications[0].labs == ("90_echo", "92_ranks")  # who names it has it again


def test_a_lab_whose_folder_is_gone_stops_nothing_once_it_is_withdrawn(
    send: Send, root: Path, remote: Path
) -> None:
    send("90,92")
    lose(root, "92_ranks")
    with pytest.raises(UsageError) as caught:
        send("90")

    assert caught.value.message == "92_ranks is on main, and not in the last commit"
    assert caught.value.hint.startswith("lab publish 92 --withdraw takes it from students too")
    send("92", withdraw=True)
    assert labs_on(remote) == {"90_echo"}
    write(root, "labs/90_echo/README.md", (root / "labs/90_echo/README.md").read_text() + "\n")
    commit(root, "Say nothing more")
    send("90")
    assert git("tag", folder=remote).count("published/main/") == 3


def test_the_last_lab_leaves_a_page_that_says_so(send: Send, remote: Path) -> None:
    send("90,92", branch="lab/{NN}")

    (made,) = send("92", branch="lab/{NN}", withdraw=True).publications

    assert (made.branch, made.labs) == ("lab/92", ())
    names = git("ls-tree", "-r", "--name-only", "lab/92", folder=remote).splitlines()
    assert names == ["LICENSE", "README.md", "published.toml"]
    assert "No lab is published here" in git("show", "lab/92:README.md", folder=remote)
    assert labs_on(remote, "lab/90") == {"90_echo"}
    assert send("92", branch="lab/{NN}").publications[0].is_new


@pytest.mark.parametrize(
    ("labs", "message", "hint"),
    [
        ("92", "lab 92 is not on main", "it has 90_echo"),
        ("1-3", "lab 01, 02, 03 is not on main", "it has 90_echo"),
        ("echo", "only numbers, or whole names, say which labs", "such as 1-3, 4 or 06"),
        (" , ", "which labs?", ""),
    ],
)
def test_what_is_not_there_cannot_be_withdrawn(
    send: Send, remote: Path, labs: str, message: str, hint: str
) -> None:
    send("90")
    before = git("for-each-ref", folder=remote)
    with pytest.raises(UsageError) as caught:
        send(labs, withdraw=True)

    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)
    assert git("for-each-ref", folder=remote) == before


def test_from_a_branch_that_was_never_published_nothing_can_be_withdrawn(send: Send) -> None:
    with pytest.raises(UsageError, match="lab 90 is not on main") as caught:
        send("90", withdraw=True)

    assert caught.value.hint == "nothing was published to it"


def test_what_a_student_wrote_there_is_theirs_to_keep(
    send: Send, root: Path, remote: Path, tmp_path: Path
) -> None:
    send("90,92")
    clone = tmp_path / "ada"
    git("clone", "-q", str(remote), str(clone), folder=tmp_path)
    own = clone / "labs/92_ranks/ranks.py"
    own.write_text("answer = 1\n")
    commit(clone, "Answer")
    send("92", withdraw=True)

    with pytest.raises(GitError):
        git("pull", "-q", "--no-rebase", "origin", "main", folder=clone, env=PERSON)

    git("add", "labs/92_ranks", folder=clone)
    git("commit", "-q", "--no-edit", folder=clone, env=PERSON)
    assert own.read_text() == "answer = 1\n"
    assert not (clone / "labs/92_ranks/README.md").exists()


def test_the_command_says_what_is_gone_and_asks_for_no_proof(
    root: Path, remote: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: root)
    where = ("--to", str(remote))
    assert main(["publish", "90,92", "--unproven", *where]) == 0
    assert "  not proven: 90_echo, 92_ranks\n" in capsys.readouterr().err

    assert main(["publish", "92", "--withdraw", *where]) == 0

    told = capsys.readouterr().err
    assert f"main of {remote} holds 90_echo\n" in told
    assert "  withdrawn: 92_ranks; marks that there are of it stay\n" in told
    assert "proving" not in told
    assert "not proven" not in told
